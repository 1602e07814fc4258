package op

import "slices"

// Once does a transaction on keys of one group, and keeps its answer at Key, in one
// entry. Done again while that is there, it does nothing. Result: as of a [Txn], or, done
// before, Found, with what was kept in Value: see [SplitKept]. An answer that tells of
// nothing done is not kept: an error, and compares that do not hold without an Else.
//
// It is for callers who have nothing but a name for what they do, such as HTTP's
// Idempotency-Key: the name makes the Key, and the Mark tells them whether what was done
// under it is what they ask for. Others have sessions.
type Once struct {
	Key  []byte // what stands there is protected
	Mark []byte // MarkSize bytes
	TTL  int64  // ms for which the answer is kept, from the entry's time on
	Txn  Txn    // without an ID
}

const (
	// MarkSize is the length of a mark, in bytes.
	MarkSize = 32
	// MaxKept bounds an encoded answer that is kept, in bytes.
	MaxKept = 1 << 20
)

func (Once) Code() Code      { return CodeOnce }
func (o Once) NumSlots() int { return 1 + o.Txn.NumSlots() }

// Slot returns Key's slot, then those of the transaction.
func (o Once) Slot(i int) uint16 {
	if i == 0 {
		return SlotOf(o.Key)
	}
	return o.Txn.Slot(i - 1)
}

// Check refuses what the transaction may not be, a Key that is part of it, and an answer
// that is to be kept for ever.
func (o Once) Check(l Limits) *Error {
	if err := checkKey(o.Key); err != nil {
		return err
	}
	switch {
	case len(o.Mark) != MarkSize:
		return Invalid("mark", "has %d bytes; it has %d", len(o.Mark), MarkSize)
	case o.TTL < 1 || o.TTL > MaxTTL:
		return Invalid("ttl", "is %d ms; it must lie between 1 and %d", o.TTL, int64(MaxTTL))
	case o.Txn.Spans():
		return Invalid("id", "does not belong to a transaction that is done once; all its keys are of one group")
	case slices.ContainsFunc(Keys(o.Txn), func(key []byte) bool { return string(key) == string(o.Key) }):
		return Invalid("key", "is part of the transaction")
	}
	return o.Txn.Check(l)
}

// AppendTo appends [key, mark, ttl, [key, cond…], [operation…], [operation…]].
func (o Once) AppendTo(b []byte) []byte {
	b = appendInt(appendBytes(appendBytes(b, o.Key), o.Mark), o.TTL)
	return appendOps(appendOps(appendCompares(b, o.Txn.Compares), o.Txn.Then), o.Txn.Else)
}

func (r *reader) once() Op {
	return Once{
		Key: r.bytes("key"), Mark: r.bytes("mark"), TTL: r.int("ttl"),
		Txn: Txn{Compares: r.compares(), Then: r.ops("then"), Else: r.ops("else")},
	}
}

// Apply does the transaction unless it was done.
func (o Once) Apply(s State) Result {
	if rec, found := s.Lookup(o.Key); found {
		return Result{Found: true, Value: rec.Value, Version: rec.Version}
	}
	branch, unmet := o.Txn.choose(s)
	if unmet && len(o.Txn.Else) == 0 {
		return o.Txn.Apply(s)
	}
	kept, err := o.rehearse(s, branch)
	if err != nil {
		return Fail(err)
	}
	res := Result{Unmet: unmet, Results: make([]Result, len(branch))}
	s.Together(func() {
		for i, o := range branch {
			res.Results[i] = run(s, o)
		}
		kept.Value = Kept(o.Mark, res)
		run(s, kept)
	})
	return res
}

// rehearse returns the write that is to keep the branch's answer, or why it and the
// branch would fail. The answer's versions are not known yet: the rehearsal takes them
// for the longest there are.
func (o Once) rehearse(s State, branch []Op) (Set, *Error) {
	results, err := rehearse(newOverlay(s), branch)
	if err != nil {
		return Set{}, err
	}
	const versionBytes = 16 // with the zero fields in front of it, which could be left out
	size := len(Kept(o.Mark, Result{Unmet: true, Results: results})) + versionBytes*len(results)
	if size > MaxKept {
		return Set{}, Invalid("txn", "its answer has up to %d bytes; one that is kept has %d at most: read less", size, MaxKept)
	}
	kept := Set{Key: o.Key, Value: make([]byte, size), TTL: o.TTL, Protect: true}
	_, err = rehearse(newOverlay(s), append(slices.Clip(branch), kept))
	return kept, err
}

// Kept returns what stands at the key of something done once: its mark, and its answer.
func Kept(mark []byte, answer Result) []byte {
	return answer.AppendTo(slices.Clone(mark))
}

// SplitKept returns the two parts of what [Kept] made.
func SplitKept(kept []byte) (mark []byte, answer Result, err error) {
	if len(kept) < MarkSize {
		r := reader{}
		r.fail("kept: %d bytes are too few", len(kept))
		return nil, Result{}, r.err
	}
	answer, err = DecodeResult(kept[MarkSize:])
	return kept[:MarkSize], answer, err
}
