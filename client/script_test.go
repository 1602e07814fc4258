package client

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/ringraft/ringraft/op"
	"github.com/ringraft/ringraft/placement"
)

// stage is a cluster of one group on nodes n1, n2 and n3, in that order of
// preference, whose connections follow a script. It works in fake time.
type stage struct {
	cluster placement.Map
	// answer is what a node makes of an operation on keys.
	answer func(ctx context.Context, node string, req *op.Request) (op.Result, error)

	mu     sync.Mutex
	down   map[string]bool // nodes that refuse connections
	mute   map[string]bool // nodes that answer no greeting
	owner  map[string]string
	asked  []string // the nodes that operations on keys were sent to
	dials  []string // the nodes that were dialled
	opened int64    // sessions
	full   bool     // there is no room for a session
	conns  []*stageConn

	opening time.Duration // that it takes to open a session
}

func newStage(t testing.TB) *stage {
	t.Helper()
	var nodes []placement.Node
	for _, id := range []string{"n1", "n2", "n3"} {
		nodes = append(nodes, placement.Node{ID: id, Native: id + ":1", Peer: id + ":2", Incarnation: id})
	}
	m, err := placement.New("stage", nodes, 1, 3, placement.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	for i, n := range nodes {
		m.Groups[0].Replicas[i] = placement.Replica{Node: n.ID, Generation: 1}
	}
	return &stage{
		cluster: m,
		answer:  func(context.Context, string, *op.Request) (op.Result, error) { return op.Result{Found: true}, nil },
		down:    map[string]bool{},
		mute:    map[string]bool{},
		owner:   map[string]string{},
	}
}

func (s *stage) client(t *testing.T, cfg Config) *Client {
	t.Helper()
	cfg.Endpoints = []string{"n1:1", "n2:1", "n3:1"}
	cfg, err := cfg.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	c, err := open(t.Context(), cfg, s.dial)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func (s *stage) dial(_ context.Context, address string) (conn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	node := address[:2]
	s.dials = append(s.dials, node)
	if s.down[node] {
		return nil, errors.New("connection refused")
	}
	c := &stageConn{stage: s, node: node}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	s.conns = append(s.conns, c)
	return c, nil
}

func (s *stage) set(which map[string]bool, node string, v bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	which[node] = v
}

// crash breaks the node's connections and has it refuse others.
func (s *stage) crash(node string) {
	s.set(s.down, node, true)
	for _, c := range s.open(node) {
		c.Close()
	}
}

// open returns the connections to node that are not closed.
func (s *stage) open(node string) (open []*stageConn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.conns {
		if c.node == node && c.ctx.Err() == nil {
			open = append(open, c)
		}
	}
	return open
}

func (s *stage) trail() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.asked...)
}

type stageConn struct {
	stage *stage
	node  string

	ctx    context.Context // ends with the connection
	cancel context.CancelFunc

	mu      sync.Mutex
	pending int
}

func (c *stageConn) Done() <-chan struct{} { return c.ctx.Done() }

func (c *stageConn) Close() error {
	c.cancel()
	return nil
}

func (c *stageConn) Pending() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pending
}

// Awaited counts the same: a call that is given up leaves at once.
func (c *stageConn) Awaited() int { return c.Pending() }

func (c *stageConn) count(n int) {
	c.mu.Lock()
	c.pending += n
	c.mu.Unlock()
}

func (c *stageConn) DoUntil(ctx context.Context, until time.Time, req *op.Request) (op.Result, error) {
	if until.IsZero() {
		return c.Do(ctx, req)
	}
	ctx, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	return c.Do(ctx, req)
}

func (c *stageConn) Do(ctx context.Context, req *op.Request) (op.Result, error) {
	s := c.stage
	c.count(1)
	defer c.count(-1)
	if c.ctx.Err() != nil {
		return notSent(ctx, req.Op)
	}
	switch o := req.Op.(type) {
	case op.Hello:
		return c.hello(ctx, o)
	case op.ClusterMap:
		s.mu.Lock()
		defer s.mu.Unlock()
		if o.Epoch >= s.cluster.Epoch {
			return op.Result{}, nil
		}
		return op.Result{Detail: op.EncodeDetail(s.cluster)}, nil
	}
	if _, opens := req.Op.(op.OpenSession); opens {
		if s.opening > 0 {
			select {
			case <-time.After(s.opening):
			case <-ctx.Done():
				return silence(ctx, req.Op)
			}
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.full {
			return op.Fail(&op.Error{Kind: op.KindOutOfMemory, Message: "no room"}), nil
		}
		s.opened++
		return op.Result{Number: s.opened}, nil
	}
	s.mu.Lock()
	s.asked = append(s.asked, c.node)
	s.mu.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.ctx, cancel)()
	res, err := s.answer(ctx, c.node, req)
	if c.ctx.Err() != nil {
		return lost(ctx, req.Op)
	}
	return res, err
}

func (c *stageConn) hello(ctx context.Context, o op.Hello) (op.Result, error) {
	s := c.stage
	s.mu.Lock()
	mute, cluster, epoch := s.mute[c.node], s.cluster.Cluster, s.cluster.Epoch
	if foreign := s.owner[c.node]; foreign != "" {
		cluster = foreign
	}
	s.mu.Unlock()
	switch {
	case mute:
		<-ctx.Done()
		return op.Result{}, fmt.Errorf("%w: %w", op.Unavailable("no answer"), ctx.Err())
	case o.Cluster != "" && o.Cluster != cluster:
		return op.Fail(op.Invalid("cluster", "this node belongs to %q", cluster)), nil
	}
	return op.Result{Detail: op.EncodeDetail(op.Greeting{Cluster: cluster, Node: c.node, Epoch: epoch})}, nil
}

// The parts of a script.
type reply func(ctx context.Context, o op.Op) (op.Result, error)

func answers(err *op.Error) reply {
	return func(context.Context, op.Op) (op.Result, error) { return op.Fail(err), nil }
}

func done(context.Context, op.Op) (op.Result, error) { return op.Result{Found: true, Version: 7}, nil }

func wrongNode(node string) reply {
	return answers(&op.Error{Kind: op.KindWrongNode, Message: "another node leads", Node: node, Epoch: 1})
}

func busy(ctx context.Context, o op.Op) (op.Result, error) {
	return answers(op.Unavailable("the queue is full"))(ctx, o)
}

func unknown(ctx context.Context, o op.Op) (op.Result, error) {
	return answers(op.UnknownOutcome("leadership was lost"))(ctx, o)
}

// noRoom is a group that cannot keep the answer to a write.
func noRoom(ctx context.Context, o op.Op) (op.Result, error) {
	return answers(&op.Error{Kind: op.KindOutOfMemory, Field: op.FieldSession, Message: "full"})(ctx, o)
}

func sessionEnded(ctx context.Context, o op.Op) (op.Result, error) {
	return answers(&op.Error{Kind: op.KindSessionEnded, Message: "it has ended"})(ctx, o)
}

func notSent(context.Context, op.Op) (op.Result, error) {
	return op.Result{}, op.Unavailable("the connection broke before")
}

// lost is a connection that breaks after the request was sent.
func lost(_ context.Context, o op.Op) (op.Result, error) {
	if isRead(o) || o.Code() == op.CodeStatus {
		return op.Result{}, op.Unavailable("the connection broke")
	}
	return op.Result{}, op.UnknownOutcome("the connection broke")
}

// silence is a node that never answers.
func silence(ctx context.Context, o op.Op) (op.Result, error) {
	<-ctx.Done()
	_, err := lost(ctx, o)
	return op.Result{}, fmt.Errorf("%w: %w", err, ctx.Err())
}

// follow makes the stage play the replies in order, and the last one for ever.
func (s *stage) follow(script ...reply) {
	step := 0
	s.answer = func(ctx context.Context, _ string, req *op.Request) (op.Result, error) {
		s.mu.Lock()
		r := script[min(step, len(script)-1)]
		step++
		s.mu.Unlock()
		return r(ctx, req.Op)
	}
}
