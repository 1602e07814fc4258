package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
)

// lab is where systems run: a directory and processes, of which nothing is left.
type lab struct {
	options
	root  string // the directory that is removed at the end
	tools map[string]command
	nodes []*process // that run now, or did
	undo  []func()   // takes away what else was made, from the last on
	spent int        // directories given out
}

func openLab(o options) (*lab, error) {
	if err := os.MkdirAll(o.dir, 0o755); err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(o.dir)
	if err != nil {
		return nil, err
	}
	root, err := os.MkdirTemp(dir, "lab-")
	if err != nil {
		return nil, err
	}
	return &lab{options: o, root: root, tools: map[string]command{}}, nil
}

// close ends what runs and removes the directory.
func (l *lab) close() error {
	l.clear()
	return os.RemoveAll(l.root)
}

// clear ends the processes, empties their directories, and takes their network away.
func (l *lab) clear() {
	for _, p := range l.nodes {
		p.kill()
	}
	for _, p := range l.nodes {
		_ = os.RemoveAll(p.dir) // close tries again, and reports it
	}
	l.nodes = nil
	for _, undo := range slices.Backward(l.undo) {
		undo()
	}
	l.undo = nil
}

// directory returns a new one for a node.
func (l *lab) directory() (string, error) {
	l.spent++
	dir := filepath.Join(l.root, strconv.Itoa(l.spent))
	return dir, os.Mkdir(dir, 0o700)
}

// start starts the tool as a node in dir.
func (l *lab) start(name, dir string, tool string, args ...string) (*process, error) {
	c := l.tools[tool]
	c.args = append(slices.Clone(c.args), args...)
	p, err := startProcess(name, dir, c)
	if err == nil {
		l.nodes = append(l.nodes, p)
	}
	return p, err
}

// lastWords joins what processes that ended by themselves have logged.
func (l *lab) lastWords() error {
	var errs []error
	for _, p := range l.nodes {
		if words := p.lastWords(); words != "" {
			errs = append(errs, errors.New(words))
		}
	}
	return errors.Join(errs...)
}

// freeAddresses returns n addresses on which nobody listens.
func freeAddresses(n int) ([]string, error) {
	var list []string
	for range n {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer ln.Close() // not before all are found, so that they differ
		list = append(list, ln.Addr().String())
	}
	return list, nil
}

// build finds or makes the programs of the chosen systems.
func (l *lab) build(ctx context.Context) error {
	path, err := filepath.Abs(l.ringraft)
	if err != nil {
		return err
	}
	if _, err := os.Stat(path); err != nil {
		return fmt.Errorf("finding the ringraft program: %w", err)
	}
	l.tools[ringraft] = command{program: path}
	modules := map[string]string{etcd: "go.etcd.io/etcd/server/v3", nats: "github.com/nats-io/nats-server/v2"}
	for system, module := range modules {
		if !slices.Contains(l.systems, system) {
			continue
		}
		if err := errors.Join(l.goBuild(ctx, system, module), l.goBuild(ctx, loadTool, "./load")); err != nil {
			return err
		}
	}
	for _, bound := range []string{echo, bare} {
		if !slices.Contains(l.systems, bound) {
			continue
		}
		if err := l.goBuild(ctx, bound, "./"+bound); err != nil {
			return err
		}
	}
	if slices.Contains(l.systems, redis) {
		return l.findRedis(ctx)
	}
	return nil
}

// goBuild builds a program that this module requires.
func (l *lab) goBuild(ctx context.Context, tool, pkg string) error {
	if _, built := l.tools[tool]; built {
		return nil
	}
	fmt.Fprintf(os.Stderr, "building %s\n", tool)
	path := filepath.Join(l.root, tool)
	cmd := exec.CommandContext(ctx, "go", "build", "-C", l.module, "-o", path, pkg)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building %s: %w: %s", pkg, err, out)
	}
	l.tools[tool] = command{program: path}
	return nil
}
