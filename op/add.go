package op

import (
	"math"
	"strconv"

	"github.com/ringraft/ringraft/internal/mutant"
)

// Add adds Delta to the integer at Key, which counts as 0 if absent, and keeps its
// time to live and protection. Result: Number is the sum; Version; Found reports
// whether the key was there.
//
// A sum over Max or under Min, even one outside 64 bits, is an unmet condition, with
// the number that stands there in Number or, with Clamp, is replaced by the nearer
// bound. It is refused, and nothing changes, if the value is no canonical decimal
// integer or the sum leaves 64 bits where no bound stands.
type Add struct {
	Key   []byte
	Delta int64
	Min   *int64 // nil is none
	Max   *int64
	Clamp bool
	TTL   int64 // ms to live from the entry's time on; 0 keeps what there is
	Cond  Cond
}

func (Add) Code() Code        { return CodeAdd }
func (Add) NumSlots() int     { return 1 }
func (o Add) Slot(int) uint16 { return SlotOf(o.Key) }

// Check refuses keys out of bounds, bounds that exclude every number, and clamping
// without bounds.
func (o Add) Check(l Limits) *Error {
	if err := checkKey(o.Key); err != nil {
		return err
	}
	switch {
	case o.Min != nil && o.Max != nil && *o.Min > *o.Max:
		return Invalid("min", "is %d, over max, %d", *o.Min, *o.Max)
	case o.Clamp && o.Min == nil && o.Max == nil:
		return Invalid("clamp", "needs a min or a max")
	}
	if err := checkTTL(o.TTL); err != nil {
		return err
	}
	return o.Cond.check(l)
}

// AppendTo appends [key, delta, min, max, clamp, ttl, cond].
func (o Add) AppendTo(b []byte) []byte {
	b = appendInt(appendBytes(b, o.Key), o.Delta)
	b = appendBound(appendBound(b, o.Min), o.Max)
	return o.Cond.appendTo(appendInt(appendBool(b, o.Clamp), o.TTL))
}

func (r *reader) add() Op {
	return Add{
		Key: r.bytes("key"), Delta: r.int("delta"), Min: r.bound("min"), Max: r.bound("max"),
		Clamp: r.bool("clamp"), TTL: r.int("ttl"), Cond: r.cond(),
	}
}

func appendBound(b []byte, bound *int64) []byte {
	if bound == nil {
		return append(b, mpNil)
	}
	return appendInt(b, *bound)
}

func (r *reader) bound(field string) *int64 {
	if r.null() {
		return nil
	}
	n := r.int(field)
	return &n
}

// Apply stores the sum.
func (o Add) Apply(s State) Result {
	rec, found, res, ok := o.Cond.judge(s, o.Key)
	if !ok {
		return res
	}
	var n int64
	if found {
		if n, ok = parseInteger(rec.Value); !ok {
			return Fail(&Error{Kind: KindConflict, Field: "value", Message: "is not an integer between -2^63 and 2^63-1 in canonical decimal form"})
		}
	}
	sum, within, fits := o.sum(n)
	if !fits {
		return Fail(&Error{Kind: KindConflict, Field: "delta", Message: "the sum would leave the range of a signed 64-bit integer"})
	}
	if !within && !o.Clamp && !mutant.ClampUnasked {
		res = unmet(rec, found, s.Now(), o.Cond.Show)
		res.Number = n
		return res
	}
	rec.Value = strconv.AppendInt(nil, sum, 10)
	if o.TTL != 0 {
		rec.Deadline = afterTTL(o.TTL, s.Now())
	}
	version, _, err := s.Store(o.Key, rec)
	if err != nil {
		return Fail(err)
	}
	return Result{Number: sum, Version: version, Found: found}
}

// sum returns the number nearest to n plus Delta that Min and Max allow, and whether
// it is that sum. It does not fit if it leaves 64 bits on a side without a bound.
func (o Add) sum(n int64) (sum int64, within, fits bool) {
	sum, within = n+o.Delta, true
	switch {
	case o.Delta > 0 && sum < n:
		sum, within, fits = math.MaxInt64, false, o.Max != nil
	case o.Delta < 0 && sum > n:
		sum, within, fits = math.MinInt64, false, o.Min != nil
	default:
		fits = true
	}
	bounded := sum
	if o.Min != nil {
		bounded = max(bounded, *o.Min)
	}
	if o.Max != nil {
		bounded = min(bounded, *o.Max)
	}
	return bounded, within && bounded == sum, fits
}

// parseInteger accepts only what strconv prints: no plus sign, space, or leading zero.
func parseInteger(b []byte) (int64, bool) {
	n, err := strconv.ParseInt(string(b), 10, 64)
	if err != nil || strconv.FormatInt(n, 10) != string(b) {
		return 0, false
	}
	return n, true
}
