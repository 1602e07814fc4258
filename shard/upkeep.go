package shard

import (
	"sync/atomic"
	"time"
)

// chore is what all groups hosted here do from time to time.
type chore struct {
	every time.Duration
	task  func(*group)
	done  time.Time
}

// upkeep does what time demands of all groups, in one goroutine: a ticker per group would
// cost a node of many idle groups more than all else. What waits for other nodes, a group
// does beside it.
func (n *Node) upkeep() {
	t := n.cfg.Timing
	started := time.Now()
	chores := []chore{
		{t.Janitor, (*group).tidy, started},
		{t.Heartbeat, func(g *group) { g.replica.tend() }, started},
		{t.Audit, (*group).audit, started},
		{t.Balance, (*group).settleLeader, started},
	}
	for {
		select {
		case <-n.ctx.Done():
			return
		case <-time.After(untilNext(t.Janitor)):
		}
		n.meta.Load().replica.tend() // upkeep starts after it
		now, groups := time.Now(), n.hosted()
		for i := range chores {
			if c := &chores[i]; now.Sub(c.done) >= c.every-t.Janitor/2 {
				c.done = now
				for _, g := range groups {
					c.task(g)
				}
			}
		}
	}
}

// tidy is what a leader does often.
func (g *group) tidy() {
	if g.replica.readyTerm() == 0 {
		return
	}
	g.sweep()
	g.configure()
	g.resolve()
}

// settleLeader looks whether another replica should lead, or Raft has got stuck.
func (g *group) settleLeader() {
	if g.mayHandOver() {
		g.beside(&g.balancing, g.balance)
	}
	g.unstick()
}

// beside runs what waits for other nodes in a goroutine of the group's, unless it runs.
func (g *group) beside(running *atomic.Bool, what func()) {
	if !running.CompareAndSwap(false, true) {
		return
	}
	started := g.chores.start(func() {
		defer running.Store(false)
		what()
	})
	if !started {
		running.Store(false)
	}
}
