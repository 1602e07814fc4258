package fakenode

import (
	"context"

	"github.com/ringraft/ringraft/op"
)

// Do answers a request as any node of a real cluster does: the group's leader serves it,
// or the fault that it meets there. A request that is never answered ends with ctx.
func (c *Cluster) Do(ctx context.Context, req op.Request) op.Result {
	answer := make(encodedReply, 1)
	c.node(c.entrance(req.Op)).Serve(req, answer)
	select {
	case b := <-answer:
		res, err := op.DecodeResult(b)
		if err != nil {
			return op.Fail(op.UnknownOutcome("%v", err))
		}
		return res
	case <-ctx.Done():
		if op.SpecOf(req.Op.Code()).Class == op.ClassRead {
			return op.Fail(op.Unavailable("%v", ctx.Err()))
		}
		return op.Fail(op.UnknownOutcome("%v", ctx.Err()))
	}
}

// entrance returns the node that leads the operation's group.
func (c *Cluster) entrance(o op.Op) string {
	routed, ok := o.(op.Routed)
	if !ok || routed.NumSlots() == 0 {
		return c.Leader(0)
	}
	return c.Leader(c.Group(routed.Slot(0)))
}

// Group returns the group that owns slot.
func (c *Cluster) Group(slot uint16) uint64 { return c.Map().GroupOf(slot) }

// Cluster returns the cluster's id.
func (c *Cluster) Cluster() string { return c.Map().Cluster }

// encodedReply takes an answer in bytes, since nothing that a result refers to may be kept.
type encodedReply chan []byte

func (r encodedReply) Reply(res op.Result) { r <- res.AppendTo(nil) }
