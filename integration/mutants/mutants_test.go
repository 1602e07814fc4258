package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const faultsFolder = "../../internal/mutant"

// TestEveryFaultIsPlanted: each has its constant, its build and its plant, all of one name.
func TestEveryFaultIsPlanted(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile(filepath.Join(faultsFolder, "faults.go"))
	if err != nil {
		t.Fatal(err)
	}
	var declared []string
	for _, rest := range strings.Split(string(source), `planted == "`)[1:] {
		name, _, _ := strings.Cut(rest, `"`)
		declared = append(declared, name)
	}
	var planted []string
	for _, p := range plants {
		planted = append(planted, p.fault)
		if len(p.nets) == 0 {
			t.Errorf("%s: no tests have to catch it", p.fault)
		}
	}
	var built []string
	files, err := filepath.Glob(filepath.Join(faultsFolder, "planted_*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(file), "planted_"), ".go")
		if name == "none" {
			continue
		}
		built = append(built, name)
		got, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if want := "//go:build mutant_" + name + "\n\npackage mutant\n\nconst planted = \"" + name + "\"\n"; string(got) != want {
			t.Errorf("%s holds\n%s\nwant\n%s", file, got, want)
		}
	}
	for _, names := range [][]string{declared, planted, built} {
		slices.Sort(names)
	}
	if !slices.Equal(declared, planted) || !slices.Equal(declared, built) {
		t.Errorf("the faults are not the same:\ndeclared %q\nplanted  %q\nbuilt    %q", declared, planted, built)
	}
}

func TestWhatCounts(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		events string
		failed []string
		err    string
	}{
		"a test that fails": {
			events: `{"Action":"run","Test":"TestA"}
{"Action":"fail","Test":"TestA/part"}
{"Action":"fail","Test":"TestA"}
{"Action":"fail","Package":"p"}
`,
			failed: []string{"TestA/part", "TestA"},
		},
		"tests that pass": {
			events: `{"Action":"pass","Test":"TestA"}
{"Action":"pass","Package":"p"}
`,
		},
		"a build that fails": {
			events: `{"ImportPath":"p","Action":"build-fail"}
{"Action":"fail","Package":"p"}
`,
			err: "cannot be built",
		},
		"a test that hangs": {
			events: `{"Action":"output","Test":"TestA","Output":"panic: test timed out after 2m0s\n"}
{"Action":"fail","Test":"TestA"}
`,
			failed: []string{"TestA"},
			err:    "out of time",
		},
		"a test that hangs after another has failed": {
			events: `{"Action":"fail","Test":"TestA"}
{"Action":"output","Test":"TestB","Output":"panic: test timed out after 2m0s\n"}
`,
			failed: []string{"TestA"},
		},
		"another program's words": {events: "hello\n", err: "is no event"},
	}
	for behaviour, test := range tests {
		t.Run(behaviour, func(t *testing.T) {
			t.Parallel()
			o, err := read(strings.NewReader(test.events))
			if !slices.Equal(o.failed, test.failed) {
				t.Errorf("failed %q, want %q", o.failed, test.failed)
			}
			if test.err == "" && err != nil || test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)) {
				t.Errorf("error %v, want %q", err, test.err)
			}
		})
	}
}

func TestFaultsAreChosenByName(t *testing.T) {
	t.Parallel()
	if all, err := choose(nil); err != nil || len(all) != len(plants) {
		t.Errorf("without names: %d plants, %v; want all %d", len(all), err, len(plants))
	}
	if two, err := choose([]string{"skipround", "localclock"}); err != nil || len(two) != 2 || two[1].fault != "localclock" {
		t.Errorf("two names: %+v, %v", two, err)
	}
	if _, err := choose([]string{"skipround", "typo"}); err == nil || !strings.Contains(err.Error(), "typo") {
		t.Errorf("a wrong name: %v", err)
	}
}
