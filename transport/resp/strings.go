package resp

import (
	"bytes"
	"math"

	"github.com/ringraft/ringraft/op"
)

func stringCommands() []command {
	return []command{
		{name: "get", arity: 2, flags: "readonly fast", keys: oneKey, plan: planGet, summary: "Returns the string value of a key."},
		{name: "set", arity: -3, flags: "write denyoom", keys: oneKey, timed: true, plan: planSet, steps: stepsSet, summary: "Sets the string value of a key."},
		{name: "setnx", arity: 3, flags: "write denyoom fast", keys: oneKey, plan: planSetNX, summary: "Sets the value of a key only when there is none."},
		{name: "setex", arity: 4, flags: "write denyoom", keys: oneKey, timed: true, plan: planSetEX, summary: "Sets the value and expiration time of a key."},
		{name: "psetex", arity: 4, flags: "write denyoom", keys: oneKey, timed: true, plan: planSetEX, summary: "Sets the value and expiration time in milliseconds of a key."},
		{name: "getset", arity: 3, flags: "write denyoom fast", keys: oneKey, steps: stepsGetSet, summary: "Returns the previous value of a key after setting a new one."},
		{name: "getdel", arity: 2, flags: "write fast", keys: oneKey, steps: stepsGetDel, summary: "Returns the value of a key after deleting it."},
		{name: "getex", arity: -2, flags: "write fast", keys: oneKey, timed: true, steps: stepsGetEX, summary: "Returns the value of a key after setting its expiration time."},
		{name: "incr", arity: 2, flags: "write denyoom fast", keys: oneKey, plan: planAdd, summary: "Increments the integer value of a key by one."},
		{name: "decr", arity: 2, flags: "write denyoom fast", keys: oneKey, plan: planAdd, summary: "Decrements the integer value of a key by one."},
		{name: "incrby", arity: 3, flags: "write denyoom fast", keys: oneKey, plan: planAdd, summary: "Increments the integer value of a key by a number."},
		{name: "decrby", arity: 3, flags: "write denyoom fast", keys: oneKey, plan: planAdd, summary: "Decrements the integer value of a key by a number."},
		{name: "incrbyfloat", arity: 3, flags: "write denyoom fast", keys: oneKey, steps: stepsIncrByFloat, summary: "Increments the number at a key by a floating point number."},
		{name: "append", arity: 3, flags: "write denyoom fast", keys: oneKey, steps: stepsAppend, summary: "Appends a string to the value of a key."},
		{name: "strlen", arity: 2, flags: "readonly fast", keys: oneKey, plan: planStrlen, summary: "Returns the length of a string value."},
		{name: "getrange", arity: 4, flags: "readonly", keys: oneKey, plan: planGetRange, summary: "Returns a part of the string at a key."},
		{name: "substr", arity: 4, flags: "readonly", keys: oneKey, plan: planGetRange, summary: "Returns a part of the string at a key."},
		{name: "setrange", arity: 4, flags: "write denyoom", keys: oneKey, steps: stepsSetRange, summary: "Overwrites a part of a string value."},
	}
}

func planGet(q query) (op.Op, render, error) { return op.Get{Key: q.args[0]}, renderValue, nil }

func renderValue(r *reply, res op.Result) {
	switch {
	case !check(r, res):
	case res.Found:
		r.bulk(res.Value)
	default:
		r.null()
	}
}

func renderFound(r *reply, res op.Result) {
	if check(r, res) {
		r.flag(res.Found)
	}
}

func renderNumber(r *reply, res op.Result) {
	if check(r, res) {
		r.integer(res.Number)
	}
}

func planAdd(q query) (op.Op, render, error) {
	delta := int64(1)
	if len(q.args) == 2 {
		n, ok := parseInteger(q.args[1])
		if !ok {
			return nil, nil, errNotInteger
		}
		delta = n
	}
	if q.name == "decr" || q.name == "decrby" {
		if delta == math.MinInt64 {
			return nil, nil, failure("ERR decrement would overflow")
		}
		delta = -delta
	}
	return op.Add{Key: q.args[0], Delta: delta}, renderNumber, nil
}

func planStrlen(q query) (op.Op, render, error) { return op.Stat{Key: q.args[0]}, renderNumber, nil }

func planGetRange(q query) (op.Op, render, error) {
	start, ok1 := parseInteger(q.args[1])
	end, ok2 := parseInteger(q.args[2])
	if !ok1 || !ok2 {
		return nil, nil, errNotInteger
	}
	return op.Get{Key: q.args[0]}, func(r *reply, res op.Result) {
		if check(r, res) {
			r.bulk(slice(res.Value, start, end))
		}
	}, nil
}

// slice returns the bytes from start to end, both included, those below 0 counting from
// the end of v.
func slice(v []byte, start, end int64) []byte {
	n := int64(len(v))
	if start < 0 && end < 0 && start > end {
		return nil
	}
	if start < 0 {
		start = max(start+n, 0)
	}
	if end < 0 {
		end = max(end+n, 0)
	}
	if end = min(end, n-1); start > end {
		return nil
	}
	return v[start : end+1]
}

func stepsGetSet(t *attempt, q query, r *reply) error {
	rec, found := t.Lookup(q.args[0])
	if !found {
		r.null()
	} else {
		r.bulk(rec.Value)
	}
	return t.put(q.args[0], q.args[1], 0)
}

func stepsGetDel(t *attempt, q query, r *reply) error {
	rec, found := t.Lookup(q.args[0])
	if !found {
		r.null()
		return nil
	}
	r.bulk(rec.Value)
	t.Remove(q.args[0])
	return nil
}

func stepsIncrByFloat(t *attempt, q query, r *reply) error {
	rec, found := t.Lookup(q.args[0])
	if !found {
		rec.Value = []byte("0")
	}
	n, ok1 := parseFloat(rec.Value)
	delta, ok2 := parseFloat(q.args[1])
	if !ok1 || !ok2 {
		return errNotFloat
	}
	sum, finite := addFloats(n, delta)
	if !finite {
		return failure("ERR increment would produce NaN or Infinity")
	}
	r.text(sum)
	return t.put(q.args[0], []byte(sum), rec.Deadline)
}

func stepsAppend(t *attempt, q query, r *reply) error {
	rec, _ := t.Lookup(q.args[0])
	if len(rec.Value)+len(q.args[1]) > maxArg {
		return errTooLong
	}
	value := append(bytes.Clone(rec.Value), q.args[1]...)
	r.integer(int64(len(value)))
	return t.put(q.args[0], value, rec.Deadline)
}

func stepsSetRange(t *attempt, q query, r *reply) error {
	offset, ok := parseInteger(q.args[1])
	switch {
	case !ok:
		return errNotInteger
	case offset < 0:
		return errOffset
	}
	rec, _ := t.Lookup(q.args[0])
	part := q.args[2]
	if len(part) == 0 {
		r.integer(int64(len(rec.Value)))
		return nil
	}
	if offset > maxArg || int(offset)+len(part) > maxArg {
		return errTooLong
	}
	value := make([]byte, max(len(rec.Value), int(offset)+len(part)))
	copy(value, rec.Value)
	copy(value[offset:], part)
	r.integer(int64(len(value)))
	return t.put(q.args[0], value, rec.Deadline)
}
