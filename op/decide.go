package op

import "github.com/ringraft/ringraft/internal/mutant"

// Decide decides a transaction in its home group. To commit, it does the group's own
// part at once, if that is possible. The first decision stands. Result: Number is the
// [Outcome] of this attempt, Results those of the operations. With an error or Unmet,
// nothing is decided, and a repeat that is still on its way may decide.
type Decide struct {
	Attempt      Attempt
	Commit       bool
	Compares     []Compare
	Ops          []Op
	Participants []uint16 // one slot of each other group that has a part
	Payload      int64    // bytes of their results, which the transaction's answer holds too
}

func (Decide) Code() Code      { return CodeDecide }
func (o Decide) part() Txn     { return Txn{Compares: o.Compares, Then: o.Ops} }
func (o Decide) NumSlots() int { return 1 + o.part().NumSlots() }

// Slot returns the home slot, then those of the group's own part.
func (o Decide) Slot(i int) uint16 {
	if i == 0 {
		return o.Attempt.Home
	}
	return o.part().Slot(i - 1)
}

// Check refuses what no part of a transaction can be.
func (o Decide) Check(l Limits) *Error {
	if err := o.Attempt.check(); err != nil || o.part().NumSlots() == 0 {
		return err
	}
	return o.part().Check(l)
}

// AppendTo appends [attempt, commit, [key, cond…], [operation…], [slot…], payload].
func (o Decide) AppendTo(b []byte) []byte {
	b = appendCompares(appendBool(o.Attempt.appendTo(b), o.Commit), o.Compares)
	return appendInt(appendSlots(appendOps(b, o.Ops), o.Participants), o.Payload)
}

func (r *reader) decide() Op {
	return Decide{
		Attempt: r.attempt(), Commit: r.bool("commit"), Compares: r.compares(), Ops: r.ops("operations"),
		Participants: r.participants(), Payload: r.int("payload"),
	}
}

// Apply decides, unless that has been done.
func (o Decide) Apply(s State) Result {
	if err := o.Attempt.check(); err != nil {
		return Fail(err) // a log must not hold it
	}
	now := s.Now()
	d, ok := s.Decision(o.Attempt.ID)
	switch {
	case ok:
		return d.answer(o.Attempt)
	case !o.Commit:
		return o.abort(s)
	case now > o.Attempt.Deadline && !mutant.LateCommit: // and so it stays: there is no need of a record
		return Result{Number: int64(Aborted)}
	}
	if err := o.Attempt.timely(now); err != nil && !mutant.LateCommit {
		return Fail(err)
	}
	return o.commit(s)
}

// abort keeps the decision, also past the deadline, for those who ask; only before is
// it needed.
func (o Decide) abort(s State) Result {
	now := s.Now()
	if err := o.Attempt.timely(now); err != nil && now <= o.Attempt.Deadline {
		return Fail(err)
	}
	d := Decision{Attempt: o.Attempt, Outcome: Aborted, Ends: max(now, o.Attempt.Deadline) + DecisionTTL}
	if err := s.Decide(d); err != nil && now <= o.Attempt.Deadline {
		return Fail(err)
	}
	return d.answer(o.Attempt)
}

// commit does the group's own part. The rehearsal leaves room for the decision, which
// is kept before the part is done, since it can be refused, and again with its answer.
func (o Decide) commit(s State) Result {
	if res, ok := o.part().open(s); !ok {
		return res
	}
	rehearsal := newOverlay(s)
	rehearsal.grown = decisionRoom
	rehearsed, err := rehearse(rehearsal, o.Ops)
	if err == nil && o.Payload+int64((&Result{Results: rehearsed}).Payload()) > MaxPayload {
		err = errAnswerTooLarge()
	}
	if err != nil {
		return Fail(err)
	}
	d := Decision{Attempt: o.Attempt, Outcome: Committed, Participants: o.Participants}
	if len(d.Participants) == 0 {
		d.Ends = o.Attempt.Deadline + DecisionTTL
	}
	if err := s.Decide(d); err != nil {
		return Fail(err)
	}
	results := make([]Result, len(o.Ops))
	s.Together(func() {
		for i, part := range o.Ops {
			results[i] = run(s, part)
		}
	})
	d.Answer = Result{Results: results}
	if err := s.Decide(d); err != nil {
		return Fail(err) // never: a decision that is there already is not refused
	}
	return d.answer(o.Attempt)
}

// decisionRoom is more bytes than a decision takes beside its answer.
const decisionRoom = 4 << 10

// answer tells an attempt what became of it. Found reports that another attempt at the
// same transaction was committed.
func (d Decision) answer(a Attempt) Result {
	switch {
	case d.Outcome != Committed:
		return Result{Number: int64(Aborted)}
	case !d.Attempt.same(a):
		return Result{Number: int64(Aborted), Found: true}
	}
	return Result{Number: int64(Committed), Results: d.Answer.Results}
}

// Forget tells the home group that all participants of a committed attempt have
// finished.
type Forget struct{ Attempt Attempt }

func (Forget) Code() Code                 { return CodeForget }
func (Forget) NumSlots() int              { return 1 }
func (o Forget) Slot(int) uint16          { return o.Attempt.Home }
func (o Forget) Check(Limits) *Error      { return o.Attempt.check() }
func (o Forget) AppendTo(b []byte) []byte { return o.Attempt.appendTo(b) }
func (r *reader) forget() Op              { return Forget{Attempt: r.attempt()} }

// Apply keeps of the decision only its outcome, for a while.
func (o Forget) Apply(s State) Result {
	d, ok := s.Decision(o.Attempt.ID)
	if !ok || !d.Attempt.same(o.Attempt) || d.Ends != 0 {
		return Result{}
	}
	d.Participants, d.Answer = nil, Result{}
	d.Ends = max(s.Now(), d.Attempt.Deadline) + DecisionTTL
	if err := s.Decide(d); err != nil {
		return Fail(err)
	}
	return Result{}
}

// GetTxn reads what became of a transaction. Result: Number is the [Outcome]; Undecided
// also if it is not remembered any more, or was never heard of.
type GetTxn struct {
	ID   []byte
	Home uint16 // the slot whose group decides: the least of the transaction's
}

func (GetTxn) Code() Code        { return CodeGetTxn }
func (GetTxn) NumSlots() int     { return 1 }
func (o GetTxn) Slot(int) uint16 { return o.Home }

// Check refuses ids of another length and slots over the last.
func (o GetTxn) Check(Limits) *Error { return Attempt{ID: o.ID, Home: o.Home}.check() }

// AppendTo appends [id, home].
func (o GetTxn) AppendTo(b []byte) []byte { return appendUint(appendBytes(b, o.ID), uint64(o.Home)) }
func (r *reader) getTxn() Op              { return GetTxn{ID: r.bytes("id"), Home: r.slot("home")} }

// Read returns the outcome.
func (o GetTxn) Read(v View) Result {
	d, _ := v.Decision(o.ID)
	return Result{Number: int64(d.Outcome)}
}
