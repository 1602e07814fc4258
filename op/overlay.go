package op

import "fmt"

// overlay is a State on top of another that keeps its changes to itself: a rehearsal,
// by which a transaction learns whether all its operations would succeed before the
// first of them changes anything. What it says fits, fits below: it counts what must
// stay, the protected records and those that the transaction writes.
type overlay struct {
	State
	changed   map[string]*Record // nil: removed
	protected int64              // by how many bytes the protected records have grown
	loose     int64              // bytes of the unprotected records written
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

func (o *overlay) Room() (limit, taken int64) {
	limit, taken = o.State.Room()
	return limit, taken + o.protected + o.loose
}

func (o *overlay) Store(key []byte, r Record) (uint64, *Error) {
	o.set(key, &r)
	if limit, taken := o.Room(); taken > limit {
		return 0, &Error{Kind: KindOutOfMemory, Message: fmt.Sprintf(
			"the operation's records and the protected ones take %d bytes; the group's limit is %d (setting max-bytes)", taken, limit)}
	}
	return 0, nil
}

func (o *overlay) Amend(key []byte, deadline int64, protected bool) uint64 {
	if rec, found := o.Lookup(key); found {
		rec.Deadline, rec.Protected = deadline, protected
		o.set(key, &rec)
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

// set changes what stands at key, nil for nothing, and the counts with it.
func (o *overlay) set(key []byte, rec *Record) {
	if before, again := o.changed[string(key)]; again {
		o.count(key, before, -1)
	} else if old, found := o.State.Lookup(key); found && old.Protected {
		o.count(key, &old, -1)
	}
	o.count(key, rec, 1)
	o.changed[string(key)] = rec
}

func (o *overlay) count(key []byte, rec *Record, sign int64) {
	switch {
	case rec == nil:
	case rec.Protected:
		o.protected += sign * o.Cost(len(key), len(rec.Value))
	default:
		o.loose += sign * o.Cost(len(key), len(rec.Value))
	}
}

// applyAll runs the operations in order, all of them or none: it rehearses them
// first. The error is that of the first one that would be refused; one whose
// condition does not hold counts as refused, since it is part of a whole.
func applyAll(s State, ops []Op) ([]Result, *Error) {
	rehearsal := newOverlay(s)
	for i, o := range ops {
		switch res := run(rehearsal, o); {
		case res.Err != nil:
			return nil, res.Err
		case res.Unmet:
			return nil, &Error{Kind: KindConflict, Field: "cond", Message: fmt.Sprintf("of operation %d (%s) does not hold", i, o.Code())}
		}
	}
	results := make([]Result, len(ops))
	for i, o := range ops {
		results[i] = run(s, o)
	}
	return results, nil
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
