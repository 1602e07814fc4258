package shard

import (
	"context"

	"github.com/ringraft/ringraft/op"
	"github.com/ringraft/ringraft/raftfsm"
)

// maxResolved is how many transactions a group's leader resolves in one go.
const maxResolved = 64

// resolve ends, as the leader, what coordinators have left undone past the deadline.
func (g *group) resolve() {
	if g.replica.readyTerm() == 0 {
		return
	}
	left := g.fsm.Unresolved(g.node.cfg.Clock(), maxResolved)
	if len(left) == 0 || !g.resolving.CompareAndSwap(false, true) {
		return
	}
	started := g.node.background.start(func() {
		defer g.resolving.Store(false)
		ctx, cancel := context.WithTimeout(g.node.ctx, g.node.cfg.Timing.Write)
		defer cancel()
		done := make(chan struct{}, len(left))
		for _, u := range left {
			go func() {
				defer func() { done <- struct{}{} }()
				g.resolveOne(ctx, u)
			}()
		}
		for range left {
			<-done
		}
	})
	if !started {
		g.resolving.Store(false)
	}
}

// resolveOne asks the home group about a part, and has it abort if it has not decided,
// or tells the participants of a decision to commit.
func (g *group) resolveOne(ctx context.Context, u raftfsm.Unresolved) {
	slots, commit := u.Participants, true
	if u.Part {
		res := g.node.Do(ctx, op.Request{Op: op.Decide{Attempt: u.Attempt}})
		if res.Err != nil {
			g.log.Warn("a transaction's outcome is not known yet", "home", u.Attempt.Home, "err", res.Err)
			return
		}
		slots, commit = []uint16{u.Slot}, res.Number == int64(op.Committed)
	}
	for _, slot := range slots {
		if res := g.node.Do(ctx, op.Request{Op: op.Finish{Attempt: u.Attempt, OnSlot: slot, Commit: commit}}); res.Err != nil {
			g.log.Warn("a transaction's part is not finished yet", "slot", slot, "err", res.Err)
			return
		}
	}
	if !u.Part {
		g.node.Do(ctx, op.Request{Op: op.Forget{Attempt: u.Attempt}})
	}
}
