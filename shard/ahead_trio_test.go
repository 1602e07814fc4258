package shard

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/ringraft/ringraft/internal/bubble"
	"github.com/ringraft/ringraft/op"
)

func propose(r *replica) raft.ApplyFuture {
	return r.raft.Apply(op.EncodeDetail(metaCommand{}), 0)
}

// TestReplicaIsClosedAmidAHungWrite: what is proposed is committed, for Raft, and never applied
// here.
func TestReplicaIsClosedAmidAHungWrite(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		g := newTrio(t, nil)
		defer g.close()
		leader, _ := g.leader()
		works := make(chan struct{})
		g.disks[nodeOf(leader.id)].onLog(func() error { <-works; return nil })
		outcome := make(chan proposal, 1)
		leader.calls.start(func() { outcome <- proposalOf(propose(leader)) })
		time.Sleep(time.Second)
		go func() { time.Sleep(20 * time.Second); close(works) }()
		g.stop(nodeOf(leader.id))
		if p := <-outcome; p.Kind != op.KindUnknown {
			t.Errorf("the outcome of the proposal is %+v, want it unknown", p)
		}
	})
}

// TestOneFailedWriteLeavesAGroupThatAnswers: what the leader gives Raft to store, so as to give way, is
// applied like all else.
func TestOneFailedWriteLeavesAGroupThatAnswers(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		g := newTrio(t, nil)
		defer g.close()
		leader, _ := g.leader()
		var writes atomic.Int32
		g.disks[nodeOf(leader.id)].onLog(func() error {
			if writes.Add(1) == 1 {
				return errors.New("input/output error")
			}
			return nil
		})
		_ = propose(leader).Error() // of either outcome
		time.Sleep(time.Minute)
		leader, _ = g.leader()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := leader.machine.Wait(ctx, leader.raft.CommitIndex()); err != nil {
			t.Errorf("what is committed is not applied: %v", err)
		}
	})
}

// TestLinearizableReadsDoNotWaitForTheDisk: what is not on the leader's disk, nobody was told of.
func TestLinearizableReadsDoNotWaitForTheDisk(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		g := newTrio(t, nil)
		defer g.close()
		leader, _ := g.leader()
		works := make(chan struct{})
		g.disks[nodeOf(leader.id)].onLog(func() error { <-works; return nil })
		defer time.Sleep(time.Second) // for what is written then
		defer close(works)
		propose(leader)
		time.Sleep(time.Second)
		ri := newReadIndex(leader, func(context.Context, raft.ServerID, uint64) bool { return true }, func() *op.Error { return nil }, func(proof) {}, leader.timing.ReadIndex)
		defer ri.close()
		began := time.Now()
		if _, err := ri.index(t.Context()); err != nil || time.Since(began) > leader.timing.ReadIndex/2 {
			t.Errorf("a read while the disk hangs: %v, after %v", err, time.Since(began))
		}
	})
}

// TestReplicaWhoseLogFailsIsStillThere: it is sent a snapshot, and goes on answering.
func TestReplicaWhoseLogFailsIsStillThere(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		g := newTrio(t, nil)
		defer g.close()
		leader, _ := g.leader()
		name, works := nodeOf(leader.id), make(chan struct{})
		g.disks[name].onLog(func() error { <-works; return errors.New("input/output error") })
		propose(leader)
		time.Sleep(time.Second)
		close(works)
		time.Sleep(5 * time.Second)
		next, _ := g.leader()
		for range 50 {
			if err := propose(next).Error(); err != nil {
				t.Fatal(err)
			}
		}
		conf := next.raft.ReloadableConfig()
		conf.TrailingLogs = 2
		if err := errors.Join(next.raft.ReloadConfig(conf), next.raft.Snapshot().Error()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		answered := make(chan error, 1)
		go func() { answered <- leader.raft.VerifyLeader().Error() }() // Raft's main loop answers
		select {
		case <-answered:
		case <-time.After(10 * time.Second):
			t.Error("it answers nothing")
		}
		g.disks[name].onLog(nil)
		time.Sleep(time.Minute)
		if applied, want := leader.machine.Applied(), next.machine.Applied(); applied != want {
			t.Errorf("its log works again, and it has applied %d of %d", applied, want)
		}
	})
}
