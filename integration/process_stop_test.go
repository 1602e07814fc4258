package integration

import (
	"net"
	"strings"
	"syscall"
	"testing"

	"github.com/ringraft/ringraft/op"
)

// TestNodeStopsWhoeverHoldsOn stops the last node that runs, to which nothing can be
// handed over, while connections stand open that never end by themselves.
func TestNodeStopsWhoeverHoldsOn(t *testing.T) {
	t.Parallel()
	c := startCluster(t, 3, "--groups", "1", "--stop-timeout", "2s")
	last := c.leader(1)
	if _, err := c.connectTo(last).Do(t.Context(), &op.Request{Op: op.Hello{}}); err != nil {
		t.Fatal(err)
	}
	for _, addr := range []string{last.native, last.peer} {
		for _, part := range []string{"", "\x00\x00\x01"} {
			conn, err := net.Dial("tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if _, err := conn.Write([]byte(part)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, n := range c.others(last) {
		n.kill()
	}
	last.stop()
	if said := last.logText(); !strings.Contains(said, "node has stopped") {
		t.Errorf("the log does not say that the node has stopped:\n%s", said)
	}
}

// TestSecondSignalEndsTheNodeAtOnce sends SIGTERM again while a write that nobody
// can commit keeps the first stop waiting.
func TestSecondSignalEndsTheNodeAtOnce(t *testing.T) {
	t.Parallel()
	c := startCluster(t, 3, "--groups", "1", "--stop-timeout", "1h")
	last := c.leader(1)
	for _, n := range c.others(last) {
		n.pause()
	}
	last.signal(syscall.SIGTERM)
	eventually(t, "the node is stopping", func() error { return last.logHas("node is stopping") })
	last.signal(syscall.SIGTERM)
	last.wait()
}

// TestRestartedNodeIgnoresInit starts a node with the members it was born with and
// with others: either way it is who it was.
func TestRestartedNodeIgnoresInit(t *testing.T) {
	t.Parallel()
	c := startCluster(t, 3, "--groups", "1")
	c.set("kept", "1")
	n := c.nodes[0]
	n.stop()
	n.args = append(n.args, "--init", "n1="+n.peer)
	n.start()
	eventually(t, "the node says that it ignores --init", func() error { return n.logHas("--init is ignored") })
	c.waitCaughtUp()
	c.want("kept", "1")
}
