package redisclients

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// patience bounds every wait for something that must happen. A test that passes never
// waits it out.
const patience = 60 * time.Second

const nodes = 3 // of a cluster

// dev is a running ringraft dev, which starts killed nodes again.
type dev struct {
	t     testing.TB
	base  int    // port
	data  string // directory
	cmd   *exec.Cmd
	ended chan struct{} // closed when it has, and its nodes with it

	mu   sync.Mutex
	said strings.Builder
}

// clusters counts those started, each of which gets ports of its own.
var clusters atomic.Uint32

// start starts a cluster of three nodes and waits until it serves. Ports are below those
// that the system gives to connections, so that nobody takes that of a node while it is
// down. If somebody else has one of them, others are tried.
func start(t *testing.T) *dev {
	t.Helper()
	for {
		block := (os.Getpid() + int(clusters.Add(1))) % 500
		d := &dev{t: t, base: 10_000 + 40*block, data: filepath.Join(t.TempDir(), "data"), ended: make(chan struct{})}
		d.run()
		t.Cleanup(d.stop)
		if d.ready() && !strings.Contains(d.text(), "address already in use") {
			return d
		}
		d.stop()
	}
}

func (d *dev) run() {
	d.t.Helper()
	program, err := program()
	if err != nil {
		d.t.Fatalf("building the program: %v", err)
	}
	d.cmd = exec.Command(program, "dev", "--nodes", strconv.Itoa(nodes), "--base-port", strconv.Itoa(d.base), "--data", d.data)
	d.cmd.Env = slices.DeleteFunc(os.Environ(), func(e string) bool { return strings.HasPrefix(e, "RINGRAFT_") })
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
		_ = d.cmd.Wait() // what it said tells more
	}()
}

// ready waits until the cluster serves. It returns false if a port is taken.
func (d *dev) ready() (served bool) {
	d.t.Helper()
	eventually(d.t, "the cluster serves", func() error {
		select {
		case <-d.ended:
			if !strings.Contains(d.text(), "--base-port") {
				d.t.Fatalf("dev ended: %s", d.text())
			}
			return nil
		default:
		}
		if served = strings.Contains(d.text(), "\nready."); !served {
			return errors.New("it only said " + d.text())
		}
		return nil
	})
	return served
}

// stop stops the nodes in good order, so that their files are let go of.
func (d *dev) stop() {
	_ = d.cmd.Process.Signal(syscall.SIGTERM) // it fails only for a process that has ended
	select {
	case <-d.ended:
	case <-time.After(patience):
		_ = d.cmd.Process.Kill()
		<-d.ended
	}
	if d.t.Failed() {
		d.t.Logf("dev said:%s", d.text())
		for i := range nodes {
			log, err := os.ReadFile(filepath.Join(d.data, fmt.Sprintf("n%d.log", i+1)))
			d.t.Logf("log of node %d, %v:\n%s", i+1, err, log[max(0, len(log)-20_000):])
		}
	}
}

// text returns all that dev has said.
func (d *dev) text() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.said.String()
}

// address returns where Redis clients find a node, 1 to nodes.
func (d *dev) address(node int) string {
	return net.JoinHostPort("127.0.0.1", d.port(node))
}

func (d *dev) port(node int) string { return strconv.Itoa(d.base + 20 + node) }

func (d *dev) addresses() (list []string) {
	for i := range nodes {
		list = append(list, d.address(i+1))
	}
	return list
}

// client returns a client of a node with go-redis's default options.
func (d *dev) client(t *testing.T, node int) *redis.Client {
	t.Helper()
	return open(t, redis.NewClient(&redis.Options{Addr: d.address(node)}))
}

// linearizable returns a client whose connections read the latest, whoever wrote it.
func (d *dev) linearizable(t *testing.T, node int) *redis.Client {
	t.Helper()
	return open(t, redis.NewClient(&redis.Options{
		Addr:      d.address(node),
		OnConnect: func(ctx context.Context, c *redis.Conn) error { return c.Do(ctx, "READMODE", "linearizable").Err() },
	}))
}

// open closes a client when the test ends.
func open[C interface{ Close() error }](t *testing.T, c C) C {
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return c
}

var processLine = regexp.MustCompile(`\nn(\d)\b.*\bpid (\d+)`)

// kill ends a node's process as a power cut would. dev starts it again after seconds.
func (d *dev) kill(t *testing.T, node int) {
	t.Helper()
	pid := 0
	for _, m := range processLine.FindAllStringSubmatch(d.text(), -1) {
		if m[1] == strconv.Itoa(node) {
			pid, _ = strconv.Atoi(m[2]) // digits; the last one counts
		}
	}
	if pid == 0 {
		t.Fatalf("dev named no process of node %d", node)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

// allLead waits until every node is there and leads some group.
func (d *dev) allLead(t *testing.T) {
	t.Helper()
	c := d.client(t, 1)
	eventually(t, "all nodes lead", func() error {
		text, err := c.ClusterInfo(t.Context()).Result()
		if err == nil && !(strings.Contains(text, fmt.Sprintf("cluster_size:%d\r", nodes)) && strings.Contains(text, "cluster_state:ok\r")) {
			err = errors.New(text)
		}
		return err
	})
}

// eventually fails the test unless probe returns nil before patience ends.
func eventually(t testing.TB, what string, probe func() error) {
	t.Helper()
	const between = 50 * time.Millisecond
	for deadline := time.Now().Add(patience); ; {
		err := probe()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %v: %v", what, patience, err)
		}
		<-time.After(between)
	}
}
