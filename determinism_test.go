package ringraft_test

import (
	"bytes"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// deterministic names the packages whose code runs inside Apply, and what they may
// not import: clocks, chance, the environment, the network.
var deterministic = map[string][]string{
	"lru":     {"time", "math/rand", "math/rand/v2", "crypto/rand", "os", "net", "runtime", "unsafe"},
	"op":      {"time", "math/rand", "math/rand/v2", "crypto/rand", "os", "net", "runtime", "unsafe"},
	"raftfsm": {"math/rand", "math/rand/v2", "crypto/rand", "os", "net", "runtime", "unsafe"},
}

func TestApplyTouchesNothingButItsArguments(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		forbidden, ok := deterministic[s.folder()]
		if !ok || s.isTest() {
			continue
		}
		for _, p := range s.imports() {
			if slices.Contains(forbidden, p) {
				t.Errorf("%s imports %s: the state machine must not depend on it", s.name, p)
			}
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if call, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := call.X.(*ast.Ident); ok && x.Name == "time" && slices.Contains([]string{"Now", "Since", "Until", "After", "Tick"}, call.Sel.Name) {
					t.Errorf("%s calls time.%s: the state machine knows no wall clock", s.name, call.Sel.Name)
				}
			}
			return true
		})
	}
}

// TestApplyDependsOnNoMapOrder refuses loops over maps in the deterministic packages:
// Go walks a map in another order each time. The keys must be sorted first, as
// slices.Sorted(maps.Keys(m)) does, or the loop replaced.
func TestApplyDependsOnNoMapOrder(t *testing.T) {
	t.Parallel()
	fset := token.NewFileSet()
	imports := importer.ForCompiler(fset, "gc", exportData(t))
	for folder := range deterministic {
		var files []*ast.File
		for _, name := range goFiles(t, folder) {
			file, err := parser.ParseFile(fset, name, nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, file)
		}
		info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
		conf := types.Config{Importer: imports}
		if _, err := conf.Check(module+folder, fset, files, info); err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			ast.Inspect(file, func(n ast.Node) bool {
				if loop, ok := n.(*ast.RangeStmt); ok {
					if _, isMap := info.Types[loop.X].Type.Underlying().(*types.Map); isMap && !anyOrderWillDo(file, loop, fset) {
						t.Errorf("%s: a loop over a map", fset.Position(loop.Pos()))
					}
				}
				return true
			})
		}
	}
}

// anyOrderWillDo reports whether the line above the loop, or its own, says why
// the order does not matter: "// any order: …".
func anyOrderWillDo(file *ast.File, loop *ast.RangeStmt, fset *token.FileSet) bool {
	line := fset.Position(loop.Pos()).Line
	for _, group := range file.Comments {
		for _, c := range group.List {
			at := fset.Position(c.Pos()).Line
			if (at == line || at == line-1) && strings.HasPrefix(c.Text, "// any order: ") {
				return true
			}
		}
	}
	return false
}

func goFiles(t *testing.T, folder string) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil || len(all) == 0 {
		t.Fatalf("Go files of %s: %v, %v", folder, all, err)
	}
	return slices.DeleteFunc(all, func(name string) bool { return strings.HasSuffix(name, "_test.go") })
}

// exportData returns a lookup of compiled packages' types for the importer.
func exportData(t *testing.T) importer.Lookup {
	t.Helper()
	args := []string{"list", "-export", "-deps", "-f", "{{.ImportPath}}\t{{.Export}}"}
	for folder := range deterministic {
		args = append(args, "./"+folder)
	}
	list := exec.Command("go", args...)
	var stderr bytes.Buffer
	list.Stderr = &stderr
	out, err := list.Output()
	if err != nil {
		t.Fatalf("go list: %v: %s", err, stderr.String())
	}
	files := map[string]string{}
	for line := range strings.Lines(string(out)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), "\t")
		files[path] = file
	}
	return func(path string) (io.ReadCloser, error) { return os.Open(files[path]) }
}
