// Package ringraft_test holds the checks of the whole tree: who may import whom,
// and what the packages that run inside Apply may not do.
package ringraft_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/ringraft/ringraft/"

// layers is the import diagram of docs/architecture.md: for each folder, the ones
// of ours that it may import. Tests may import what their package may, and the
// packages that exist for tests.
var layers = map[string][]string{
	"op":                {"internal/mutant"},
	"lru":               {"internal/mutant"},
	"placement":         {},
	"raftfsm":           {"op", "lru", "internal/mutant"},
	"shard/storage":     {"shard/storage/sharedlog", "internal/mutant"},
	"shard":             {"op", "placement", "raftfsm", "shard/storage", "internal/backoff", "internal/mutant"},
	"transport":         {"op", "internal/defaults", "internal/stream"},
	"transport/resp":    {"op", "transport/resp/script", "internal/backoff", "internal/defaults", "internal/stream"},
	"transport/clerk":   {"op", "internal/backoff", "internal/defaults", "internal/session"},
	"transport/peer":    {"internal/mutant"},
	"client":            {"op", "placement", "transport", "internal/mutant", "internal/sealed", "internal/session"},
	"bench":             {"op", "client", "internal/stream"},
	"cmd/ringraft":      {"op", "placement", "raftfsm", "shard", "shard/storage", "transport", "transport/clerk", "transport/peer", "transport/resp", "transport/httpapi", "client", "bench", "internal/document", "internal/media", "internal/strictjson"},
	"internal/mutant":   {},
	"internal/sealed":   {"op"},
	"internal/session":  {"op"},
	"internal/stream":   {},
	"internal/backoff":  {},
	"internal/defaults": {},

	"shard/storage/sharedlog": {"internal/mutant"},
	"transport/resp/script":   {},

	"transport/httpapi":   {"op", "internal/backoff", "internal/defaults", "internal/document", "internal/media", "internal/sealed", "internal/strictjson"},
	"internal/document":   {"op"},
	"internal/media":      {"op"},
	"internal/strictjson": {},
}

// forTests are packages that only tests, and the integration folder, may import.
var forTests = []string{"internal/fakenode", "internal/bubble"}

type source struct {
	name string // path from the module's root
	file *ast.File
}

func (s source) folder() string { return path.Dir(s.name) }
func (s source) isTest() bool   { return strings.HasSuffix(s.name, "_test.go") }

func (s source) imports() []string {
	var paths []string
	for _, spec := range s.file.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			panic(err) // the parser accepted it
		}
		paths = append(paths, p)
	}
	return paths
}

func sources(t *testing.T) []source {
	t.Helper()
	var all []source
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && name != "." && (strings.HasPrefix(d.Name(), ".") || isModule(name)) {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(name, ".go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err == nil {
			all = append(all, source{filepath.ToSlash(name), file})
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 50 {
		t.Fatalf("only %d Go files found: this test looks in the wrong place", len(all))
	}
	return all
}

// isModule reports whether the folder is a module of its own. Without a replace in its
// go.mod, it cannot import ours.
func isModule(folder string) bool {
	_, err := os.Stat(filepath.Join(folder, "go.mod"))
	return err == nil
}

func TestPackagesImportOnlyWhatIsBelowThem(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		allowed, listed := layers[s.folder()]
		if !listed {
			if !strings.HasPrefix(s.folder(), "integration") && s.folder() != "." && !slices.Contains(forTests, s.folder()) {
				t.Errorf("%s: folder %s is not in the import diagram; add it here and to docs/architecture.md", s.name, s.folder())
			}
			continue
		}
		for _, p := range s.imports() {
			ours, ok := strings.CutPrefix(p, module)
			if !ok || ours == s.folder() || slices.Contains(allowed, ours) {
				continue
			}
			if s.isTest() && (slices.Contains(forTests, ours) || testMayImport(s.folder(), ours)) {
				continue
			}
			t.Errorf("%s: %s may not import %s", s.name, s.folder(), ours)
		}
	}
}

// testMayImport lets a package be tested over the network it runs on.
func testMayImport(folder, imported string) bool {
	return folder == "shard" && imported == "transport/peer" || folder == "client" && imported == "raftfsm"
}
