package shard

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/ringraft/ringraft/internal/bubble"
	"github.com/ringraft/ringraft/placement"
)

// listening is a node of one follower in a trio, whose listener looks when a test says so.
type listening struct {
	*listener
	t        *testing.T
	follower *replica
	leader   string
}

func newListening(t *testing.T, g *ensemble) *listening {
	leader, followers := g.leader()
	n := &Node{cfg: Config{ID: nodeOf(followers[0].id), Timing: followers[0].timing}, log: slog.New(slog.DiscardHandler)}
	n.peers = fabricPeers{g.networks[n.cfg.ID]}
	n.current.Store(new(placement.Map))
	n.meta.Store(&meta{replica: followers[0]})
	n.ctx, n.stop = context.WithCancel(t.Context())
	n.succession = newSuccession(n)
	t.Cleanup(func() {
		n.stop()
		if err := n.background.close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return &listening{newListener(n), t, followers[0], nodeOf(leader.id)}
}

// looks looks at every beat for a while, and wants the leader to be called silent in the end, or not.
func (l *listening) looks(what string, while time.Duration, silent bool) {
	l.t.Helper()
	for end := time.Now().Add(while); time.Now().Before(end); {
		time.Sleep(untilNext(l.beat))
		l.look([]*replica{l.follower}, time.Now())
	}
	if l.silent[l.leader] != silent {
		l.t.Errorf("%s, its leader is called silent: %v", what, !silent)
	}
}

func TestListener(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		g := newTrio(t, nil)
		defer g.close()
		l := newListening(t, g)
		l.looks("while it is heard", 10*l.patience, false)
		g.fabric.Isolate(l.node.cfg.ID)
		l.looks("after less than the timeout", l.patience/2, false)
		l.looks("after the timeout", l.patience, true)
		g.fabric.HealAll()
		g.leader()
		l.looks("since all is well", l.patience, false)
		if !l.follower.raft.LastContact().After(time.Now().Add(-l.patience)) {
			t.Fatal("the follower hears no leader")
		}
	})
}

// TestWhoStoodStillJudgesNobody: after a pause it has heard of nobody.
func TestWhoStoodStillJudgesNobody(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		g := newTrio(t, nil)
		defer g.close()
		l := newListening(t, g)
		l.looks("while it is heard", 2*l.patience, false)
		g.fabric.Isolate(l.node.cfg.ID)
		time.Sleep(3 * l.beat) // nobody looks
		l.looks("just after a pause", l.beat, false)
	})
}
