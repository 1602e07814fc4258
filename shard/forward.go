package shard

import (
	"context"
	"time"

	"github.com/ringraft/ringraft/op"
)

// maxForwarded is how many requests of other nodes are served at once. It is less than
// the calls that the network between nodes handles at once, so that the short ones,
// which confirm leaders, find room beside them.
const maxForwarded = 32

// forward lets another node serve req. A request that was not delivered is
// unavailable; one without an answer is unknown, if it is not a read.
func (n *Node) forward(ctx context.Context, node string, req op.Request) op.Result {
	ctx, cancel := context.WithTimeout(ctx, n.patience(req))
	defer cancel()
	b, err := n.peers.Call(ctx, node, req.AppendTo([]byte{byte(callServe)}))
	switch {
	case err != nil && notHandled(err):
		return op.Fail(op.Unavailable("node %s was not reached: %v", node, err))
	case err != nil:
		return op.Fail(noAnswer(req, err))
	}
	return decodeAnswer(req, b)
}

// patience is how long an answer is waited for. Where a repeat does no harm, that leaves
// time to ask who leads in the place of a node that is silent.
func (n *Node) patience(req op.Request) time.Duration {
	switch class := op.SpecOf(req.Op.Code()).Class; {
	case class == op.ClassRead:
		return n.cfg.Timing.ReadIndex
	case class == op.ClassPart, req.Session != 0:
		return n.cfg.Timing.Call
	}
	return n.cfg.Timing.Write
}

// serveCall serves a request that another node forwards, and encodes the result. It
// forwards nothing itself.
func (n *Node) serveCall(ctx context.Context, body []byte) []byte {
	var res op.Result
	if req, err := op.DecodeRequest(body); err != nil {
		res = op.Fail(op.Invalid("request", "%v", err))
	} else {
		res = n.serveForwarded(ctx, req)
	}
	return res.AppendTo(nil)
}

func (n *Node) serveForwarded(ctx context.Context, req op.Request) op.Result {
	select {
	case n.forwarded <- struct{}{}:
		defer func() { <-n.forwarded }()
		return n.serveHere(ctx, req)
	default:
		return op.Fail(op.Unavailable("%d requests of other nodes are under way already", maxForwarded))
	}
}

// serveHere waits for the answer until ctx ends.
func (n *Node) serveHere(ctx context.Context, req op.Request) op.Result {
	answer := make(encodedReply, 1)
	n.serve(req, answer)
	select {
	case b := <-answer:
		return decodeAnswer(req, b)
	case <-ctx.Done():
		return op.Fail(noAnswer(req, ctx.Err()))
	}
}

// encodedReply takes an answer in bytes, since it may keep nothing that a result refers to.
type encodedReply chan []byte

func (r encodedReply) Reply(res op.Result) { r <- res.AppendTo(nil) }

func decodeAnswer(req op.Request, b []byte) op.Result {
	res, err := op.DecodeResult(b)
	if err != nil {
		return op.Fail(noAnswer(req, err))
	}
	return res
}

// noAnswer is the outcome of a request whose answer did not come.
func noAnswer(req op.Request, err error) *op.Error {
	if op.SpecOf(req.Op.Code()).Class == op.ClassRead {
		return op.Unavailable("no answer came: %v", err)
	}
	return op.UnknownOutcome("no answer came: %v", err)
}
