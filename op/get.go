package op

// Get reads Key. Result: Found, Value, Version, TTL.
type Get struct{ Key []byte }

func (Get) Code() Code                 { return CodeGet }
func (Get) NumSlots() int              { return 1 }
func (o Get) Slot(int) uint16          { return SlotOf(o.Key) }
func (o Get) Check(Limits) *Error      { return checkKey(o.Key) }
func (o Get) AppendTo(b []byte) []byte { return appendBytes(b, o.Key) }
func (r *reader) get() Op              { return Get{Key: r.bytes("key")} }

// Read returns what stands at Key.
func (o Get) Read(v View) Result {
	rec, ok := v.Lookup(o.Key)
	return o.Answer(rec, ok, v.Now())
}

// Answer is the result for what stood at Key at a time, in ms since the Unix epoch.
func (Get) Answer(rec Record, found bool, now int64) Result {
	if !found {
		return Result{}
	}
	return Result{Found: true, Value: rec.Value, Version: rec.Version, TTL: untilDeadline(rec.Deadline, now)}
}
