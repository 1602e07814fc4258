package shard

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/ringraft/ringraft/op"
)

// callKind says what a request from another node asks. Requests and answers are
// the kind's byte and a document in MessagePack.
type callKind byte

const (
	callGreet    callKind = 1  // formation: greeting → greeting; the only one for strangers
	callConfirm  callKind = 2  // is this term still yours? confirmation → yes or no
	callDigest   callKind = 3  // your digest at an index: digestQuestion → digestAnswer
	callTouch    callKind = 4  // keys that reads used: touchRequest → nothing
	callStatus   callKind = 5  // nothing → op.NodeStatus
	callPropose  callKind = 6  // a metaCommand for the meta leader → proposal
	callTransfer callKind = 7  // an op.Transfer for a group's leader → proposal
	callIndex    callKind = 8  // a group, for its leader → the read index
	callServe    callKind = 9  // an op.Request → op.Result
	callReport   callKind = 10 // a report of a node that is gone, or back → nothing
)

// Caller is who sends a call, as the handshake showed.
type Caller struct {
	Node, Incarnation string
	Member            bool // of this node's cluster
}

type touchRequest struct {
	Group uint64   `codec:"group"`
	Keys  [][]byte `codec:"keys"`
}

// proposal is the outcome of a change that another node carried out.
type proposal struct {
	Epoch  uint64  `codec:"epoch"`
	Leader string  `codec:"leader"` // of a transfer: who leads now
	Kind   op.Kind `codec:"kind"`   // of the error, 0 if there was none
	Field  string  `codec:"field"`
	Text   string  `codec:"text"`
}

func (p proposal) err() *op.Error {
	if p.Kind == 0 {
		return nil
	}
	return &op.Error{Kind: p.Kind, Field: p.Field, Message: p.Text}
}

func failedProposal(err *op.Error) proposal {
	return proposal{Kind: err.Kind, Field: err.Field, Text: err.Message}
}

// errStranger refuses a call from outside the cluster.
var errStranger = errors.New("this call is for members of the cluster")

// HandleCall answers another node's call.
func (n *Node) HandleCall(ctx context.Context, from Caller, request []byte) ([]byte, error) {
	if len(request) == 0 {
		return nil, errors.New("an empty call")
	}
	kind, body := callKind(request[0]), request[1:]
	if kind == callGreet {
		return answer(body, n.greet)
	}
	if !from.Member {
		return nil, errStranger
	}
	switch kind {
	case callConfirm:
		return n.confirmTerm(body)
	case callIndex:
		return n.tellIndex(ctx, body)
	case callServe:
		return n.serveCall(ctx, body), nil
	case callReport:
		return nil, n.succession.hear(from.Node, body)
	case callDigest:
		return answer(body, n.digestAt)
	case callTouch:
		return answer(body, n.takeTouches)
	case callStatus:
		return op.EncodeDetail(n.status()), nil
	case callPropose:
		return answer(body, func(c metaCommand) proposal { return n.proposeHere(ctx, c) })
	case callTransfer:
		return answer(body, func(o op.Transfer) proposal { return n.transferHere(ctx, o) })
	}
	return nil, fmt.Errorf("call kind %d is unknown here", kind)
}

// answer decodes a call's document, and encodes what handle says to it.
func answer[Q, A any](body []byte, handle func(Q) A) ([]byte, error) {
	var q Q
	if err := op.DecodeDetail(body, &q); err != nil {
		return nil, fmt.Errorf("malformed call: %w", err)
	}
	return op.EncodeDetail(handle(q)), nil
}

// ask calls node with a document and decodes its answer into a, a pointer.
func (n *Node) ask(ctx context.Context, node string, kind callKind, q, a any) error {
	timeout := n.cfg.Timing.Call
	if kind == callPropose || kind == callTransfer { // these wait for a quorum
		timeout = n.cfg.Timing.Write
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	b, err := n.peers.Call(ctx, node, append([]byte{byte(kind)}, op.EncodeDetail(q)...))
	if err != nil {
		return err
	}
	return op.DecodeDetail(b, a)
}

// unanswered is the outcome of a change that node was asked for, if the call ended
// with err.
func unanswered(node string, err error) proposal {
	if notHandled(err) {
		return failedProposal(op.Unavailable("node %s cannot be asked: %v", node, err))
	}
	return failedProposal(op.UnknownOutcome("node %s did not answer: %v", node, err))
}

// notHandled reports whether a call that ended with err has certainly done nothing.
func notHandled(err error) bool {
	var e interface{ NotHandled() bool }
	return errors.As(err, &e) && e.NotHandled()
}

// confirm asks a voter whether term is still its term. This call is on the way of
// every linearizable read, so it is encoded by hand: group and term, then one byte.
func (n *Node) confirm(ctx context.Context, node string, group, term uint64) bool {
	b := binary.BigEndian.AppendUint64([]byte{byte(callConfirm)}, group)
	b = binary.BigEndian.AppendUint64(b, term)
	reply, err := n.peers.Call(ctx, node, b)
	return err == nil && len(reply) == 1 && reply[0] == 1
}

func (n *Node) confirmTerm(body []byte) ([]byte, error) {
	if len(body) != 16 {
		return nil, fmt.Errorf("a confirmation has 16 bytes, not %d", len(body))
	}
	r := n.replica(binary.BigEndian.Uint64(body))
	if r != nil && r.raft.CurrentTerm() == binary.BigEndian.Uint64(body[8:]) {
		return []byte{1}, nil
	}
	return []byte{0}, nil
}

// askIndex asks node, as a group's leader, for its read index: eight bytes for a group,
// eight for an index.
func (n *Node) askIndex(ctx context.Context, node string, group uint64) (uint64, error) {
	reply, err := n.peers.Call(ctx, node, binary.BigEndian.AppendUint64([]byte{byte(callIndex)}, group))
	if err != nil {
		return 0, err
	}
	if len(reply) != 8 {
		return 0, fmt.Errorf("an index has 8 bytes, not %d", len(reply))
	}
	return binary.BigEndian.Uint64(reply), nil
}

func (n *Node) tellIndex(ctx context.Context, body []byte) ([]byte, error) {
	if len(body) != 8 {
		return nil, fmt.Errorf("a group has 8 bytes, not %d", len(body))
	}
	g := n.group(binary.BigEndian.Uint64(body))
	if g == nil {
		return nil, fmt.Errorf("group %d is not served here", binary.BigEndian.Uint64(body))
	}
	index, err := g.reads.index(ctx)
	if err != nil {
		return nil, err
	}
	return binary.BigEndian.AppendUint64(nil, index), nil
}

// takeTouches queues the touches of another node's reads.
func (n *Node) takeTouches(t touchRequest) struct{} {
	if g := n.group(t.Group); g != nil && g.replica.readyTerm() != 0 && len(t.Keys) <= touchQueue {
		g.touches.add(t.Keys)
	}
	return struct{}{}
}
