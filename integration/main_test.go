package integration

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if endpoints := os.Getenv(countAt); endpoints != "" {
		if err := count(endpoints, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if dir, err := scratch(); err == nil {
			os.RemoveAll(dir)
		}
		os.Exit(code)
	}))
}

// scratch is a directory that lasts as long as the test program.
var scratch = sync.OnceValues(func() (string, error) { return os.MkdirTemp("", "ringraft-integration-") })

// buildProgram builds the program that process tests run. Simulations never ask for it.
var buildProgram = sync.OnceValues(func() (string, error) { return build("ringraft") })

// buildWithClocks is buildProgram with a clock that tests set.
var buildWithClocks = sync.OnceValues(func() (string, error) { return build("ringraft-testclock", "-tags", "testclock") })

// build builds the program, under the race detector if the tests are.
func build(name string, flags ...string) (path string, err error) {
	dir, err := scratch()
	if err != nil {
		return "", err
	}
	path = filepath.Join(dir, name)
	args := append([]string{"build", "-buildvcs=false", "-o", path}, flags...)
	if raceEnabled {
		args = append(args, "-race")
	}
	cmd := exec.Command("go", append(args, "github.com/ringraft/ringraft/cmd/ringraft")...)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	return path, cmd.Run()
}

// program returns the path of the built program.
func program(t *testing.T) string { return built(t, buildProgram) }

func built(t *testing.T, build func() (string, error)) string {
	t.Helper()
	path, err := build()
	if err != nil {
		t.Fatalf("building the program: %v", err)
	}
	return path
}
