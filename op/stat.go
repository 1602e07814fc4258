package op

// Stat reads all about Key but its value: whether it exists and how long it lives.
// Result: Found, Version, TTL; Number is the value's length in bytes.
type Stat struct{ Key []byte }

func (Stat) Code() Code                 { return CodeStat }
func (Stat) NumSlots() int              { return 1 }
func (o Stat) Slot(int) uint16          { return SlotOf(o.Key) }
func (o Stat) Check(Limits) *Error      { return checkKey(o.Key) }
func (o Stat) AppendTo(b []byte) []byte { return appendBytes(b, o.Key) }
func (r *reader) stat() Op              { return Stat{Key: r.bytes("key")} }

// Read returns what is known of Key.
func (o Stat) Read(v View) Result {
	rec, ok := v.Lookup(o.Key)
	if !ok {
		return Result{}
	}
	return Result{
		Found: true, Version: rec.Version, TTL: untilDeadline(rec.Deadline, v.Now()),
		Number: int64(len(rec.Value)),
	}
}
