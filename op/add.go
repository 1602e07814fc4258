package op

import (
	"math"
	"strconv"
)

// Add adds Delta to the integer at Key, which counts as 0 if absent, and keeps its
// time to live and protection. Result: Number is the sum; Version; Found reports
// whether the key was there. It is refused, and nothing changes, if the value is
// no canonical decimal integer or the sum leaves 64 bits.
type Add struct {
	Key   []byte
	Delta int64
}

func (Add) Code() Code                 { return CodeAdd }
func (Add) NumSlots() int              { return 1 }
func (o Add) Slot(int) uint16          { return SlotOf(o.Key) }
func (o Add) Check(Limits) *Error      { return checkKey(o.Key) }
func (o Add) AppendTo(b []byte) []byte { return appendInt(appendBytes(b, o.Key), o.Delta) }
func (r *reader) add() Op              { return Add{Key: r.bytes("key"), Delta: r.int("delta")} }

// Apply stores the sum.
func (o Add) Apply(s State) Result {
	rec, found := s.Lookup(o.Key)
	var n int64
	if found {
		var ok bool
		if n, ok = parseInteger(rec.Value); !ok {
			return Fail(&Error{Kind: KindConflict, Field: "value", Message: "is not an integer between -2^63 and 2^63-1 in canonical decimal form"})
		}
	}
	if (o.Delta > 0 && n > math.MaxInt64-o.Delta) || (o.Delta < 0 && n < math.MinInt64-o.Delta) {
		return Fail(&Error{Kind: KindConflict, Field: "delta", Message: "the sum would leave the range of a signed 64-bit integer"})
	}
	n += o.Delta
	rec.Value = strconv.AppendInt(nil, n, 10)
	version, err := s.Store(o.Key, rec)
	if err != nil {
		return Fail(err)
	}
	return Result{Number: n, Version: version, Found: found}
}

// parseInteger accepts only what strconv prints: no plus sign, space, or leading zero.
func parseInteger(b []byte) (int64, bool) {
	n, err := strconv.ParseInt(string(b), 10, 64)
	if err != nil || strconv.FormatInt(n, 10) != string(b) {
		return 0, false
	}
	return n, true
}
