package shard

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/ringraft/ringraft/internal/mutant"
	"github.com/ringraft/ringraft/op"
)

// patience is how long a read at level Session waits for a replica that is behind.
// A busy group's followers lag by a round trip. Those of an idle one learn of its last
// entry by a notice, some ms later. Where that is lost it takes seconds: then the leader
// is asked.
const patience = 20 * time.Millisecond

// read answers o at a level within its bound, see op.Request.
func (g *group) read(o op.Read, level op.Level, bound uint64, reply op.Replier) {
	switch level {
	case op.Session:
		g.readSession(o, bound, reply)
	case op.Bounded:
		g.freshness.add(time.Duration(bound)*time.Millisecond, func(fresh bool) {
			if fresh {
				g.readNow(o, reply)
			} else {
				reply.Reply(op.Fail(g.behind("cannot show how old it is")))
			}
		})
	case op.Linearizable:
		g.reads.add(func(_ uint64, err *op.Error) {
			if err != nil {
				reply.Reply(op.Fail(err))
			} else {
				g.readWhole(o, reply)
			}
		})
	default:
		if !g.replica.caughtUp() {
			reply.Reply(op.Fail(g.behind("has started and is catching up")))
		} else {
			g.readNow(o, reply)
		}
	}
}

// readNow answers o from the state as it is. The answer's values lie in memory that is
// used again, since reply keeps nothing.
func (g *group) readNow(o op.Read, reply op.Replier) {
	lent := g.node.values.Get().(*[]byte)
	res, memory := g.fsm.ReadInto((*lent)[:0], o, g.node.cfg.Clock(), g.hint)
	reply.Reply(res)
	if cap(memory) <= keptMemory {
		*lent = memory
	}
	g.node.values.Put(lent)
}

// sessionRead waits for the replica to reach the bound.
type sessionRead struct {
	bound uint64
	op    op.Read
	reply op.Replier
}

// readSession answers o if the state has reached bound; without a bound, as at level
// Local.
func (g *group) readSession(o op.Read, bound uint64, reply op.Replier) {
	switch {
	case bound == 0:
		g.read(o, op.Local, 0, reply)
	case g.shows(bound):
		g.readNow(o, reply)
	case !g.sessions.add(sessionRead{bound, o, reply}):
		reply.Reply(op.Fail(g.behind("has too many session reads waiting, or is stopping")))
	}
}

// shows reports whether the state has reached bound, which is over 0.
func (g *group) shows(bound uint64) bool { return mutant.SessionAtOnce || g.fsm.Applied() >= bound }

// sessionRound gives all who wait the same patience, and answers the lowest bounds first.
func (g *group) sessionRound(ctx context.Context, waiting []sessionRead) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	slices.SortFunc(waiting, func(a, b sessionRead) int { return cmp.Compare(a.bound, b.bound) })
	for _, r := range waiting {
		if err := g.fsm.Wait(ctx, r.bound); err != nil {
			g.notReached(r)
		} else {
			g.readNow(r.op, r.reply)
		}
	}
}

// notReached answers a read whose bound lies past this replica's state. A leader that a
// majority has confirmed since has all that anybody has seen: what lies past its state
// was seen in another log, as before a restore.
func (g *group) notReached(r sessionRead) {
	if g.replica.readyTerm() == 0 {
		r.reply.Reply(op.Fail(g.behind("has not reached index %d", r.bound)))
		return
	}
	g.reads.add(func(_ uint64, err *op.Error) {
		applied := g.fsm.Applied()
		switch {
		case err != nil:
			r.reply.Reply(op.Fail(err))
		case applied < r.bound:
			r.reply.Reply(op.Fail(op.Invalid("bound", "is index %d, as a session token or an answer told; "+
				"the log of group %d ends at %d: that was before a restore, or in another cluster", r.bound, g.id, applied)))
		default:
			g.readNow(r.op, r.reply)
		}
	})
}

// learnIndex returns the leader's read index.
func (g *group) learnIndex(ctx context.Context) (uint64, error) {
	leader := g.replica.leaderNode()
	if leader == "" || leader == g.node.cfg.ID {
		return g.reads.index(ctx)
	}
	return g.node.askIndex(ctx, leader, g.id)
}
