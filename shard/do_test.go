package shard

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/ringraft/ringraft/internal/bubble"
	"github.com/ringraft/ringraft/op"
	"github.com/ringraft/ringraft/placement"
	"github.com/ringraft/ringraft/shard/storage"
)

// scriptedPeers answers forwarded requests with results, errors or raw bytes, one
// after the other, the last one for ever.
type scriptedPeers struct {
	script []any
	asked  []string
}

func (p *scriptedPeers) Transport(raft.ServerID) raft.Transport      { panic("there is no Raft here") }
func (p *scriptedPeers) Reachable(string) bool                       { return true }
func (p *scriptedPeers) Join(string)                                 {}
func (p *scriptedPeers) Base(raft.ServerID, uint64, uint64)          {}
func (p *scriptedPeers) Settle(context.Context, raft.ServerID) error { return nil }
func (p *scriptedPeers) Stand(raft.ServerID) error                   { return nil }

func (p *scriptedPeers) Call(ctx context.Context, node string, request []byte) ([]byte, error) {
	if callKind(request[0]) != callServe {
		return nil, errStranger
	}
	if _, err := op.DecodeRequest(request[1:]); err != nil {
		return nil, err
	}
	p.asked = append(p.asked, node)
	next := p.script[0]
	if len(p.script) > 1 {
		p.script = p.script[1:]
	}
	switch next := next.(type) {
	case silence:
		<-ctx.Done()
		return nil, ctx.Err()
	case op.Result:
		return next.AppendTo(nil), nil
	case []byte:
		return next, nil
	default:
		return nil, next.(error)
	}
}

// silence is no answer, for as long as the caller waits.
type silence struct{}

var errUnsent = unsent{errors.New("no connection")}

// newOutsider returns a node, n4, that serves no group: the only one is on n1 to n3.
func newOutsider(t *testing.T, peers Peers) *Node {
	t.Helper()
	store, err := storage.NewMemory(storage.Config{Node: "n4"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var nodes []placement.Node
	for _, id := range []string{"n1", "n2", "n3"} {
		nodes = append(nodes, placement.Node{ID: id, Incarnation: id, Native: id + ":1", Peer: id + ":2"})
	}
	m, err := placement.New("c", nodes, 1, 3, placement.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Form("c", map[string]string{"n4": store.Identity().Incarnation}); err != nil {
		t.Fatal(err)
	}
	if err := store.SaveMap(op.EncodeDetail(m)); err != nil {
		t.Fatal(err)
	}
	n, err := New(Config{ID: "n4", Native: "n4:1", Peer: "n4:2", Store: store})
	if err != nil {
		t.Fatal(err)
	}
	n.peers = peers
	n.meta.Store(new(meta)) // it has started
	return n
}

func TestOutcomesOfRequestsOnTheirWay(t *testing.T) {
	t.Parallel()
	var (
		done        = op.Result{Number: 1}
		unavailable = op.Fail(op.Unavailable("not now"))
		unknown     = op.Fail(op.UnknownOutcome("who knows"))
		ended       = op.Fail(&op.Error{Kind: op.KindSessionEnded})
		conflict    = op.Fail(&op.Error{Kind: op.KindConflict})
		noRoom      = op.Fail(&op.Error{Kind: op.KindOutOfMemory, Field: op.FieldSession})
		toN2        = op.Fail(&op.Error{Kind: op.KindWrongNode, Node: "n2"})
		toNobody    = op.Fail(&op.Error{Kind: op.KindWrongNode})
		lost        = errors.New("connection lost")

		read   = op.Request{Op: op.Get{Key: []byte("k")}}
		write  = op.Request{Op: op.Add{Key: []byte("k"), Delta: 1}}
		inTurn = op.Request{Op: write.Op, Session: 1, Sequence: 1}
	)
	for name, tc := range map[string]struct {
		req    op.Request
		script []any
		want   error // nil: done
		asked  int   // 0: again and again, until the time is over
	}{
		"done":                                {write, []any{done}, nil, 1},
		"refused for good":                    {write, []any{conflict}, op.ErrRefused, 1},
		"refused for now":                     {write, []any{unavailable, unavailable, done}, nil, 3},
		"refused for ever":                    {write, []any{unavailable}, op.ErrUnavailable, 0},
		"sent on":                             {write, []any{toN2, done}, nil, 2},
		"sent in circles":                     {write, []any{toN2}, op.ErrUnavailable, 0},
		"sent to nobody":                      {write, []any{toNobody, done}, nil, 2},
		"not delivered":                       {write, []any{errUnsent, done}, nil, 2},
		"unknown":                             {write, []any{unknown}, op.ErrUnknownOutcome, 1},
		"without an answer":                   {write, []any{lost}, op.ErrUnknownOutcome, 1},
		"with a garbled answer":               {write, []any{[]byte{1}}, op.ErrUnknownOutcome, 1},
		"a read without an answer":            {read, []any{lost, done}, nil, 2},
		"in a session, unknown":               {inTurn, []any{unknown, lost, done}, nil, 3},
		"in a session, unknown for ever":      {inTurn, []any{unknown, unavailable}, op.ErrUnknownOutcome, 0},
		"in a session that ended":             {inTurn, []any{ended}, op.ErrSessionEnded, 1},
		"in a session that ended when asked":  {inTurn, []any{unknown, ended}, op.ErrUnknownOutcome, 2},
		"in a session, refused when repeated": {inTurn, []any{unknown, conflict}, op.ErrRefused, 2},
		"in a session, without room":          {inTurn, []any{noRoom}, op.ErrOutOfMemory, 1},
		"but an earlier try may find it":      {inTurn, []any{unknown, noRoom, done}, nil, 3},
		"without room for ever":               {inTurn, []any{unknown, noRoom}, op.ErrUnknownOutcome, 0},
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				peers := &scriptedPeers{script: tc.script}
				n := newOutsider(t, peers)
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				start := time.Now()
				res := n.Do(ctx, tc.req)
				if tc.want == nil && (res.Err != nil || res.Number != 1) || tc.want != nil && !errors.Is(res.Err, tc.want) {
					t.Errorf("got %+v, want %v", res, tc.want)
				}
				switch took := time.Since(start); {
				case tc.asked == 0 && (len(peers.asked) < 20 || len(peers.asked) > 1000 || took != 10*time.Second):
					t.Errorf("asked %d times in %v; want often, but with pauses, for 10 s", len(peers.asked), took)
				case tc.asked != 0 && len(peers.asked) != tc.asked:
					t.Errorf("asked %v, want %d", peers.asked, tc.asked)
				}
			})
		})
	}
}

// TestASilentNodeDoesNotEatTheDeadline of what can be repeated.
func TestASilentNodeDoesNotEatTheDeadline(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		req  op.Request
		want time.Duration // before another node is asked
	}{
		"a write in a session": {op.Request{Op: op.Add{Key: []byte("k"), Delta: 1}, Session: 1, Sequence: 1}, time.Second},
		"a read":               {op.Request{Op: op.Get{Key: []byte("k")}}, 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				n := newOutsider(t, &scriptedPeers{script: []any{silence{}, op.Result{Number: 1}}})
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				defer cancel()
				start := time.Now()
				res := n.Do(ctx, tc.req)
				if took := time.Since(start) - tc.want; res.Err != nil || took < 0 || took > maxPause {
					t.Errorf("%+v, %v over %v; want an answer soon after", res, took, tc.want)
				}
			})
		})
	}
}

func TestARequestTriesAllReplicasOfItsGroup(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		peers := &scriptedPeers{script: []any{errUnsent}}
		n := newOutsider(t, peers)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		n.Do(ctx, op.Request{Op: op.Get{Key: []byte("k")}})
		for _, id := range []string{"n1", "n2", "n3"} {
			if !slices.Contains(peers.asked, id) {
				t.Errorf("%s was not asked", id)
			}
		}
	})
}

func TestDoEndsWithTheNode(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		n := newOutsider(t, &scriptedPeers{script: []any{errUnsent}})
		time.AfterFunc(time.Second, n.stop)
		start := time.Now()
		if res := n.Do(t.Context(), op.Request{Op: op.Get{Key: []byte("k")}}); !errors.Is(res.Err, op.ErrUnavailable) {
			t.Errorf("got %+v, want unavailable", res)
		}
		if took := time.Since(start); took != time.Second {
			t.Errorf("it went on for %v after the node's end", took-time.Second)
		}
	})
}

func TestForwardedRequestsAreBoundedAndForMembers(t *testing.T) {
	t.Parallel()
	n := newOutsider(t, &scriptedPeers{})
	call := func(from Caller, body []byte) (op.Result, error) {
		b, err := n.HandleCall(t.Context(), from, append([]byte{byte(callServe)}, body...))
		if err != nil {
			return op.Result{}, err
		}
		return op.DecodeResult(b)
	}
	member := Caller{Node: "n1", Member: true}
	req := op.Request{Op: op.Get{Key: []byte("k")}}
	encoded := req.AppendTo(nil)
	for range maxForwarded + 1 {
		if res, err := call(member, encoded); err != nil || res.Err == nil || res.Err.Kind != op.KindWrongNode {
			t.Fatalf("one after the other: %+v, %v; want another node's name", res, err)
		}
	}
	for range maxForwarded {
		n.forwarded <- struct{}{}
	}
	if res, err := call(member, encoded); err != nil || res.Err == nil || res.Err.Kind != op.KindUnavailable {
		t.Errorf("one too many at once: %+v, %v; want unavailable", res, err)
	}
	for range maxForwarded {
		<-n.forwarded
	}
	if res, err := call(member, encoded[:3]); err != nil || res.Err == nil || res.Err.Kind != op.KindInvalid {
		t.Errorf("half a request: %+v, %v; want a refusal", res, err)
	}
	if _, err := call(Caller{Node: "n9"}, encoded); !errors.Is(err, errStranger) {
		t.Errorf("a stranger's request: %v, want %v", err, errStranger)
	}
}
