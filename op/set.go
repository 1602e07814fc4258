package op

// Set puts Value at Key. Result: Version; Found reports whether it replaced a value.
type Set struct {
	Key     []byte
	Value   []byte
	TTL     int64 // ms to live from the entry's time on; 0 is for ever
	KeepTTL bool  // keep the deadline of the value replaced, if there is one; excludes TTL
	Protect bool  // never evict this value
	Cond    Cond
}

func (Set) Code() Code        { return CodeSet }
func (Set) NumSlots() int     { return 1 }
func (o Set) Slot(int) uint16 { return SlotOf(o.Key) }

// Check refuses keys, values and times to live out of bounds.
func (o Set) Check(l Limits) *Error {
	if err := checkKey(o.Key); err != nil {
		return err
	}
	if err := checkValue(o.Value, l); err != nil {
		return err
	}
	if o.KeepTTL && o.TTL != 0 {
		return Invalid("keep_ttl", "cannot be combined with a ttl")
	}
	if err := o.Cond.check(l); err != nil {
		return err
	}
	if n := len(o.Value) + len(o.Cond.Value); n > MaxValueLimit {
		return Invalid("cond", "its value and the new one have %d bytes together; the limit is %d", n, MaxValueLimit)
	}
	return checkTTL(o.TTL)
}

// AppendTo appends [key, value, ttl, keep_ttl, protect, cond].
func (o Set) AppendTo(b []byte) []byte {
	b = appendBytes(b, o.Key)
	b = appendBytes(b, o.Value)
	b = appendInt(b, o.TTL)
	b = appendBool(b, o.KeepTTL)
	b = appendBool(b, o.Protect)
	return o.Cond.appendTo(b)
}

func (r *reader) set() Op { return r.setFields() }

func (r *reader) setFields() Set {
	return Set{
		Key: r.bytes("key"), Value: r.bytes("value"), TTL: r.int("ttl"),
		KeepTTL: r.bool("keep_ttl"), Protect: r.bool("protect"), Cond: r.cond(),
	}
}

// Apply stores the value. Most sets need not know what stands there.
func (o Set) Apply(s State) Result {
	if o.Cond.Kind == CondNone && !o.KeepTTL {
		return o.store(s, afterTTL(o.TTL, s.Now()))
	}
	old, found, res, ok := o.Cond.judge(s, o.Key)
	if !ok {
		return res
	}
	deadline := afterTTL(o.TTL, s.Now())
	if o.KeepTTL && found {
		deadline = old.Deadline
	}
	return o.store(s, deadline)
}

func (o Set) store(s State, deadline int64) Result {
	version, replaced, err := s.Store(o.Key, Record{Value: o.Value, Deadline: deadline, Protected: o.Protect})
	if err != nil {
		return Fail(err)
	}
	return Result{Version: version, Found: replaced}
}
