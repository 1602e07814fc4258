package raftfsm

import (
	"cmp"
	"slices"

	"github.com/cespare/xxhash/v2"

	"github.com/ringraft/ringraft/op"
)

const (
	// answerCost is what an answer costs in logical bytes beside its encoding: about what
	// it takes in memory.
	answerCost = 64
	// shortAnswer is the bytes of an encoding that need no memory of their own: that to a
	// Set has 14 at most.
	shortAnswer = 15
)

// answer is the encoded result of the command with that sequence. It never changes, and
// copies share nothing but memory that does not.
type answer struct {
	sequence uint64
	term     uint64 // of the digest
	long     string // the encoding, if it is not short
	length   uint8  // of short
	short    [shortAnswer]byte
}

// newAnswer returns the answer to a command of a session, with a copy of the encoding.
func newAnswer(session, sequence uint64, encoded []byte) answer {
	a := answer{sequence: sequence, term: term(termAnswer, session, sequence, xxhash.Sum64(encoded), 0, 0)}
	if len(encoded) > shortAnswer {
		a.long = string(encoded)
	} else {
		a.length = uint8(copy(a.short[:], encoded))
	}
	return a
}

func (a *answer) size() int   { return int(a.length) + len(a.long) }
func (a *answer) cost() int64 { return answerCost + int64(a.size()) }

// appendTo appends the encoding.
func (a *answer) appendTo(b []byte) []byte {
	return append(append(b, a.short[:a.length]...), a.long...)
}

// result returns the answer as it was given, but for its memory.
func (a *answer) result() op.Result {
	res, err := op.DecodeResult(a.appendTo(nil))
	if err != nil {
		return op.Fail(op.UnknownOutcome("the stored answer is damaged: %v", err))
	}
	return res
}

// answers are those of a session, by ascending sequence. As they come at the end and go
// from the front, mostly, they move only where the end of their memory is reached.
type answers struct {
	memory []answer
	first  int // in memory; what is before it is zero
}

// list returns all answers. It is good until the next change.
func (q *answers) list() []answer { return q.memory[q.first:] }

func (q *answers) len() int { return len(q.memory) - q.first }

// find returns the place in the list of the answer to sequence, or where it would be put.
func (q *answers) find(sequence uint64) (place int, answered bool) {
	if n := q.len(); n == 0 || sequence > q.memory[len(q.memory)-1].sequence {
		return n, false
	}
	return slices.BinarySearchFunc(q.list(), sequence, func(a answer, sequence uint64) int {
		return cmp.Compare(a.sequence, sequence)
	})
}

// insert puts an answer at the place that find has told.
func (q *answers) insert(place int, a answer) {
	if len(q.memory) == cap(q.memory) && 2*q.first >= len(q.memory) {
		n := copy(q.memory, q.list())
		clear(q.memory[n:])
		q.memory, q.first = q.memory[:n], 0
	}
	q.memory = slices.Insert(q.memory, q.first+place, a)
}

// drop takes the first n answers away.
func (q *answers) drop(n int) {
	clear(q.memory[q.first : q.first+n])
	if q.first += n; q.first == len(q.memory) {
		q.memory, q.first = q.memory[:0], 0
	}
}
