package resp

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/ringraft/ringraft/internal/fakenode"
	"github.com/ringraft/ringraft/op"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// testNode is a node of a fake cluster.
type testNode struct {
	*fakenode.Cluster
	id string

	mu   sync.Mutex
	hold func(req op.Request) bool                     // keeps the request; nil for none
	held []func()                                      // carry out what is kept
	bend func(req op.Request, res op.Result) *op.Error // replaces the answer to Do; nil for none
	late bool                                          // the replicas here are behind
	look func(op.Lookup) bool                          // which lookups are answered at once; nil: none
	kept chan struct{}                                 // gets a token for each that is kept

	again sync.WaitGroup // of the reads that are elsewhere
}

// newTestNode returns n2 of three nodes: it has a replica of all groups and leads some.
func newTestNode(t *testing.T) *testNode {
	t.Helper()
	c, err := fakenode.Start(fakenode.Config{})
	if err != nil {
		t.Fatal(err)
	}
	n := &testNode{Cluster: c, id: "n2", kept: make(chan struct{}, 1000)}
	t.Cleanup(func() {
		c.Close()
		n.again.Wait()
	})
	return n
}

func (n *testNode) Serve(req op.Request, reply op.Replier) {
	at := n.id
	if o, writes := req.Op.(op.Write); writes {
		at = n.Leader(n.Group(o.Slot(0)))
	}
	serve := func() { n.Cluster.Serve(at, req, reply) }
	n.mu.Lock()
	if n.hold != nil && n.hold(req) {
		n.held = append(n.held, serve)
		n.mu.Unlock()
		n.kept <- struct{}{}
		return
	}
	n.mu.Unlock()
	serve()
}

func (n *testNode) Again(req op.Request, _ *op.Error, reply func(op.Result)) {
	n.again.Go(func() { reply(n.Do(context.Background(), req)) })
}

// LookUp answers those at once that the test says.
func (n *testNode) LookUp(asked []op.Lookup, answer func(i int, res *op.Result) bool) int {
	for i, a := range asked {
		if n.look == nil || n.late && a.Bound > 0 || !n.look(a) {
			return i
		}
		reply := make(kept, 1)
		n.Cluster.Serve(n.id, op.Request{Op: op.Get{Key: a.Key}, Level: op.Session, Bound: a.Bound}, reply)
		if res := <-reply; res.Err != nil {
			return i
		} else if !answer(i, &res) {
			return i + 1
		}
	}
	return len(asked)
}

// release carries out the i-th of the requests that are kept.
func (n *testNode) release(i int) {
	n.mu.Lock()
	serve := n.held[i]
	n.held = append(n.held[:i:i], n.held[i+1:]...)
	n.mu.Unlock()
	serve()
}

// answer is a Replier that keeps a copy of the result.
type kept chan op.Result

func (k kept) Reply(res op.Result) {
	copied, err := op.DecodeResult(res.AppendTo(nil))
	if err != nil {
		panic(err) // it was just encoded
	}
	k <- copied
}

func (n *testNode) Do(ctx context.Context, req op.Request) op.Result {
	at := n.id
	for {
		answer := make(kept, 1)
		n.Cluster.Serve(at, req, answer)
		res := <-answer
		if n.bend != nil {
			if err := n.bend(req, res); err != nil {
				return op.Fail(err)
			}
		}
		switch {
		case res.Err == nil || ctx.Err() != nil:
			return res
		case res.Err.Kind == op.KindWrongNode && res.Err.Node != "":
			at = res.Err.Node
		default:
			return res
		}
	}
}

func (n *testNode) Group(slot uint16) uint64 { return n.Map().GroupOf(slot) }
func (n *testNode) Now() int64               { return time.Now().UnixMilli() }
func (n *testNode) Shown(uint64) uint64 {
	if n.late {
		return 0
	}
	return math.MaxUint64
}
func (n *testNode) ID() string { return n.id }

func (n *testNode) Settings() map[string]string { return map[string]string{"max-bytes": "1MiB"} }

func (n *testNode) Place(slot uint16) Place {
	return Place{Last: n.Map().Run(slot), Replicas: 3}
}

// startServer serves a node until the test ends, and returns its address.
func startServer(t *testing.T, cfg ServerConfig) (*Server, string) {
	t.Helper()
	if cfg.Listener == nil {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		cfg.Listener = l
	}
	cfg.Logger = slog.New(slog.DiscardHandler)
	s, err := NewServer(cfg)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve() }()
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		if err := <-served; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return s, cfg.Listener.Addr().String()
}

// testClient is a bare connection.
type testClient struct {
	t    *testing.T
	conn net.Conn
	in   *bufio.Reader
}

func dial(t *testing.T, addr string) *testClient {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return &testClient{t, conn, bufio.NewReader(conn)}
}

// connect starts a server for node and returns a connection to it.
func connect(t *testing.T, node Node) *testClient {
	t.Helper()
	_, addr := startServer(t, ServerConfig{Node: node})
	return dial(t, addr)
}

// send sends commands, one a line, their words apart by a space.
func (c *testClient) send(lines ...string) {
	c.t.Helper()
	var b strings.Builder
	for _, line := range lines {
		b.WriteString(bulks(strings.Split(line, " ")...))
	}
	if _, err := io.WriteString(c.conn, b.String()); err != nil {
		c.t.Fatal(err)
	}
}

// read returns an answer in short: +OK, -ERR…, :1, the bytes of a string, nil, and
// arrays as [a b].
func (c *testClient) read() string {
	c.t.Helper()
	line, err := c.in.ReadString('\n')
	if err != nil {
		c.t.Fatalf("read an answer: %v", err)
	}
	line = strings.TrimSuffix(line, "\r\n")
	n, _ := strconv.Atoi(line[1:]) // 0 where none stands
	switch {
	case line == "$-1" || line == "*-1" || line == "_":
		return "nil"
	case line[0] == '$' || line[0] == '=':
		b := make([]byte, n+2)
		if _, err := io.ReadFull(c.in, b); err != nil {
			c.t.Fatal(err)
		}
		return string(b[:n])
	case line[0] == '*' || line[0] == '~' || line[0] == '%':
		if line[0] == '%' {
			n *= 2 // pairs
		}
		parts := make([]string, n)
		for i := range parts {
			parts[i] = c.read()
		}
		return fmt.Sprint(parts)
	}
	return line
}

// do sends a command and returns its answer.
func (c *testClient) do(line string) string {
	c.t.Helper()
	c.send(line)
	return c.read()
}

func (c *testClient) want(line, want string) {
	c.t.Helper()
	if got := c.do(line); got != want {
		c.t.Errorf("%s: %q, want %q", line, got, want)
	}
}

// ended fails the test unless the server has closed the connection.
func (c *testClient) ended() {
	c.t.Helper()
	if b, err := c.in.ReadByte(); err != io.EOF {
		c.t.Errorf("read %q, %v; want the end of the connection", b, err)
	}
}
