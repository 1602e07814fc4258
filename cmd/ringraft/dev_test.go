package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gofrs/flock"
)

// standIn, as its first argument, makes the test program stand in for a node.
const standIn = "stand-in-node"

// standInNode serves, which means that it waits for the end of standard input, or fails.
func standInNode(behaviour string) int {
	if behaviour == "fail" {
		fmt.Fprintln(os.Stderr, "starting\nthe data directory is damaged")
		return 1
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	fmt.Fprintln(os.Stderr, "stopped in good order")
	return 0
}

// keptNode starts a stand-in and keeps it running until the returned function is
// called. What is said of it comes along the channel.
func keptNode(t *testing.T, behaviour string) (n *devNode, said <-chan string, stop func()) {
	t.Helper()
	lines := make(chan string, 100)
	n = &devNode{
		id: "n1", log: filepath.Join(t.TempDir(), "n1.log"), program: os.Args[0], args: []string{standIn, behaviour},
		away: time.Millisecond, say: func(format string, args ...any) { lines <- fmt.Sprintf(format, args...) },
	}
	if err := n.start(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { n.keep(ctx) })
	stop = func() { cancel(); wg.Wait() }
	t.Cleanup(stop)
	return n, lines, stop
}

func TestDevNodeIsStartedAgainWhenItIsKilled(t *testing.T) {
	t.Parallel()
	n, said, _ := keptNode(t, "serve")
	first := n.pid.Load()
	process, err := os.FindProcess(int(first))
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Kill(); err != nil {
		t.Fatal(err)
	}
	if line := <-said; !strings.Contains(line, strconv.FormatInt(first, 10)) || !strings.Contains(line, "signal: killed") {
		t.Errorf("said %q; want the process and how it ended", line)
	}
	line, second := <-said, n.pid.Load()
	if second == first || !strings.Contains(line, strconv.FormatInt(second, 10)) {
		t.Errorf("said %q, process %d; want another one than %d", line, second, first)
	}
}

func TestDevNodeStopsInGoodOrder(t *testing.T) {
	t.Parallel()
	n, said, stop := keptNode(t, "serve")
	stop()
	log, err := os.ReadFile(n.log)
	if err != nil || string(log) != "stopped in good order\n" {
		t.Errorf("log %q, %v", log, err)
	}
	if len(said) != 0 {
		t.Errorf("said %q, want nothing", <-said)
	}
}

func TestDevNodeThatFailsTellsWhy(t *testing.T) {
	t.Parallel()
	_, said, _ := keptNode(t, "fail")
	if line := <-said; !strings.Contains(line, "exit status 1: the data directory is damaged") {
		t.Errorf("said %q; want the last line of the log", line)
	}
}

func TestTourCanBeTypedAsItStands(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ native, want string }{
		{"127.0.0.1:9001", "bin/ringraft --endpoints 127.0.0.1:9001 set greeting hello"},
		{defaultEndpoints, "bin/ringraft set greeting hello"},
	} {
		d := &devCluster{typed: "bin/ringraft", nodes: []*devNode{{id: "n1", native: test.native}}}
		if got := d.tour(); !strings.Contains(got, "\n  "+test.want+"\n") {
			t.Errorf("nodes at %s: the tour lacks %q:\n%s", test.native, test.want, got)
		}
	}
}

func TestDevNamesTheFlagForATakenPort(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := l.Addr().(*net.TCPAddr).Port
	invocation{}.run(t, "dev", "--nodes", "1", "--data", t.TempDir(), "--base-port", strconv.Itoa(port-1)).
		check(t, exitFailed, "", "--base-port")
}

func TestDevRefusesTheDataOfAnotherCluster(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, id := range []string{"n1", "n2", "n3"} {
		if err := os.Mkdir(filepath.Join(dir, id), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	invocation{}.run(t, "dev", "--nodes", "5", "--data", dir).check(t, exitUsage, "", "--nodes 3")
}

func TestDevRefusesTheDataOfARunningCluster(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	running := flock.New(filepath.Join(dir, "lock"))
	if held, err := running.TryLock(); !held {
		t.Fatal(err)
	}
	defer running.Close()
	invocation{}.run(t, "dev", "--nodes", "1", "--data", dir).
		check(t, exitFailed, "", "runs in --data "+dir+" already")
}

func TestDevNodesDoNotSeeTheEnvironment(t *testing.T) {
	t.Parallel()
	got := withoutOwnVariables([]string{"PATH=/bin", "RINGRAFT_DATA=/d", "HOME=/"})
	if want := "PATH=/bin HOME=/"; strings.Join(got, " ") != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
