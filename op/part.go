package op

import "fmt"

// Transactions is what a group keeps of transactions over several groups. What it
// returns must not be changed.
type Transactions interface {
	// Locked reports whether a part that is prepared has locked key.
	Locked(key []byte) bool
	// Part returns what is kept of an attempt that the group has a part in.
	Part(a Attempt) (Part, bool)
	// Prepare keeps a new part and locks its keys.
	Prepare(p Part) *Error
	// Finish does the effects of a part that is prepared, or drops them, and unlocks
	// its keys. The items tell the versions of what was written.
	Finish(a Attempt, commit bool) []Item
	// Decide keeps a new decision, or a changed one.
	Decide(d Decision) *Error
}

// Part is what a group keeps of its part in an attempt: first what it has prepared, and
// from Finish until the deadline only that it has finished.
type Part struct {
	Attempt  Attempt
	Finished bool
	Keys     [][]byte // locked: compared, read or written
	Effects  []Effect // on some of Keys
	Answer   Result   // to whoever repeats the last request
}

// Effect is what a transaction leaves at a key: Record, but for its version, or nothing.
type Effect struct {
	Key     []byte
	Removes bool
	Record  Record
}

// Writes reports whether the part, once finished, may change key.
func (p Part) Writes(key []byte) bool {
	for _, e := range p.Effects {
		if string(e.Key) == string(key) {
			return true
		}
	}
	return false
}

// AppendTo appends [attempt, finished, [key…], [[key, removes, value, deadline, protected]…], answer].
func (p Part) AppendTo(b []byte) []byte {
	b = appendBool(p.Attempt.appendTo(appendArray(b, 5)), p.Finished)
	b = appendArray(appendKeys(b, p.Keys), len(p.Effects))
	for _, e := range p.Effects {
		b = appendBool(appendBytes(appendArray(b, 5), e.Key), e.Removes)
		b = appendInt(appendBytes(b, e.Record.Value), e.Record.Deadline)
		b = appendBool(b, e.Record.Protected)
	}
	return p.Answer.AppendTo(b)
}

// DecodePart returns the part that b holds. It aliases b.
func DecodePart(b []byte) (Part, error) {
	r := newReader(b)
	if n := r.array("part"); n != 5 {
		r.fail("part: %d elements, want 5", n)
	}
	p := Part{Attempt: r.attempt(), Finished: r.bool("finished"), Keys: r.keys()}
	n := r.array("effects")
	if n > MaxTxnOps {
		r.fail("effects: there are %d; the limit is %d", n, MaxTxnOps)
	}
	for i := 0; i < n && r.err == nil; i++ {
		p.Effects = append(p.Effects, r.effect())
	}
	p.Answer = r.result(true)
	return p, r.done()
}

func (r *reader) effect() Effect {
	if n := r.array("effect"); n != 5 {
		r.fail("effect: %d elements, want 5", n)
		return Effect{}
	}
	e := Effect{Key: r.bytes("key"), Removes: r.bool("removes")}
	e.Record = Record{Value: r.bytes("value"), Deadline: r.int("deadline"), Protected: r.bool("protected")}
	return e
}

// Decision is what the home group keeps of a transaction.
type Decision struct {
	Attempt      Attempt
	Outcome      Outcome
	Participants []uint16 // one slot of each other group that has a part; empty once all have finished
	Ends         int64    // when it may be forgotten, in group time; 0 while there are participants
	Answer       Result   // of the home group's own part, until all have finished
}

// AppendTo appends [attempt, outcome, [slot…], ends, answer].
func (d Decision) AppendTo(b []byte) []byte {
	b = appendUint(d.Attempt.appendTo(appendArray(b, 5)), uint64(d.Outcome))
	return d.Answer.AppendTo(appendInt(appendSlots(b, d.Participants), d.Ends))
}

// DecodeDecision returns the decision that b holds. It aliases b.
func DecodeDecision(b []byte) (Decision, error) {
	r := newReader(b)
	if n := r.array("decision"); n != 5 {
		r.fail("decision: %d elements, want 5", n)
	}
	d := Decision{Attempt: r.attempt(), Outcome: Outcome(r.uint("outcome")), Participants: r.participants()}
	d.Ends, d.Answer = r.int("ends"), r.result(true)
	return d, r.done()
}

func appendSlots(b []byte, slots []uint16) []byte {
	b = appendArray(b, len(slots))
	for _, slot := range slots {
		b = appendUint(b, uint64(slot))
	}
	return b
}

func (r *reader) participants() []uint16 {
	n := r.array("participants")
	if n > 2*MaxTxnOps {
		r.fail("participants: there are %d; the limit is %d", n, 2*MaxTxnOps)
		return nil
	}
	var slots []uint16
	for i := 0; i < n && r.err == nil; i++ {
		slots = append(slots, r.slot("participant"))
	}
	return slots
}

func quoted(key []byte) string { return fmt.Sprintf("%q", key) }
