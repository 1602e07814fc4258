package op

import (
	"bytes"

	"github.com/ringraft/ringraft/internal/mutant"
)

// CondKind says what a [Cond] asks. Kinds cross the wire: their numbers are fixed.
type CondKind uint8

// The kinds. Each is judged against what stands at the key in the group's time.
const (
	CondNone    CondKind = 0 // holds always
	CondAbsent  CondKind = 1 // nothing stands there
	CondPresent CondKind = 2 // something does
	CondVersion CondKind = 3 // a record of exactly that version
	CondValue   CondKind = 4 // a record of exactly that value
)

// Cond is a condition of a write on what stands at its key, judged in the same step
// as the write. If it does not hold, nothing changes and the result says what stood
// there: Unmet, Found, Version, TTL and, with Show, Value. The zero Cond holds always.
type Cond struct {
	Kind    CondKind
	Version uint64 // for CondVersion; versions start at 1
	Value   []byte // for CondValue
	Show    bool   // answer with the value too, if the condition does not hold
}

func (c Cond) check(l Limits) *Error {
	switch {
	case c.Kind > CondValue:
		return Invalid("cond", "kind %d is unknown", c.Kind)
	case c.Version != 0 && c.Kind != CondVersion:
		return Invalid("cond", "names a version but does not ask for one")
	case c.Version == 0 && c.Kind == CondVersion:
		return Invalid("cond", "asks for version 0, which no key ever has; use absent")
	case len(c.Value) > 0 && c.Kind != CondValue:
		return Invalid("cond", "names a value but does not ask for one")
	}
	if err := checkValue(c.Value, l); err != nil {
		return Invalid("cond", "its value %s", err.Message)
	}
	return nil
}

// checkForMany refuses what only one key can be asked.
func (c Cond) checkForMany() *Error {
	if c.Kind == CondVersion || c.Kind == CondValue {
		return Invalid("cond", "asks for one version or value of several keys; use a transaction")
	}
	return c.check(Limits{})
}

// appendTo appends nil for the zero Cond, else [kind, version, value, show].
func (c Cond) appendTo(b []byte) []byte {
	if c.Kind == CondNone && !c.Show && c.Version == 0 && len(c.Value) == 0 {
		return append(b, mpNil)
	}
	b = appendArray(b, 4)
	b = appendUint(b, uint64(c.Kind))
	b = appendUint(b, c.Version)
	b = appendBytes(b, c.Value)
	return appendBool(b, c.Show)
}

func (r *reader) cond() Cond {
	if r.null() {
		return Cond{}
	}
	if n := r.array("cond"); n != 4 {
		r.fail("cond: %d elements, want 4", n)
		return Cond{}
	}
	kind := r.uint("cond.kind")
	if kind > uint64(CondValue) {
		r.fail("cond: kind %d is unknown", kind)
	}
	c := Cond{Kind: CondKind(kind), Version: r.uint("cond.version"), Value: r.bytes("cond.value"), Show: r.bool("cond.show")}
	if len(c.Value) == 0 {
		c.Value = nil
	}
	return c
}

func (c Cond) holds(rec Record, found bool) bool {
	if mutant.SkipCondition {
		return true
	}
	switch c.Kind {
	case CondAbsent:
		return !found
	case CondPresent:
		return found
	case CondVersion:
		return found && rec.Version == c.Version
	case CondValue:
		return found && bytes.Equal(rec.Value, c.Value)
	}
	return true
}

// judge looks at key and returns what stands there. If the condition does not hold,
// ok is false and res the answer.
func (c Cond) judge(v View, key []byte) (rec Record, found bool, res Result, ok bool) {
	rec, found = v.Lookup(key)
	if c.holds(rec, found) {
		return rec, found, Result{}, true
	}
	return rec, found, unmet(rec, found, v.Now(), c.Show), false
}

// judgeOneOf looks at one of many keys. If the condition does not hold, ok is false
// and res the answer, whose only item names the key.
func (c Cond) judgeOneOf(v View, key []byte) (res Result, ok bool) {
	_, _, res, ok = c.judge(v, key)
	if ok {
		return Result{}, true
	}
	item := Item{Key: key, Version: res.Version, Found: res.Found, Value: res.Value, TTL: res.TTL}
	return Result{Unmet: true, Items: []Item{item}}, false
}

// unmet is the answer to a condition that does not hold.
func unmet(rec Record, found bool, now int64, show bool) Result {
	res := Result{Unmet: true, Found: found, Version: rec.Version, TTL: untilDeadline(rec.Deadline, now)}
	if show {
		res.Value = rec.Value
	}
	return res
}
