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

// buildProgram builds the program that process tests run, under the race detector
// if the tests are. Simulations never ask for it.
var buildProgram = sync.OnceValues(func() (path string, err error) {
	dir, err := scratch()
	if err != nil {
		return "", err
	}
	path = filepath.Join(dir, "ringraft")
	args := []string{"build", "-buildvcs=false", "-o", path}
	if raceEnabled {
		args = append(args, "-race")
	}
	cmd := exec.Command("go", append(args, "github.com/ringraft/ringraft/cmd/ringraft")...)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	return path, cmd.Run()
})

// program returns the path of the built program.
func program(t *testing.T) string {
	t.Helper()
	path, err := buildProgram()
	if err != nil {
		t.Fatalf("building the program: %v", err)
	}
	return path
}
