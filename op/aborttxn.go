package op

// AbortTxn aborts a transaction that is not decided yet, as one whose coordinator has
// died before it began, so that its caller can begin anew. Result: Number is the
// [Outcome], which stands. It must come within [TxnLateness] of the transaction: one that
// was committed so long ago may be forgotten, and would seem to be aborted.
type AbortTxn struct {
	ID   []byte
	Home uint16 // the slot whose group decides: the least of the transaction's
}

func (AbortTxn) Code() Code        { return CodeAbortTxn }
func (AbortTxn) NumSlots() int     { return 1 }
func (o AbortTxn) Slot(int) uint16 { return o.Home }

// Check refuses ids of another length and slots over the last.
func (o AbortTxn) Check(Limits) *Error { return Attempt{ID: o.ID, Home: o.Home}.check() }

// AppendTo appends [id, home].
func (o AbortTxn) AppendTo(b []byte) []byte {
	return appendUint(appendBytes(b, o.ID), uint64(o.Home))
}

func (r *reader) abortTxn() Op { return AbortTxn{ID: r.bytes("id"), Home: r.slot("home")} }

// Apply decides, unless that has been done.
func (o AbortTxn) Apply(s State) Result {
	if err := o.Check(Limits{}); err != nil {
		return Fail(err) // a log must not hold it
	}
	d, ok := s.Decision(o.ID)
	if !ok {
		d = Decision{
			Attempt: Attempt{ID: o.ID, Home: o.Home, Deadline: s.Now()},
			Outcome: Aborted, Ends: s.Now() + DecisionTTL,
		}
		if err := s.Decide(d); err != nil {
			return Fail(err)
		}
	}
	return Result{Number: int64(d.Outcome)}
}
