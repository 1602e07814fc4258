package op

import (
	"fmt"

	"github.com/ringraft/ringraft/internal/mutant"
)

// overlay is a State on top of another that keeps its changes to itself: a rehearsal,
// by which a write learns whether all its parts would succeed before the first of
// them changes anything. What fits here fits below: grown counts all that must stay,
// the protected records and those that the write leaves.
type overlay struct {
	State
	changed map[string]*Record // nil: removed
	grown   int64              // bytes by which the records that must stay have grown
	full    *Error             // of an Amend, which can't return it
}

func newOverlay(s State) *overlay {
	return &overlay{State: s, changed: map[string]*Record{}}
}

func (o *overlay) Lookup(key []byte) (Record, bool) {
	rec, ok := o.changed[string(key)]
	if !ok {
		return o.State.Lookup(key)
	}
	if rec == nil {
		return Record{}, false
	}
	return *rec, true
}

// Store keeps r without a version: it gets one when the write is real, and nothing
// can be asked about it before.
func (o *overlay) Store(key []byte, r Record) (version uint64, replaced bool, err *Error) {
	_, replaced = o.Lookup(key)
	r.Version = 0
	o.set(key, &r)
	return 0, replaced, o.fits()
}

func (o *overlay) Amend(key []byte, deadline int64, protected bool) uint64 {
	rec, found := o.Lookup(key)
	if !found {
		return 0
	}
	before := o.grown
	rec.Deadline, rec.Protected, rec.Version = deadline, protected, 0
	if o.set(key, &rec); o.grown > before && o.full == nil {
		o.full = o.fits()
	}
	return 0
}

func (o *overlay) Remove(key []byte) (uint64, bool) {
	_, found := o.Lookup(key)
	if found {
		o.set(key, nil)
	}
	return 0, found
}

// set changes what stands at key, nil for nothing, and the count with it.
func (o *overlay) set(key []byte, rec *Record) {
	before, again := o.changed[string(key)]
	if !again {
		if old, found := o.State.Lookup(key); found && old.Protected {
			before = &old
		}
	}
	o.grown += o.cost(key, rec) - o.cost(key, before)
	o.changed[string(key)] = rec
}

func (o *overlay) cost(key []byte, rec *Record) int64 {
	if rec == nil {
		return 0
	}
	return o.Cost(len(key), len(rec.Value))
}

// fits fails if what must stay leaves no room for what the write has stored so far.
func (o *overlay) fits() *Error { return o.State.Room(o.grown) }

// applyAll runs the operations in order, all of them or none: it rehearses them
// first. The error is that of the first one that would be refused; one whose
// condition does not hold counts as refused, since it is part of a whole.
func applyAll(s State, ops []Op) ([]Result, *Error) {
	if _, err := rehearse(newOverlay(s), ops); err != nil && !mutant.PartialTxn {
		return nil, err
	}
	results := make([]Result, len(ops))
	s.Together(func() {
		for i, o := range ops {
			results[i] = run(s, o)
		}
	})
	return results, nil
}

// rehearse returns the results that the operations would have, or why they, or an
// answer that holds all their results, would fail.
func rehearse(s *overlay, ops []Op) ([]Result, *Error) {
	results := make([]Result, len(ops))
	size := 0
	for i, o := range ops {
		res := run(s, o)
		results[i] = res
		size += res.Payload()
		switch {
		case res.Err != nil:
			return nil, res.Err
		case s.full != nil:
			return nil, s.full
		case res.Unmet:
			return nil, &Error{Kind: KindConflict, Field: "cond", Message: fmt.Sprintf("of operation %d (%s) does not hold", i, o.Code())}
		case size > MaxPayload:
			return nil, errAnswerTooLarge()
		}
	}
	return results, nil
}

func errAnswerTooLarge() *Error {
	return Invalid("txn", "its answer would exceed %d bytes; read fewer values", MaxPayload)
}

func run(s State, o Op) Result {
	switch o := o.(type) {
	case Write:
		return o.Apply(s)
	case Read:
		return o.Read(s)
	}
	return Fail(Invalid("ops", "%s cannot be part of a transaction", o.Code()))
}
