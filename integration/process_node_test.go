package integration

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// patience bounds every wait for something that must happen. It is long, so that a
// busy machine fails no test; a test that passes never waits it out.
const patience = 60 * time.Second

// liveNode is a server process and what it is started with.
type liveNode struct {
	t            *testing.T
	id           string
	native, peer string // addresses
	resp         string // for Redis clients
	data         string // directory
	args         []string
	launcher     []string // a command that becomes the program given to it, or none
	log          string   // path; it outlives restarts
	clock        string   // path of what moves its clock, or none

	process *os.Process
	stdin   io.Closer     // the process ends when it closes: no test leaves one behind
	ended   chan struct{} // closed when the process has ended
	exit    int           // its exit code then, -1 for a signal
}

// start starts the process, and does not wait for it to serve.
func (n *liveNode) start() {
	n.t.Helper()
	log, err := os.OpenFile(n.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		n.t.Fatal(err)
	}
	defer log.Close()
	path, env := program(n.t), cleanEnv()
	if n.clock != "" {
		path, env = built(n.t, buildWithClocks), append(env, "TESTCLOCK_FILE="+n.clock)
	}
	command := slices.Concat(n.launcher, []string{path}, n.args)
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = env
	cmd.Stdout, cmd.Stderr = log, log
	stdin, err := cmd.StdinPipe()
	if err != nil {
		n.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		n.t.Fatal(err)
	}
	ended := make(chan struct{})
	n.process, n.stdin, n.ended = cmd.Process, stdin, ended
	go func() { // ends with the process, which the cluster's cleanup waits for
		defer close(ended)
		n.exit = exitCode(cmd.Wait())
	}()
}

// cleanEnv is the environment without what would configure the program. Under the
// race detector a process would otherwise wait a second before it ends.
func cleanEnv() []string {
	env := []string{"GORACE=atexit_sleep_ms=0"}
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, "RINGRAFT_") {
			env = append(env, e)
		}
	}
	return env
}

func exitCode(err error) int {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	}
	return -1
}

// signal sends a signal to the process, which must be there.
func (n *liveNode) signal(s syscall.Signal) {
	n.t.Helper()
	if err := n.process.Signal(s); err != nil {
		n.t.Fatalf("signal %v to %s: %v", s, n.id, err)
	}
}

// kill ends the process as a power cut would, and waits until it is gone.
func (n *liveNode) kill() {
	n.t.Helper()
	n.signal(syscall.SIGKILL)
	<-n.ended
}

// stop ends the process in good order.
func (n *liveNode) stop() {
	n.t.Helper()
	n.signal(syscall.SIGTERM)
	if code := n.wait(); code != 0 {
		n.t.Fatalf("%s ended with exit code %d after SIGTERM, want 0", n.id, code)
	}
}

// pause freezes the process: its connections stay, and nothing answers.
func (n *liveNode) pause()  { n.t.Helper(); n.signal(syscall.SIGSTOP) }
func (n *liveNode) resume() { n.t.Helper(); n.signal(syscall.SIGCONT) }

// setClock makes the node's clock jump to where it is so far ahead of the right time.
func (n *liveNode) setClock(ahead time.Duration) {
	n.t.Helper()
	next := n.clock + ".next"
	if err := os.WriteFile(next, strconv.AppendInt(nil, ahead.Milliseconds(), 10), 0o600); err != nil {
		n.t.Fatal(err)
	}
	if err := os.Rename(next, n.clock); err != nil { // nobody reads half of it
		n.t.Fatal(err)
	}
}

// wait returns the exit code of a process that is to end by itself.
func (n *liveNode) wait() int {
	n.t.Helper()
	select {
	case <-n.ended:
	case <-time.After(patience):
		n.t.Fatalf("%s still runs after %v", n.id, patience)
	}
	return n.exit
}

func (n *liveNode) running() bool {
	if n.ended == nil {
		return false
	}
	select {
	case <-n.ended:
		return false
	default:
		return true
	}
}

// end makes sure that the process is gone.
func (n *liveNode) end() {
	if n.running() {
		_ = n.process.Kill() // it fails only for a process that has ended
		<-n.ended
	}
	if n.stdin != nil {
		n.stdin.Close()
	}
}

// logText returns all that the node has logged.
func (n *liveNode) logText() string {
	b, err := os.ReadFile(n.log)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err.Error()
	}
	return string(b)
}

// logHas returns an error unless the node has logged text.
func (n *liveNode) logHas(text string) error {
	if said := n.logText(); !strings.Contains(said, text) {
		return fmt.Errorf("%s only said:\n%s", n.id, said)
	}
	return nil
}

// refuse starts the process, which must end by itself with exit code 1 and with the
// reason in its log.
func (n *liveNode) refuse(reason string) {
	n.t.Helper()
	before := len(n.logText())
	n.start()
	code, said := n.wait(), n.logText()[before:]
	if code != 1 || !strings.Contains(said, reason) {
		n.t.Fatalf("%s ended with exit code %d and said:\n%s\nwant 1 and %q", n.id, code, said, reason)
	}
}
