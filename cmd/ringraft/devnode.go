package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"time"

	"github.com/ringraft/ringraft/client"
	"github.com/ringraft/ringraft/op"
)

const (
	killedFor = 3 * time.Second        // how long a killed node stays away
	readyPoll = 200 * time.Millisecond // between looks whether the cluster serves
	readyWait = 2 * time.Second        // that one look may take
	stopWait  = 15 * time.Second       // over the --stop-timeout of a node
	logTail   = 4 << 10                // bytes at a log's end that are searched for its last line
)

// devNode is one child process. It stops when its standard input ends, so it does
// not outlive this process however that ends; and since no signal is sent, one that
// a terminal sends to both does not count twice.
type devNode struct {
	id           string
	native, peer string // addresses
	resp         string // for Redis clients, "" if there is none
	http         string
	log          string // path
	program      string
	args         []string
	away         time.Duration // from its end until it is started again
	say          func(format string, args ...any)

	pid     atomic.Int64 // for anybody; the rest belongs to keep once that runs
	process *os.Process
	stdin   io.Closer
	ended   chan error // gets what Wait returns, once
}

// start starts the process.
func (n *devNode) start() error {
	log, err := os.OpenFile(n.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("starting node %s: %w", n.id, err)
	}
	defer log.Close()
	cmd := exec.Command(n.program, n.args...)
	cmd.Env = withoutOwnVariables(os.Environ())
	cmd.Stdout, cmd.Stderr = log, log
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return fmt.Errorf("starting node %s: %w", n.id, err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting node %s: %w", n.id, err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }() // ends with the process, which keep sees to
	n.process, n.stdin, n.ended = cmd.Process, stdin, ended
	n.pid.Store(int64(cmd.Process.Pid))
	return nil
}

// redisColumn is the part of a node's line that tells of Redis clients.
func (n *devNode) redisColumn() string {
	if n.resp == "" {
		return ""
	}
	return "redis " + n.resp + "  "
}

// withoutOwnVariables drops RINGRAFT_*: the flags say all that a node is to know.
func withoutOwnVariables(environ []string) []string {
	var kept []string
	for _, e := range environ {
		if !strings.HasPrefix(e, "RINGRAFT_") {
			kept = append(kept, e)
		}
	}
	return kept
}

// keep starts the process again whenever it ends, until ctx does; then it stops it.
func (n *devNode) keep(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			n.stop()
			return
		case err := <-n.ended:
			if ctx.Err() != nil {
				return
			}
			n.say("%s (pid %d) ended: %s; it is started again in %v", n.id, n.pid.Load(), n.reason(err), n.away)
		}
		if !n.restart(ctx) {
			return
		}
	}
}

// restart starts the process after a while. It returns false when ctx ends first.
func (n *devNode) restart(ctx context.Context) bool {
	for pause(ctx, n.away) {
		err := n.start()
		if err == nil {
			n.say("%s is running again, pid %d", n.id, n.pid.Load())
			return true
		}
		n.say("%v", err)
	}
	return false
}

// stop lets the process hand over and end, and kills it if that takes too long.
func (n *devNode) stop() {
	n.stdin.Close()
	late := time.NewTimer(stopWait)
	defer late.Stop()
	select {
	case <-n.ended:
		return
	case <-late.C:
	}
	n.say("%s did not stop within %v: killing it", n.id, stopWait)
	_ = n.process.Kill() // it fails only for a process that has ended
	<-n.ended
}

// reason says how the process ended: a signal, or the last thing that it logged.
func (n *devNode) reason(err error) string {
	if err == nil {
		return "exit status 0"
	}
	if strings.HasPrefix(err.Error(), "signal:") {
		return err.Error()
	}
	return fmt.Sprintf("%v: %s", err, lastLine(n.log))
}

// lastLine returns the last line of the file, "" if it cannot be read.
func lastLine(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	if size, err := f.Seek(0, io.SeekEnd); err == nil {
		_, _ = f.Seek(max(0, size-logTail), io.SeekStart)
	}
	tail, _ := io.ReadAll(io.LimitReader(f, logTail))
	tail = bytes.TrimSpace(tail)
	return string(tail[bytes.LastIndexByte(tail, '\n')+1:])
}

// ready returns nil if every group of the cluster at endpoints has a leader.
func ready(ctx context.Context, endpoints []string) error {
	ctx, cancel := context.WithTimeout(ctx, readyWait)
	defer cancel()
	cl, err := client.New(ctx, client.Config{Endpoints: endpoints})
	if err != nil {
		return err
	}
	defer cl.Close()
	doc, err := clusterStatus(ctx, cl)
	if err != nil {
		return err
	}
	for _, g := range doc.Groups {
		if g.Leader == "" {
			return op.Unavailable("group %d has no leader", g.ID)
		}
	}
	return nil
}

// pause waits for d and reports whether ctx goes on.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
