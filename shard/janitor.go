package shard

import (
	"github.com/ringraft/ringraft/op"
)

// sweepLimit is how many expired records one operation removes: Apply must not
// stall on a million keys that end together.
const sweepLimit = 512

// replyFunc is an op.Replier for operations that the node proposes itself.
type replyFunc func(op.Result)

func (f replyFunc) Reply(res op.Result) { f(res) }

// commandOf encodes a command that the node proposes itself.
func commandOf(o op.Write) []byte { return op.AppendCommand(nil, op.Command{Op: o}) }

// sweep proposes, as the leader, to remove what has expired, so that all replicas
// and whoever follows the log see it. While more is due it goes on by itself.
func (g *group) sweep() {
	if g.replica.readyTerm() == 0 || !g.fsm.SweepDue(g.node.cfg.Clock()) || !g.sweeping.CompareAndSwap(false, true) {
		return
	}
	g.batcher.add(commandOf(op.Sweep{Limit: sweepLimit}), replyFunc(func(res op.Result) {
		g.sweeping.Store(false)
		if res.Err == nil && res.Number == sweepLimit {
			g.sweep()
		}
	}))
}

// configure proposes, as the leader, the settings of the cluster map where the
// group's are others, of an older map, so that they change at one index on all replicas.
func (g *group) configure() {
	m := g.node.Map()
	want, have := op.GroupSettings{MaxBytes: m.Settings.MaxBytes, Epoch: m.Epoch}, g.fsm.Stats().Settings
	if want.MaxBytes == have.MaxBytes || want.Epoch <= have.Epoch || g.replica.readyTerm() == 0 || !g.configuring.CompareAndSwap(false, true) {
		return
	}
	g.batcher.add(commandOf(op.Configure{Settings: want}), replyFunc(func(op.Result) {
		g.configuring.Store(false)
	}))
}
