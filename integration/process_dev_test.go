package integration

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ringraft/ringraft/client"
)

// TestDevClusterSurvivesAKill goes the way of the README's tour: dev, set, kill -9 of
// one node, get, the node comes back, Ctrl-C.
func TestDevClusterSurvivesAKill(t *testing.T) {
	t.Parallel()
	d := startDev(t)
	cl := d.connect()
	ctx := t.Context()
	if _, err := cl.Set(ctx, "greeting", []byte("hello")); err != nil {
		t.Fatal(err)
	}
	d.wantThroughFronts("greeting", "hello")
	first := d.pids()
	kill(t, first["n1"], syscall.SIGKILL)
	v, err := cl.Get(ctx, "greeting", client.At(client.Linearizable))
	if err != nil || string(v.Bytes) != "hello" {
		t.Fatalf("after the kill: %q, %v", v.Bytes, err)
	}
	d.await("n1 is running again")
	second := d.pids()
	if second["n1"] == first["n1"] || second["n2"] != first["n2"] {
		t.Errorf("processes %v, then %v; want another one for n1 alone", first, second)
	}
	eventually(t, "n1 is up", func() error {
		nodes, err := cl.Status(ctx)
		if err != nil {
			return err
		}
		for _, n := range nodes {
			if n.Node == "n1" && n.State == "up" {
				return nil
			}
		}
		return fmt.Errorf("%+v", nodes)
	})
	kill(t, d.cmd.Process.Pid, syscall.SIGINT)
	if code := d.wait(); code != 0 {
		t.Errorf("exit code %d after SIGINT, want 0", code)
	}
	wantGone(t, second)
}

// TestDevNodesEndWithTheirParent kills dev itself.
func TestDevNodesEndWithTheirParent(t *testing.T) {
	t.Parallel()
	d := startDev(t)
	kill(t, d.cmd.Process.Pid, syscall.SIGKILL)
	d.wait()
	wantGone(t, d.pids())
}

// liveDev is a running ringraft dev.
type liveDev struct {
	t     *testing.T
	cmd   *exec.Cmd
	base  int // port
	ended chan struct{}
	exit  int

	mu   sync.Mutex
	said strings.Builder
}

// startDev starts ringraft dev and waits until it says that it is ready. It tries
// other ports if some are taken.
func startDev(t *testing.T) *liveDev {
	t.Helper()
	liveSlots <- struct{}{}
	t.Cleanup(func() { <-liveSlots })
	for {
		d := &liveDev{t: t, base: 10_000 + 40*rand.IntN(500), ended: make(chan struct{})}
		d.start()
		t.Cleanup(d.end)
		if d.isReady() {
			return d
		}
	}
}

// isReady waits until the cluster is, or until dev ends because a port is taken.
func (d *liveDev) isReady() bool {
	d.t.Helper()
	ready := false
	eventually(d.t, "dev is ready", func() error {
		select {
		case <-d.ended:
			if !strings.Contains(d.text(), "--base-port") {
				d.t.Fatalf("dev ended with exit code %d: %s", d.exit, d.text())
			}
			return nil
		default:
		}
		if ready = strings.Contains(d.text(), "\nready."); !ready {
			return errors.New("it only said " + d.text())
		}
		return nil
	})
	return ready
}

func (d *liveDev) start() {
	d.t.Helper()
	d.cmd = exec.Command(program(d.t), "dev", "--base-port", strconv.Itoa(d.base), "--data", filepath.Join(d.t.TempDir(), "data"))
	d.cmd.Env = cleanEnv()
	out, err := d.cmd.StdoutPipe()
	if err != nil {
		d.t.Fatal(err)
	}
	d.cmd.Stderr = d.cmd.Stdout
	if err := d.cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	go func() { // ends with the process
		defer close(d.ended)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			d.mu.Lock()
			d.said.WriteString("\n" + lines.Text())
			d.mu.Unlock()
		}
		d.exit = exitCode(d.cmd.Wait())
	}()
}

// text returns all that dev has said.
func (d *liveDev) text() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.said.String()
}

func (d *liveDev) await(text string) {
	d.t.Helper()
	eventually(d.t, "dev says "+text, func() error {
		if said := d.text(); !strings.Contains(said, text) {
			return errors.New("it only said " + said)
		}
		return nil
	})
}

var pidLine = regexp.MustCompile(`\n(n\d)\b.*\bpid (\d+)`)

// pids returns the newest process of each node that dev told of.
func (d *liveDev) pids() map[string]int {
	pids := map[string]int{}
	for _, m := range pidLine.FindAllStringSubmatch(d.text(), -1) {
		pids[m[1]], _ = strconv.Atoi(m[2]) // digits
	}
	return pids
}

func (d *liveDev) connect() *client.Client {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(d.t.Context(), patience)
	defer cancel()
	var endpoints []string
	for i := 1; i <= 3; i++ {
		endpoints = append(endpoints, net.JoinHostPort("127.0.0.1", strconv.Itoa(d.base+i)))
	}
	cl, err := client.New(ctx, client.Config{Endpoints: endpoints})
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { cl.Close() })
	return cl
}

// wantThroughFronts fails the test unless all nodes show the value to Redis and HTTP
// clients at the ports that go with --base-port.
func (d *liveDev) wantThroughFronts(key, want string) {
	d.t.Helper()
	for i := range 3 {
		redis := dialRedis(d.t, net.JoinHostPort("127.0.0.1", strconv.Itoa(d.base+21+i)))
		redis.must(d.t, "READMODE", "linearizable")
		if got := redis.must(d.t, "GET", key); got != bulk(want) {
			d.t.Errorf("node %d, Redis: %q, want %s", i+1, got, want)
		}
		web := net.JoinHostPort("127.0.0.1", strconv.Itoa(d.base+31+i))
		if status, got, _ := webTo(d.t, web, "GET", "/"+key, "", "Accept: application/octet-stream"); got != want {
			d.t.Errorf("node %d, HTTP: %d %q, want %s", i+1, status, got, want)
		}
	}
}

func (d *liveDev) wait() int {
	d.t.Helper()
	select {
	case <-d.ended:
	case <-time.After(patience):
		d.t.Fatalf("dev still runs after %v", patience)
	}
	return d.exit
}

func (d *liveDev) end() {
	_ = d.cmd.Process.Kill() // it fails only for a process that has ended
	<-d.ended
	if d.t.Failed() {
		d.t.Logf("dev said:%s", d.text())
	}
}

func kill(t *testing.T, pid int, s syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(pid, s); err != nil {
		t.Fatalf("signal %v to process %d: %v", s, pid, err)
	}
}

// hasEnded reports whether a process is gone, or dead and not yet taken notice of by
// whoever inherited it.
func hasEnded(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return true
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && bytes.Contains(stat, []byte(") Z "))
}

// wantGone fails the test unless the processes end.
func wantGone(t *testing.T, pids map[string]int) {
	t.Helper()
	if len(pids) != 3 {
		t.Errorf("dev told of %d processes, want 3", len(pids))
	}
	eventually(t, "all nodes end", func() error {
		for id, pid := range pids {
			if !hasEnded(pid) {
				return fmt.Errorf("%s, process %d, is still there", id, pid)
			}
		}
		return nil
	})
}
