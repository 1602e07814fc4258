package raftfsm

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/cespare/xxhash/v2"

	"github.com/ringraft/ringraft/op"
)

const (
	// sessionCost is what a session costs in logical bytes, answerCost what an answer
	// does beside its encoding: about what they take in memory.
	sessionCost = 128
	answerCost  = 64
)

// session is what a group keeps of a client's session.
type session struct {
	id       uint64
	ttl      int64    // ms, of the group's time
	deadline int64    // ttl after its last use; from then on it has ended
	floor    uint64   // all lower sequences are acknowledged; at least 1
	answers  []answer // not acknowledged, by ascending sequence

	place int    // in the order of ends
	bytes int64  // logical, of the session and its answers
	sum   uint64 // of the terms of both
}

// answer is the encoded result of the command with that sequence. It owns its memory
// and never changes.
type answer struct {
	sequence uint64
	encoded  []byte
}

func (a answer) cost() int64 { return answerCost + int64(len(a.encoded)) }

func (a answer) term(session uint64) uint64 {
	return term(termAnswer, session, a.sequence, xxhash.Sum64(a.encoded), 0, 0)
}

// result returns the answer as it was given, but for its memory.
func (a answer) result() op.Result {
	res, err := op.DecodeResult(a.encoded)
	if err != nil {
		return op.Fail(op.UnknownOutcome("the stored answer is damaged: %v", err))
	}
	return res
}

// term is that of the session without its answers.
func (x *session) term() uint64 {
	return term(termSession, x.id, uint64(x.ttl), uint64(x.deadline), x.floor, 0)
}

// find returns the place of the answer to sequence, or where it would be put.
func (x *session) find(sequence uint64) (place int, answered bool) {
	return slices.BinarySearchFunc(x.answers, sequence, func(a answer, sequence uint64) int {
		return cmp.Compare(a.sequence, sequence)
	})
}

// recount sets bytes and sum from all the rest.
func (x *session) recount() {
	x.bytes, x.sum = sessionCost, x.term()
	for _, a := range x.answers {
		x.bytes += a.cost()
		x.sum += a.term(x.id)
	}
}

// own gives the answers memory of their own.
func (x *session) own() {
	for i := range x.answers {
		x.answers[i].encoded = bytes.Clone(x.answers[i].encoded)
	}
}
