package op

// Prepare locks the keys of a group's part in an attempt, judges the compares, and
// keeps what the operations will leave. Result: Results are those of the operations,
// without versions. With Unmet, an error, or past the deadline nothing is kept. A repeat
// gets the first answer.
type Prepare struct {
	Attempt  Attempt
	Compares []Compare
	Ops      []Op
}

func (Prepare) Code() Code          { return CodePrepare }
func (o Prepare) part() Txn         { return Txn{Compares: o.Compares, Then: o.Ops} }
func (o Prepare) NumSlots() int     { return o.part().NumSlots() }
func (o Prepare) Slot(i int) uint16 { return o.part().Slot(i) }

// Check refuses what no part of a transaction can be.
func (o Prepare) Check(l Limits) *Error {
	if err := o.Attempt.check(); err != nil {
		return err
	}
	return o.part().Check(l)
}

// AppendTo appends [attempt, [key, cond…], [operation…]].
func (o Prepare) AppendTo(b []byte) []byte {
	return appendOps(appendCompares(o.Attempt.appendTo(b), o.Compares), o.Ops)
}

func (r *reader) prepare() Op {
	return Prepare{Attempt: r.attempt(), Compares: r.compares(), Ops: r.ops("operations")}
}

// Apply prepares the part.
func (o Prepare) Apply(s State) Result {
	if err := o.Attempt.check(); err != nil || o.NumSlots() == 0 {
		return Fail(Invalid("attempt", "has no part here, or none at all: %v", err)) // a log must not hold it
	}
	switch p, ok := s.Part(o.Attempt); {
	case ok && p.Finished:
		return Fail(Unavailable("the attempt has ended"))
	case ok:
		return p.Answer
	}
	if err := o.Attempt.timely(s.Now()); err != nil {
		return Fail(err)
	}
	if res, ok := o.part().open(s); !ok {
		return res
	}
	p, err := o.rehearse(s)
	if err == nil {
		err = s.Prepare(p)
	}
	if err != nil {
		return Fail(err)
	}
	return p.Answer
}

// rehearse runs the operations without effect and returns the part.
func (o Prepare) rehearse(s State) (Part, *Error) {
	rehearsal := newOverlay(s)
	results, err := rehearse(rehearsal, o.Ops)
	if err != nil {
		return Part{}, err
	}
	p := Part{Attempt: o.Attempt, Keys: distinct(Keys(o)), Answer: Result{Results: results}}
	for _, w := range o.Ops {
		key, _ := footprint(w)
		rec, changed := rehearsal.changed[string(key)]
		if _, writes := w.(Write); !writes || !changed {
			continue
		}
		e := Effect{Key: key, Removes: rec == nil}
		if rec != nil {
			e.Record = *rec
		}
		p.Effects = append(p.Effects, e)
	}
	return p, nil
}

// open judges the compares of a transaction without other operations to choose. If it
// can't go on, ok is false and res the answer.
func (o Txn) open(s State) (res Result, ok bool) {
	for _, key := range Keys(o) {
		if s.Locked(key) {
			return Fail(Locked(key)), false
		}
	}
	for _, c := range o.Compares {
		if rec, found := s.Lookup(c.Key); !c.Cond.holds(rec, found) {
			res = Result{Unmet: true, Items: o.standing(s)}
			if res.Payload() > MaxPayload {
				res = Fail(errAnswerTooLarge())
			}
			return res, false
		}
	}
	return Result{}, true
}

// Finish ends a group's part in an attempt as the home group has decided. Result: Items
// tell the versions of what was written. A repeat gets the same answer until the
// deadline.
type Finish struct {
	Attempt Attempt
	OnSlot  uint16 // one of the part's
	Commit  bool
}

func (Finish) Code() Code            { return CodeFinish }
func (Finish) NumSlots() int         { return 1 }
func (o Finish) Slot(int) uint16     { return o.OnSlot }
func (o Finish) Check(Limits) *Error { return o.Attempt.check() }
func (o Finish) AppendTo(b []byte) []byte { // [attempt, slot, commit]
	return appendBool(appendUint(o.Attempt.appendTo(b), uint64(o.OnSlot)), o.Commit)
}

func (r *reader) finish() Op {
	return Finish{Attempt: r.attempt(), OnSlot: r.slot("slot"), Commit: r.bool("commit")}
}

// Apply finishes the part. Of one that is unknown there is nothing to do.
func (o Finish) Apply(s State) Result {
	switch p, ok := s.Part(o.Attempt); {
	case !ok:
		return Result{}
	case p.Finished:
		return p.Answer
	}
	return Result{Items: s.Finish(o.Attempt, o.Commit)}
}
