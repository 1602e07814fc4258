package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestCompletion(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, before, cursor, has, hasNot string }{
		{"verbs", "", "", "cluster\n", "--"},
		{"verbs below a verb", "cluster", "", "transfer\n", "cluster\n"},
		{"verbs to get help on", "help", "", "cluster\n", "--"},
		{"verbs below a verb to get help on", "help cluster", "st", "status\n", "cluster\n"},
		{"nothing that is known about keys", "get", "", "", "\n"},
		{"flags", "get", "-", "--read\n", "--ttl\n"},
		{"flags behind two dashes", "get k", "--", "--read\n", "--ttl\n"},
		{"flags behind arguments", "set k v", "--t", "--ttl\n", "--read\n"},
		{"flags of all clients before the verb", "", "-", "--endpoints\n", "--read\n"},
		{"no hidden flags", "server", "-", "--native\n", "--stop-with-stdin\n"},
		{"nothing after nonsense", "get --no-such-flag k", "-", "", "\n"},
		{"no flags once they have ended", "get --", "-", "", "\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			words := append(strings.Fields(c.before), c.cursor)
			o := invocation{}.run(t, append([]string{completionFlag}, words...)...)
			if o.code != exitDone || !strings.Contains(o.out, c.has) || strings.Contains(o.out, c.hasNot) {
				t.Errorf("exit code %d, completions %q; want %q and not %q", o.code, o.out, c.has, c.hasNot)
			}
		})
	}
}

// TestCompletionRunsNothing: whatever stands on the line that a shell completes.
func TestCompletionRunsNothing(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.put(t, "", "k", "v")
	for _, line := range [][]string{
		{"set", "k", "--", ""}, {"set", "k", "w", "--", "--"}, {"del", "--", "k", ""}, {"del", "k", "--"}, {"incr", "k"},
	} {
		s.run(t, append([]string{completionFlag}, line...)...)
	}
	s.run(t, "get", "k", "-o", "json").check(t, exitDone, `{"key":"k","value":"v","version":1,"ttl_ms":null}`+"\n", "")
}

func TestCompletionFlagIsAValueAfterDashes(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.put(t, "", "k", "--", completionFlag)
	s.run(t, "get", "k").check(t, exitDone, completionFlag, "")
}

// TestBashCompletes sources the script into a real shell, with this test program as
// ringraft, and presses the key.
func TestBashCompletes(t *testing.T) {
	t.Parallel()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("needs bash")
	}
	dir := t.TempDir()
	if err := os.Symlink(testProgram(t), filepath.Join(dir, "ringraft")); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{
		"":               "",
		"cl":             "cluster",
		"cluster config": "config",
		"get k --":       "--read --session-token --key-base64 --endpoints --timeout --output --help",
		"set k v --tt":   "--ttl",
		"get k -- --":    "",
	} {
		script := bashCompletion + `COMP_WORDS=(ringraft "$@"); COMP_CWORD=$#; _ringraft; echo "${COMPREPLY[*]}"`
		cmd := exec.Command(bash, append([]string{"-c", script, "bash"}, strings.Fields(line)...)...)
		cmd.Env = append(os.Environ(), "PATH="+dir+string(os.PathListSeparator)+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		if got := strings.TrimSpace(string(out)); err != nil || got != want {
			t.Errorf("%q completes to %q, %v; want %q", line, got, err, want)
		}
	}
}

func testProgram(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}
