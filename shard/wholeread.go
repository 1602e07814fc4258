package shard

import (
	"context"

	"github.com/ringraft/ringraft/op"
)

// maxLockedReads is how many reads of a group wait for transactions at once.
const maxLockedReads = 4096

// readWhole answers a linearizable read, whose index the state has reached. Where a
// transaction is prepared, the read may not see the group as it was before, since
// another group may show what comes after: it waits until that transaction is finished.
func (g *group) readWhole(o op.Read, reply op.Replier) {
	res, released := g.fsm.ReadWhole(o, g.node.cfg.Clock(), g.hints.add)
	if released == nil {
		reply.Reply(res)
		return
	}
	select {
	case g.waits <- struct{}{}:
	default:
		reply.Reply(op.Fail(op.Unavailable("%d reads of group %d wait for transactions already", maxLockedReads, g.id)))
		return
	}
	started := g.waiting.start(func() {
		defer func() { <-g.waits }()
		reply.Reply(g.awaitWhole(o, released))
	})
	if !started {
		<-g.waits
		reply.Reply(op.Fail(op.Unavailable("the replica is stopping")))
	}
}

// awaitWhole waits as long as a linearizable read may.
func (g *group) awaitWhole(o op.Read, released <-chan struct{}) op.Result {
	ctx, cancel := context.WithTimeout(g.ctx, g.node.cfg.Timing.ReadIndex)
	defer cancel()
	for {
		select {
		case <-released:
		case <-ctx.Done():
			return op.Fail(op.Unavailable("a transaction that writes what is read is not finished yet"))
		}
		var res op.Result
		if res, released = g.fsm.ReadWhole(o, g.node.cfg.Clock(), g.hints.add); released == nil {
			return res
		}
	}
}
