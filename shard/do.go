package shard

import (
	"context"
	"time"

	"github.com/ringraft/ringraft/internal/backoff"
	"github.com/ringraft/ringraft/op"
)

const (
	// maxHops is how often a request follows what a node says of where to go, before
	// it pauses: nodes that do not know of a new leader yet send it in circles.
	maxHops = 4
	// minPause and maxPause bound the pauses between tries, which double.
	minPause = 10 * time.Millisecond
	maxPause = 200 * time.Millisecond
)

// Do serves a request from wherever that can be done, here or on another node, and
// returns the answer, which the caller owns. What nobody can serve now is tried again
// until ctx ends; so is a write of unknown outcome, if a session makes a repeat
// harmless, and a part of a transaction. The last outcome counts, unless an earlier try
// may have happened: then it is unknown. A transaction with an id is tried once, since
// its id is used up.
func (n *Node) Do(ctx context.Context, req op.Request) op.Result {
	if n.meta.Load() == nil {
		return op.Fail(op.Unavailable("the node is starting"))
	}
	if req.Raw == nil {
		req.Raw = op.AppendCommand(nil, req.Command())
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(n.ctx, cancel)()
	part := op.SpecOf(req.Op.Code()).Class == op.ClassPart
	if o, ok := req.Op.(op.Txn); ok && o.Spans() {
		return n.serveHere(ctx, req)
	}
	var doubt *op.Error // why an earlier try may have happened
	for try := 0; ; try++ {
		res := n.walk(ctx, n.entrance(req.Op, try), req)
		switch {
		case res.Err == nil:
			return res
		case res.Err.Kind == op.KindUnknown && (req.Session != 0 || part):
			doubt = res.Err
		case res.Err.Kind == op.KindSessionEnded && doubt != nil:
			return op.Fail(op.UnknownOutcome("%v; asked again, %v", doubt, res.Err))
		case doubt != nil && res.OfThisTry():
		case res.Err.Kind == op.KindLocked && !part:
		case res.Err.Kind != op.KindUnavailable && res.Err.Kind != op.KindWrongNode:
			return res
		}
		if (backoff.Backoff{Min: minPause, Max: maxPause}).Pause(ctx, try) != nil {
			if doubt != nil {
				return op.Fail(doubt)
			}
			return res
		}
	}
}

// entrance returns the node to ask first at a try: this one, then one replica of the
// operation's group after the other.
func (n *Node) entrance(o op.Op, try int) string {
	routed, ok := o.(op.Routed)
	if try == 0 || !ok || routed.NumSlots() == 0 {
		return n.cfg.ID
	}
	m := n.Map()
	if placed, ok := m.Group(m.GroupOf(routed.Slot(0))); ok {
		return placed.Replicas[try%len(placed.Replicas)].Node
	}
	return n.cfg.ID
}

// walk asks node and follows what nodes say of where to go.
func (n *Node) walk(ctx context.Context, node string, req op.Request) op.Result {
	for hop := 0; ; hop++ {
		res := n.serveAt(ctx, node, req)
		if res.Err == nil || res.Err.Kind != op.KindWrongNode || res.Err.Node == "" || hop == maxHops {
			return res
		}
		node = res.Err.Node
	}
}

func (n *Node) serveAt(ctx context.Context, node string, req op.Request) op.Result {
	if node == n.cfg.ID {
		return n.serveHere(ctx, req)
	}
	return n.forward(ctx, node, req)
}
