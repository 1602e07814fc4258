package op

// Lookup is a [Get] at level Local or Session, for those who answer many at a time.
type Lookup struct {
	Key   []byte // of 1 to MaxKey bytes
	Slot  uint16 // of the key
	Bound uint64 // the log index that the answer shows at least; 0 is any, as at level Local
}

// lookupHead is what stands between a Get's bound and its key: the array of a command, no
// session, and the array of the operation with its code.
const lookupHead = "\x94\x00\x00\x00\x92" + string(rune(CodeGet))

// DecodeLookup returns the request that b holds, if it is a lookup as [Request.AppendTo]
// writes one. What it does not take may still be a request: see [DecodeRequest]. It
// aliases b.
func DecodeLookup(b []byte) (l Lookup, ok bool) {
	r := reader{b: b}
	if len(b) == 0 || r.tag() != 0x94 {
		return l, false
	}
	r.uint("epoch")
	level := r.uint("level")
	l.Bound = r.uint("bound")
	if level > uint64(Session) || l.Bound != 0 && level == uint64(Local) {
		return l, false
	}
	if string(r.take(uint64(len(lookupHead)))) != lookupHead {
		return l, false
	}
	key := r.bytes("key")
	if len(key) == 0 || len(key) > MaxKey || r.err != nil || len(r.b) > 0 {
		return l, false
	}
	l.Key, l.Slot = key, SlotOf(key)
	return l, true
}
