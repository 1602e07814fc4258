package resp

import (
	"context"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringraft/ringraft/internal/bubble"
	"github.com/ringraft/ringraft/op"
)

// pipes is a listener whose connections are in memory.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
}

func newPipes() *pipes { return &pipes{make(chan net.Conn), make(chan struct{})} }

func (l *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *pipes) Close() error   { close(l.done); return nil }
func (l *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

func (l *pipes) dial() net.Conn {
	near, far := net.Pipe()
	l.conns <- far
	return near
}

// standIn is a node that answers each read with a value, and counts.
type standIn struct {
	Node
	value  []byte
	served atomic.Int64
}

func (n *standIn) Serve(_ op.Request, reply op.Replier) {
	n.served.Add(1)
	reply.Reply(op.Result{Found: true, Value: n.value})
}
func (n *standIn) LookUp([]op.Lookup, func(int, *op.Result) bool) int { return 0 }

func (n *standIn) Group(uint16) uint64 { return 1 }
func (n *standIn) Now() int64          { return 0 }
func (n *standIn) Shown(uint64) uint64 { return 0 }

// TestAClientThatDoesNotReadIsNotServedOn: what waits for it is bounded, and after a
// while the connection ends.
func TestAClientThatDoesNotReadIsNotServedOn(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		node, l := &standIn{value: make([]byte, 1000)}, newPipes()
		startServer(t, ServerConfig{Node: node, Listener: l, MaxUnsent: 10_000, WriteTimeout: time.Minute})
		conn := l.dial()
		defer conn.Close()
		go io.WriteString(conn, strings.Repeat(bulks("GET", "k"), 1000))
		synctest.Wait()
		if n := node.served.Load(); n < 5 || n > 30 {
			t.Errorf("%d reads were served, want about 10", n)
		}
		time.Sleep(2 * time.Minute)
		if _, err := io.Copy(io.Discard, conn); err != nil {
			t.Errorf("after the timeout: %v, want the end of the connection", err)
		}
	})
}

func TestAnIdleConnectionIsClosed(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		l := newPipes()
		startServer(t, ServerConfig{Node: &standIn{}, Listener: l, IdleTimeout: time.Minute, RequestTimeout: time.Second})
		for sent, timeout := range map[string]time.Duration{"": time.Minute, "*1\r\n$4\r\nPI": time.Second} {
			conn, start := l.dial(), time.Now()
			if _, err := io.WriteString(conn, sent); err != nil {
				t.Fatal(err)
			}
			if b, err := io.ReadAll(conn); err != nil || len(b) > 0 {
				t.Errorf("read %q, %v", b, err)
			}
			if took := time.Since(start); took < timeout || took > timeout+timeout/32+time.Second {
				t.Errorf("after %q the connection was closed after %v, want %v", sent, took, timeout)
			}
			conn.Close()
		}
	})
}

// TestShutdownAnswersWhatWasTaken, and nothing that comes later.
func TestShutdownAnswersWhatWasTaken(t *testing.T) {
	t.Parallel()
	node := newTestNode(t)
	node.hold = func(op.Request) bool { return true }
	s, addr := startServer(t, ServerConfig{Node: node})
	c := dial(t, addr)
	c.send("SET a 1")
	<-node.kept
	ended := make(chan error, 1)
	go func() { ended <- s.Shutdown(context.Background()) }()
	node.release(0)
	if got := c.read(); got != "+OK" {
		t.Errorf("answer %q, want +OK", got)
	}
	c.ended()
	c.conn.Close()
	if err := <-ended; err != nil {
		t.Errorf("Shutdown: %v", err)
	}
}

func TestQuitEndsTheConnection(t *testing.T) {
	t.Parallel()
	c := connect(t, newTestNode(t))
	c.send("SET a 1", "QUIT", "PING")
	for _, want := range []string{"+OK", "+OK"} {
		if got := c.read(); got != want {
			t.Errorf("answer %q, want %q", got, want)
		}
	}
	c.ended()
}

func TestABreachOfTheProtocolIsToldBeforeTheEnd(t *testing.T) {
	t.Parallel()
	c := connect(t, newTestNode(t))
	if _, err := io.WriteString(c.conn, bulks("PING")+"*1\r\n$9999999999\r\n"+strings.Repeat("x", 100_000)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"+PONG", "-ERR Protocol error: invalid bulk length"} {
		if got := c.read(); got != want {
			t.Errorf("answer %q, want %q", got, want)
		}
	}
	c.ended()
}

func TestConnectionsOverTheLimitAreToldSo(t *testing.T) {
	t.Parallel()
	_, addr := startServer(t, ServerConfig{Node: newTestNode(t), MaxConns: 1})
	first := dial(t, addr)
	first.want("PING", "+PONG")
	second := dial(t, addr)
	if got := second.read(); got != "-ERR max number of clients reached" {
		t.Errorf("the second connection: %q", got)
	}
	second.ended()
}

func TestConnectionsAreListedAndKilled(t *testing.T) {
	t.Parallel()
	_, addr := startServer(t, ServerConfig{Node: newTestNode(t)})
	a, b := dial(t, addr), dial(t, addr)
	a.want("CLIENT SETNAME first", "+OK")
	b.want("HELLO 2 SETNAME second", "[server redis version "+likeRedis+" proto :2 id :2 mode standalone role master modules []]")
	list := a.do("CLIENT LIST")
	if !strings.Contains(list, "name=first ") || !strings.Contains(list, "name=second ") || strings.Count(list, "\n") != 2 {
		t.Errorf("CLIENT LIST: %q", list)
	}
	a.want("CLIENT KILL ADDR "+b.conn.LocalAddr().String(), ":1")
	b.ended()
	a.want("CLIENT KILL ID 1 SKIPME no", ":1")
	a.ended()
}
