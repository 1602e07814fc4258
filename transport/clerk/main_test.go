package clerk

import (
	"context"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/ringraft/ringraft/internal/fakenode"
	"github.com/ringraft/ringraft/op"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// outcome is what becomes of one try at a request.
type outcome struct {
	lose   bool    // do nothing
	answer op.Kind // of the error that is answered; 0: what it came to
}

// testNode is n1 of a fake cluster, whose tries can go wrong.
type testNode struct {
	*fakenode.Cluster
	meet func(req op.Request) outcome // nil: all goes well
}

func newTestNode(t *testing.T) *testNode {
	t.Helper()
	c, err := fakenode.Start(fakenode.Config{Groups: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return &testNode{Cluster: c}
}

func (n *testNode) GroupOf(slot uint16) uint64 { return n.Group(slot) }

func (n *testNode) Serve(req op.Request, reply op.Replier) { reply.Reply(n.try(req)) }

// try carries out one try.
func (n *testNode) try(req op.Request) op.Result {
	if _, err := op.DecodeRequest(req.AppendTo(nil)); err != nil {
		panic(err)
	}
	var out outcome
	if n.meet != nil {
		out = n.meet(req)
	}
	var res op.Result
	if !out.lose {
		res = n.Cluster.Do(context.Background(), req)
	}
	if out.answer != 0 {
		return op.Fail(&op.Error{Kind: out.answer, Message: "as the test wants it"})
	}
	return res
}

// Do repeats what shard.Node.Do repeats.
func (n *testNode) Do(ctx context.Context, req op.Request) op.Result {
	var doubt *op.Error
	for {
		res := n.try(req)
		switch {
		case res.Err == nil:
			return res
		case res.Err.Kind == op.KindUnknown && req.Session != 0:
			doubt = res.Err
		case res.Err.Kind == op.KindSessionEnded && doubt != nil:
			return op.Fail(doubt)
		case doubt != nil && res.OfThisTry():
		case res.Err.Kind != op.KindUnavailable && res.Err.Kind != op.KindWrongNode && res.Err.Kind != op.KindLocked:
			return res
		}
		select {
		case <-ctx.Done():
			if doubt != nil {
				return op.Fail(doubt)
			}
			return res
		case <-time.After(time.Millisecond):
		}
	}
}

func newClerk(t *testing.T, cfg Config) *Clerk {
	t.Helper()
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// answers is a Replier that keeps the result, but for its memory.
type answers chan op.Result

func (a answers) Reply(res op.Result) {
	copied, err := op.DecodeResult(res.AppendTo(nil))
	if err != nil {
		panic(err) // it was just encoded
	}
	a <- copied
}

// serve is Serve, and waits for the answer.
func serve(c *Clerk, o op.Op) op.Result {
	answer := make(answers, 1)
	c.Serve(op.Request{Op: o}, answer)
	return <-answer
}

func add(key string) op.Add { return op.Add{Key: []byte(key), Delta: 1} }
