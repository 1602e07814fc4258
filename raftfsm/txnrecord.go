package raftfsm

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cespare/xxhash/v2"

	"github.com/ringraft/ringraft/lru"
	"github.com/ringraft/ringraft/op"
)

const (
	// txnCost is what a transaction's record costs in logical bytes beside its encoding,
	// lockCost what a lock does beside its key: about what they take in memory.
	txnCost  = 192
	lockCost = 64
)

// A record's kind is the first byte of its key and of its block in a snapshot.
const (
	partKind     = 'p'
	decisionKind = 'd'
)

// txnRecord is what a group keeps of a transaction over several groups: its part in an
// attempt, or its decision. It owns its memory and never changes: another one takes its
// place.
type txnRecord struct {
	key      string
	part     *op.Part     // or
	decision *op.Decision // of the two, one
	encoded  []byte
	bytes    int64 // logical
}

func partKey(a op.Attempt) string {
	return string(binary.BigEndian.AppendUint64(append([]byte{partKind}, a.ID...), a.Number))
}

func decisionKey(id []byte) string { return string(append([]byte{decisionKind}, id...)) }

func newPartRecord(p op.Part) *txnRecord {
	r, err := decodeTxn(p.AppendTo([]byte{partKind}))
	if err != nil {
		panic(fmt.Sprintf("a part cannot be read back: %v", err)) // it was built from operations that were
	}
	return r
}

func newDecisionRecord(d op.Decision) *txnRecord {
	r, err := decodeTxn(d.AppendTo([]byte{decisionKind}))
	if err != nil {
		panic(fmt.Sprintf("a decision cannot be read back: %v", err))
	}
	return r
}

// decodeTxn returns the record of a block, whose memory it takes over.
func decodeTxn(block []byte) (*txnRecord, error) {
	if len(block) == 0 {
		return nil, errors.New("an empty transaction")
	}
	r := &txnRecord{encoded: block[1:], bytes: txnCost + int64(len(block))}
	switch block[0] {
	case partKind:
		p, err := op.DecodePart(r.encoded)
		if err != nil {
			return nil, err
		}
		r.part, r.key = &p, partKey(p.Attempt)
		for _, key := range p.Keys {
			r.bytes += lockCost + int64(len(key))
		}
		for _, e := range p.Effects {
			r.bytes += lru.Cost(len(e.Key), len(e.Record.Value))
		}
	case decisionKind:
		d, err := op.DecodeDecision(r.encoded)
		if err != nil {
			return nil, err
		}
		r.decision, r.key = &d, decisionKey(d.Attempt.ID)
	default:
		return nil, fmt.Errorf("a transaction of kind %q", block[0])
	}
	return r, r.check()
}

func (r *txnRecord) block(b []byte) []byte { return append(append(b, r.key[0]), r.encoded...) }

// check refuses what no state machine of this format writes.
func (r *txnRecord) check() error {
	if len(r.attempt().ID) != op.TxnIDSize {
		return fmt.Errorf("a transaction's id of %d bytes", len(r.attempt().ID))
	}
	if p := r.part; p != nil {
		if p.Finished && len(p.Keys)+len(p.Effects) > 0 || !p.Finished && len(p.Keys) == 0 {
			return fmt.Errorf("a part with %d keys and %d effects, finished: %v", len(p.Keys), len(p.Effects), p.Finished)
		}
		return nil
	}
	d := r.decision
	if d.Outcome != op.Committed && d.Outcome != op.Aborted || (d.Ends == 0) != (len(d.Participants) > 0) {
		return fmt.Errorf("the outcome %d with %d participants, until %d", d.Outcome, len(d.Participants), d.Ends)
	}
	return nil
}

func (r *txnRecord) attempt() op.Attempt {
	if r.part != nil {
		return r.part.Attempt
	}
	return r.decision.Attempt
}

func (r *txnRecord) deadline() int64 { return r.attempt().Deadline }

// open reports whether work is left to do: to finish the part, or the participants.
func (r *txnRecord) open() bool {
	if r.part != nil {
		return !r.part.Finished
	}
	return len(r.decision.Participants) > 0
}

// ends is when a record that is not open may be forgotten. Until then a part turns away
// what was sent before it finished.
func (r *txnRecord) ends() int64 {
	if r.part != nil {
		return r.deadline() + 1
	}
	return r.decision.Ends
}

// due is when something is to be done about the record.
func (r *txnRecord) due() int64 {
	if r.open() {
		return r.deadline() + 1
	}
	return r.ends()
}

// locks are the keys that the record locks.
func (r *txnRecord) locks() [][]byte {
	if r.part == nil {
		return nil
	}
	return r.part.Keys
}

func (r *txnRecord) term() uint64 {
	return term(termTxn, xxhash.Sum64String(r.key), xxhash.Sum64(r.encoded), 0, 0, 0)
}
