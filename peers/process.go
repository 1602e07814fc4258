package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// process is one node of a system.
type process struct {
	name  string
	dir   string // where it runs
	cmd   *exec.Cmd
	ended chan struct{} // closed when it has, and been waited for
}

// command is a program and its arguments. title, unless it is "", stands in the place
// of the program's name.
type command struct {
	program string
	title   string
	args    []string
}

// exec returns the command, which ends with ctx.
func (c command) exec(ctx context.Context) *exec.Cmd {
	cmd := exec.CommandContext(ctx, c.program, c.args...)
	if c.title != "" {
		cmd.Args[0] = c.title
	}
	return cmd
}

// startProcess starts the command as a node, which runs until kill. Its output goes to a
// file in dir.
func startProcess(name, dir string, c command) (*process, error) {
	p := &process{name: name, dir: dir, cmd: c.exec(context.Background()), ended: make(chan struct{})}
	log, err := os.OpenFile(p.log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = dir, log, log
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	go func() { // ends with the process, which kill sees to
		_ = p.cmd.Wait() // how it ended is told by its log
		close(p.ended)
	}()
	return p, nil
}

func (p *process) log() string { return filepath.Join(p.dir, p.name+".log") }

// kill ends the process at once, and waits for that. It may be called again.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it fails only for one that has ended
	<-p.ended
}

func (p *process) signal(s syscall.Signal) error {
	if err := p.cmd.Process.Signal(s); err != nil {
		return fmt.Errorf("sending %v to %s: %w", s, p.name, err)
	}
	return nil
}

// lastWords returns the end of the process's log, if it has ended.
func (p *process) lastWords() string {
	select {
	case <-p.ended:
	default:
		return ""
	}
	log, _ := os.ReadFile(p.log()) // one that cannot be read says nothing
	log = bytes.TrimSpace(log[max(0, len(log)-2000):])
	return fmt.Sprintf("%s has ended: %s", p.name, log)
}

// usage is what a process has used.
type usage struct {
	cpu time.Duration
	rss int64 // bytes
}

// usage reads /proc, which Linux has.
func (p *process) usage() (usage, error) {
	proc := filepath.Join("/proc", strconv.Itoa(p.cmd.Process.Pid))
	stat, err := os.ReadFile(filepath.Join(proc, "stat"))
	if err != nil {
		return usage{}, fmt.Errorf("reading what %s uses: %w", p.name, err)
	}
	memory, err := os.ReadFile(filepath.Join(proc, "statm"))
	if err != nil {
		return usage{}, fmt.Errorf("reading what %s uses: %w", p.name, err)
	}
	return parseUsage(string(stat), string(memory))
}

// parseUsage reads the files stat and statm of a process. The times are in ticks of 10 ms.
func parseUsage(stat, statm string) (u usage, err error) {
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:]) // the name may hold anything
	pages := strings.Fields(statm)
	if len(fields) < 13 || len(pages) < 2 {
		return u, fmt.Errorf("/proc has another form: %q, %q", stat, statm)
	}
	for _, text := range fields[11:13] { // in user mode, in the kernel
		ticks, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return u, fmt.Errorf("/proc has another form: %w", err)
		}
		u.cpu += time.Duration(ticks) * 10 * time.Millisecond
	}
	resident, err := strconv.ParseInt(pages[1], 10, 64)
	u.rss = resident * int64(os.Getpagesize())
	return u, err
}
