package op

// Delete removes Key. An absent key is no error. Result: Found reports whether it
// was there; Version is the version of its removal, 0 if nothing was removed.
type Delete struct {
	Key  []byte
	Cond Cond
}

func (Delete) Code() Code        { return CodeDelete }
func (Delete) NumSlots() int     { return 1 }
func (o Delete) Slot(int) uint16 { return SlotOf(o.Key) }

// Check refuses keys out of bounds and malformed conditions.
func (o Delete) Check(l Limits) *Error {
	if err := checkKey(o.Key); err != nil {
		return err
	}
	return o.Cond.check(l)
}

// AppendTo appends [key, cond].
func (o Delete) AppendTo(b []byte) []byte { return o.Cond.appendTo(appendBytes(b, o.Key)) }
func (r *reader) delete() Op              { return Delete{Key: r.bytes("key"), Cond: r.cond()} }

// Apply removes the key.
func (o Delete) Apply(s State) Result {
	if _, _, res, ok := o.Cond.judge(s, o.Key); !ok {
		return res
	}
	version, existed := s.Remove(o.Key)
	return Result{Version: version, Found: existed}
}
