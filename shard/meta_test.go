package shard

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/ringraft/ringraft/internal/bubble"
	"github.com/ringraft/ringraft/op"
	"github.com/ringraft/ringraft/placement"
	"github.com/ringraft/ringraft/shard/storage"
)

// oneWayPeers is a network in which a node reaches the others, but not they it: its
// Raft instances hear nothing. n3 leads the meta group.
type oneWayPeers struct {
	proposed []metaCommand
	asked    []string
	done     func()
}

func (p *oneWayPeers) Transport(id raft.ServerID) raft.Transport {
	_, t := raft.NewInmemTransport(raft.ServerAddress(id))
	return t
}

func (p *oneWayPeers) Reachable(node string) bool                  { return node != "n4" }
func (p *oneWayPeers) Join(string)                                 {}
func (p *oneWayPeers) Base(raft.ServerID, uint64, uint64)          {}
func (p *oneWayPeers) Settle(context.Context, raft.ServerID) error { return nil }
func (p *oneWayPeers) Stand(raft.ServerID) error                   { return nil }

func (p *oneWayPeers) Call(_ context.Context, node string, request []byte) ([]byte, error) {
	if callKind(request[0]) != callPropose {
		return nil, errStranger
	}
	p.asked = append(p.asked, node)
	if node != "n3" {
		return op.EncodeDetail(failedProposal(op.Unavailable("this node does not lead the meta group"))), nil
	}
	var c metaCommand
	if err := op.DecodeDetail(request[1:], &c); err != nil {
		return nil, err
	}
	p.proposed = append(p.proposed, c)
	p.done()
	return op.EncodeDetail(proposal{Epoch: 2}), nil
}

type unsent struct{ error }

func (unsent) NotHandled() bool { return true }

// TestChangeThatReachedNobodyDidNotHappen: a caller may repeat it.
func TestChangeThatReachedNobodyDidNotHappen(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err  error
		want error
	}{
		"no connection":            {fmt.Errorf("call: %w", unsent{errors.New("connection refused")}), op.ErrUnavailable},
		"a connection that broke":  {errors.New("connection reset"), op.ErrUnknownOutcome},
		"an answer that is late":   {context.DeadlineExceeded, op.ErrUnknownOutcome},
		"a refusal of the handler": {errStranger, op.ErrUnknownOutcome},
	} {
		if got := unanswered("n2", c.err).err(); !errors.Is(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestNodeWithANewAddressMakesItKnownBeforeTheLeaderReachesIt(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		store, err := storage.NewMemory(storage.Config{Node: "n1"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		members := map[string]string{"n1": store.Identity().Incarnation, "n2": "b", "n3": "c", "n4": "d"}
		var nodes []placement.Node
		for _, id := range sortedKeys(members) {
			nodes = append(nodes, placement.Node{ID: id, Incarnation: members[id], Native: id + ":1", Peer: id + ":2"})
		}
		m, err := placement.New("c", nodes, 1, 3, placement.Settings{})
		if err != nil {
			t.Fatal(err)
		}
		if err := store.Form("c", members); err != nil {
			t.Fatal(err)
		}
		if err := store.SaveMap(op.EncodeDetail(m)); err != nil {
			t.Fatal(err)
		}

		n, err := New(Config{ID: "n1", Native: "n1:1", Peer: "moved:2", Store: store})
		if err != nil {
			t.Fatal(err)
		}
		ctx, done := context.WithTimeout(t.Context(), time.Minute)
		p := &oneWayPeers{done: done}
		if err := n.Start(ctx, p); err != nil {
			t.Fatal(err)
		}
		<-ctx.Done()
		if err := n.Close(); err != nil {
			t.Fatal(err)
		}
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
		if len(p.proposed) == 0 || p.proposed[0].Node == nil || p.proposed[0].Node.Peer != "moved:2" {
			t.Fatalf("proposed to the leader: %+v; want n1 at moved:2", p.proposed)
		}
		if slices.Contains(p.asked, "n1") || slices.Contains(p.asked, "n4") {
			t.Errorf("asked %v; want only nodes that can be reached", p.asked)
		}
	})
}
