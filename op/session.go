package op

// A session makes a client's writes happen exactly once. Its holder numbers them;
// the group keeps each answer until the holder acknowledges it, and answers a repeat
// with it. A session belongs to the group of the slot it was opened on. Without use
// it ends after its TTL, in group time, and is unknown from then on.

const (
	// MinSessionTTL and MaxSessionTTL bound a session's time to live, in ms.
	MinSessionTTL = 10_000
	MaxSessionTTL = 24 * 3600 * 1000
	// MaxSessions bounds the sessions of a group.
	MaxSessions = 16384
	// MaxUnacknowledged bounds the answers that a group keeps for one session.
	MaxUnacknowledged = 4096
)

// FieldSession is the field of an error that has to do with a write's session, and not
// with the write.
const FieldSession = "session"

// OfThisTry reports whether res, the answer to a write in a session, refuses this try
// alone: the group did not take it, or had no room to keep an answer. Another try, also
// an earlier one that is still on its way, can be done.
func (res *Result) OfThisTry() bool {
	if res.Err == nil {
		return false
	}
	switch res.Err.Kind {
	case KindOutOfMemory:
		return res.Err.Field == FieldSession
	case KindInvalid:
		return res.Index == 0
	}
	return false
}

// Command is a write as a log carries it: [session, sequence, acknowledged, operation].
// With session 0 it stands for itself: a repeat is another write.
type Command struct {
	Session  uint64
	Sequence uint64 // of this write in its session, from 1 on
	// Acknowledged says that the answers to all lower sequences have arrived: the
	// group may forget them.
	Acknowledged uint64
	Op           Op
}

// AppendCommand appends c in its encoding.
func AppendCommand(b []byte, c Command) []byte {
	b = appendArray(b, 4)
	b = appendUint(b, c.Session)
	b = appendUint(b, c.Sequence)
	b = appendUint(b, c.Acknowledged)
	return Append(b, c.Op)
}

// command reads a command. For sets see Entry.Sets.
func (r *reader) command(sets *[]Set) Command {
	if n := r.array("command"); n != 4 {
		r.fail("command: %d fields, want 4", n)
		return Command{}
	}
	c := Command{Session: r.uint("session"), Sequence: r.uint("sequence"), Acknowledged: r.uint("acknowledged")}
	spec := r.spec(anyOp)
	switch {
	case spec == nil:
	case spec.Code == CodeSet && sets != nil:
		*sets = append(*sets, r.setFields())
		c.Op = &(*sets)[len(*sets)-1]
	default:
		c.Op = spec.decode(r)
	}
	return c
}

// CheckCommand refuses numbers that do not fit together.
func CheckCommand(c Command) *Error {
	switch {
	case c.Session == 0 && (c.Sequence != 0 || c.Acknowledged != 0):
		return Invalid(FieldSession, "is 0, which takes no sequence")
	case c.Session == 0:
		return nil
	case SpecOf(c.Op.Code()).Class != ClassWrite || c.Op.Code() == CodeOpenSession || c.Op.Code() == CodeCloseSession:
		return Invalid(FieldSession, "is for writes; %s is none", c.Op.Code())
	case recorded(c.Op):
		return Invalid(FieldSession, "is for writes without an id of their own")
	case c.Sequence == 0:
		return Invalid("sequence", "is 0; the first write of a session has 1")
	case c.Acknowledged > c.Sequence:
		return Invalid("acknowledged", "is %d, over the write's own sequence, %d", c.Acknowledged, c.Sequence)
	}
	return nil
}

// Numbered reports whether o is a write that needs a session to happen once: sent again
// without, it could happen again.
func Numbered(o Op) bool {
	switch o.Code() {
	case CodeOpenSession, CodeCloseSession, CodeAbortTxn:
		return false
	}
	return SpecOf(o.Code()).Class == ClassWrite && !recorded(o)
}

// recorded reports whether o is recognised by its own id.
func recorded(o Op) bool {
	t, ok := o.(Txn)
	return ok && t.Spans()
}

// OpenSession opens a session with the group of OnSlot. Result: Number is its id. A
// session whose opening got no answer ends by itself.
type OpenSession struct {
	OnSlot uint16
	TTL    int64 // ms without use after which it ends
}

func (OpenSession) Code() Code        { return CodeOpenSession }
func (OpenSession) NumSlots() int     { return 1 }
func (o OpenSession) Slot(int) uint16 { return o.OnSlot }

// Check refuses slots and times to live out of bounds.
func (o OpenSession) Check(Limits) *Error {
	if o.OnSlot >= Slots {
		return Invalid("slot", "is %d; the last one is %d", o.OnSlot, Slots-1)
	}
	if o.TTL < MinSessionTTL || o.TTL > MaxSessionTTL {
		return Invalid("ttl", "is %d ms; a session's lies between %d and %d", o.TTL, MinSessionTTL, MaxSessionTTL)
	}
	return nil
}

// AppendTo appends [slot, ttl].
func (o OpenSession) AppendTo(b []byte) []byte {
	return appendInt(appendUint(b, uint64(o.OnSlot)), o.TTL)
}

func (r *reader) openSession() Op {
	slot := r.uint("slot")
	if slot >= Slots {
		r.fail("slot: %d is over the last one, %d", slot, Slots-1)
	}
	return OpenSession{OnSlot: uint16(slot), TTL: r.int("ttl")}
}

// Apply opens the session. It checks once more what a log must not hold, since a
// session of another time to live could not be kept.
func (o OpenSession) Apply(s State) Result {
	if err := o.Check(Limits{}); err != nil {
		return Fail(err)
	}
	id, err := s.OpenSession(o.TTL)
	if err != nil {
		return Fail(err)
	}
	return Result{Number: int64(id)}
}

// CloseSession ends the session Session of OnSlot's group before its time, for a holder
// that has all answers. A write in it that is still on its way does nothing. Result:
// Found reports whether it had not ended before.
type CloseSession struct {
	OnSlot  uint16
	Session uint64
}

func (CloseSession) Code() Code        { return CodeCloseSession }
func (CloseSession) NumSlots() int     { return 1 }
func (o CloseSession) Slot(int) uint16 { return o.OnSlot }

// Check refuses slots over the last, and the session that is none.
func (o CloseSession) Check(Limits) *Error {
	switch {
	case o.OnSlot >= Slots:
		return Invalid("slot", "is %d; the last one is %d", o.OnSlot, Slots-1)
	case o.Session == 0:
		return Invalid(FieldSession, "is 0; sessions are 1, 2, 3 and so on")
	}
	return nil
}

// AppendTo appends [slot, session].
func (o CloseSession) AppendTo(b []byte) []byte {
	return appendUint(appendUint(b, uint64(o.OnSlot)), o.Session)
}

func (r *reader) closeSession() Op {
	return CloseSession{OnSlot: r.slot("slot"), Session: r.uint("session")}
}

// Apply ends the session.
func (o CloseSession) Apply(s State) Result { return Result{Found: s.CloseSession(o.Session)} }
