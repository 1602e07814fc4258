package op

// Expire changes how long Key lives. Result: Found reports whether it is there,
// and only then something changes; Version and TTL are those it has now.
type Expire struct {
	Key  []byte
	TTL  int64 // ms to live from the entry's time on; 0 is for ever
	Cond Cond
}

func (Expire) Code() Code        { return CodeExpire }
func (Expire) NumSlots() int     { return 1 }
func (o Expire) Slot(int) uint16 { return SlotOf(o.Key) }

// Check refuses keys and times to live out of bounds.
func (o Expire) Check(l Limits) *Error {
	if err := checkKey(o.Key); err != nil {
		return err
	}
	if err := o.Cond.check(l); err != nil {
		return err
	}
	return checkTTL(o.TTL)
}

// AppendTo appends [key, ttl, cond].
func (o Expire) AppendTo(b []byte) []byte {
	return o.Cond.appendTo(appendInt(appendBytes(b, o.Key), o.TTL))
}

func (r *reader) expire() Op {
	return Expire{Key: r.bytes("key"), TTL: r.int("ttl"), Cond: r.cond()}
}

// Apply sets or removes the deadline.
func (o Expire) Apply(s State) Result {
	rec, found, res, ok := o.Cond.judge(s, o.Key)
	if !ok {
		return res
	}
	if !found {
		return Result{}
	}
	version := s.Amend(o.Key, afterTTL(o.TTL, s.Now()), rec.Protected)
	return Result{Found: true, Version: version, TTL: o.TTL}
}
