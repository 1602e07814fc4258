package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

const (
	// patience is for how long the tests of one net may run. Most faults are caught in seconds.
	patience = 2 * time.Minute
	// allPatience is for how long those of all nets in one package may, without a fault.
	allPatience = 10 * time.Minute
)

// outcome is what became of the tests of one package.
type outcome struct {
	failed          []string // in the order in which they ended, the parts of a test before it
	passed, skipped map[string]bool
}

// event is a line of go test -json.
type event struct {
	Action string
	Test   string
	Output string
}

// run runs the tests of n in a build with the fault, "" for none. It returns an error if
// they could not be built or ran out of time.
func run(ctx context.Context, fault string, n net) (outcome, error) {
	timeout := patience
	if fault == "" {
		timeout = allPatience
	}
	cmd := exec.CommandContext(ctx, "go", "test", "-json", "-count=1", "-failfast", "-timeout", timeout.String(),
		"-run", "^("+strings.Join(n.tests, "|")+")$", "./"+n.pkg)
	// A test that generates its cases keeps none of those that fail, and looks for a small one
	// only for a while.
	cmd.Env = append(os.Environ(), "RAPID_NOFAILFILE=true", "RAPID_SHRINKTIME=1s")
	if fault != "" {
		// By the environment, so that programs which the tests build have the fault too.
		cmd.Env = append(cmd.Env, "GOFLAGS=-tags=mutant,mutant_"+fault)
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return outcome{}, err
	}
	if err := cmd.Start(); err != nil {
		return outcome{}, err
	}
	o, err := read(stdout)
	var exit *exec.ExitError
	switch ended := cmd.Wait(); {
	case ctx.Err() != nil:
		return outcome{}, fmt.Errorf("the tests of %s are not done: %w", n.pkg, ctx.Err())
	case err != nil:
		return outcome{}, fmt.Errorf("the tests of %s: %w\n%s", n.pkg, err, &stderr)
	case ended != nil && (!errors.As(ended, &exit) || len(o.failed) == 0):
		return outcome{}, fmt.Errorf("the tests of %s end with %w, though none fails\n%s", n.pkg, ended, &stderr)
	}
	return o, nil
}

// read reads events to their end.
func read(events io.Reader) (o outcome, err error) {
	o.passed, o.skipped = map[string]bool{}, map[string]bool{}
	lines := bufio.NewReader(events)
	for {
		line, end := lines.ReadBytes('\n')
		if end != nil {
			return o, err
		}
		var e event
		switch broken := json.Unmarshal(line, &e); {
		case broken != nil:
			err = errors.Join(err, fmt.Errorf("%q is no event: %w", line, broken))
		case e.Action == "build-fail":
			err = errors.Join(err, errors.New("they cannot be built"))
		case strings.HasPrefix(e.Output, "panic: test timed out") && len(o.failed) == 0:
			err = errors.Join(err, errors.New("they ran out of time"))
		case e.Action == "pass":
			o.passed[e.Test] = true
		case e.Action == "skip":
			o.skipped[e.Test] = true
		case e.Action == "fail" && e.Test != "":
			o.failed = append(o.failed, e.Test)
		}
	}
}
