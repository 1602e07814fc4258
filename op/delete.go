package op

// Delete removes Key. An absent key is no error. Result: Found reports whether it
// was there; Version is the version of its removal, 0 if nothing was removed.
type Delete struct{ Key []byte }

func (Delete) Code() Code                 { return CodeDelete }
func (Delete) NumSlots() int              { return 1 }
func (o Delete) Slot(int) uint16          { return SlotOf(o.Key) }
func (o Delete) Check(Limits) *Error      { return checkKey(o.Key) }
func (o Delete) AppendTo(b []byte) []byte { return appendBytes(b, o.Key) }
func (r *reader) delete() Op              { return Delete{Key: r.bytes("key")} }

// Apply removes the key.
func (o Delete) Apply(s State) Result {
	version, existed := s.Remove(o.Key)
	return Result{Version: version, Found: existed}
}
