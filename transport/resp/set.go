package resp

import (
	"math"
	"slices"
	"strings"

	"github.com/ringraft/ringraft/op"
)

// setOptions are the options of SET and GETEX.
type setOptions struct {
	cond    op.Cond
	unequal []byte // IFNE: not if this stands there
	ifne    bool
	get     bool
	keepTTL bool
	persist bool
	expiry  expiryOption
}

// expiryOption is one of EX, PX, EXAT and PXAT; the zero one is none of them.
type expiryOption struct {
	unit     int64 // ms
	absolute bool
	amount   []byte
}

func (e expiryOption) given() bool { return e.unit != 0 }

// deadline returns when a key ends, in ms since the Unix epoch. It may have passed.
func (e expiryOption) deadline(q query) (int64, error) {
	n, ok := parseInteger(e.amount)
	if !ok {
		return 0, errNotInteger
	}
	if n <= 0 || n > math.MaxInt64/e.unit {
		return 0, errExpire(q.name)
	}
	return deadlineOf(q, n*e.unit, e.absolute)
}

// deadlineOf returns a deadline that a record can have: until op.MaxTTL from now.
func deadlineOf(q query, at int64, absolute bool) (int64, error) {
	if !absolute {
		if at > math.MaxInt64-q.now {
			return 0, errExpire(q.name)
		}
		at += q.now
	}
	if at > q.now && at-q.now > op.MaxTTL {
		return 0, errExpire(q.name)
	}
	return at, nil
}

// parse reads options, of which only those in allowed exist.
func (o *setOptions) parse(args [][]byte, allowed ...string) error {
	for len(args) > 0 {
		name := strings.ToUpper(string(args[0]))
		if !slices.Contains(allowed, name) {
			return errSyntax
		}
		n, err := o.take(name, args[1:])
		if err != nil {
			return err
		}
		args = args[1+n:]
	}
	return nil
}

// take notes one option, and returns how many of the arguments behind it belong to it.
func (o *setOptions) take(name string, args [][]byte) (n int, err error) {
	switch name {
	case "NX", "XX", "IFEQ", "IFNE":
		return o.takeCond(name, args)
	case "GET":
		o.get = true
		return 0, nil
	case "KEEPTTL", "PERSIST":
		if o.expiry.given() || o.keepTTL && name == "PERSIST" {
			return 0, errSyntax
		}
		o.keepTTL, o.persist = name == "KEEPTTL", name == "PERSIST"
		return 0, nil
	}
	e := expiryOption{unit: 1, absolute: strings.HasSuffix(name, "AT")}
	if name[0] == 'E' {
		e.unit = 1000
	}
	again := e.unit == o.expiry.unit && e.absolute == o.expiry.absolute
	if len(args) == 0 || o.keepTTL || o.persist || o.expiry.given() && !again {
		return 0, errSyntax
	}
	e.amount = args[0]
	o.expiry = e
	return 1, nil
}

func (o *setOptions) takeCond(name string, args [][]byte) (n int, err error) {
	kind := map[string]op.CondKind{"NX": op.CondAbsent, "XX": op.CondPresent, "IFEQ": op.CondValue, "IFNE": op.CondNone}[name]
	if (o.cond.Kind != op.CondNone || o.ifne) && (o.cond.Kind != kind || kind == op.CondValue || kind == op.CondNone) {
		return 0, errSyntax
	}
	o.cond.Kind = kind
	if name[0] != 'I' {
		return 0, nil
	}
	if len(args) == 0 {
		return 0, errSyntax
	}
	if o.ifne = name == "IFNE"; o.ifne {
		o.unequal = args[0]
	} else {
		o.cond.Value = args[0]
	}
	return 1, nil
}

func parseSet(q query) (o setOptions, deadline int64, err error) {
	if err = o.parse(q.args[2:], "NX", "XX", "IFEQ", "IFNE", "GET", "KEEPTTL", "EX", "PX", "EXAT", "PXAT"); err != nil {
		return o, 0, err
	}
	if o.expiry.given() {
		deadline, err = o.expiry.deadline(q)
	}
	return o, deadline, err
}

// planSet leaves to stepsSet what must look at the value that stood there.
func planSet(q query) (op.Op, render, error) {
	if len(q.args) == 2 {
		return op.Set{Key: q.args[0], Value: q.args[1]}, renderSet, nil
	}
	o, deadline, err := parseSet(q)
	if err != nil || o.get || o.ifne {
		return nil, nil, err
	}
	if deadline != 0 && deadline <= q.now {
		return op.Delete{Key: q.args[0], Cond: o.cond}, renderSet, nil
	}
	return op.Set{Key: q.args[0], Value: q.args[1], TTL: ttlOf(deadline, q.now), KeepTTL: o.keepTTL, Cond: o.cond}, renderSet, nil
}

// ttlOf returns the ms until a deadline that has not passed, 0 if it is none.
func ttlOf(deadline, now int64) int64 {
	if deadline == 0 {
		return 0
	}
	return max(deadline-now, 1)
}

func renderSet(r *reply, res op.Result) {
	switch {
	case !check(r, res):
	case res.Unmet:
		r.null()
	default:
		r.ok()
	}
}

func stepsSet(t *attempt, q query, r *reply) error {
	o, deadline, err := parseSet(q)
	if err != nil {
		return err
	}
	rec, found := t.Lookup(q.args[0])
	refused := o.refuses(rec, found)
	switch {
	case o.get && found:
		r.bulk(rec.Value)
	case o.get || refused:
		r.null()
	default:
		r.ok()
	}
	if refused {
		return nil
	}
	if o.keepTTL {
		deadline = rec.Deadline
	}
	return t.put(q.args[0], q.args[1], deadline)
}

// refuses reports whether what stands at the key keeps the value from being set.
func (o *setOptions) refuses(rec op.Record, found bool) bool {
	switch {
	case o.ifne:
		return found && string(rec.Value) == string(o.unequal)
	case o.cond.Kind == op.CondAbsent:
		return found
	case o.cond.Kind == op.CondPresent:
		return !found
	case o.cond.Kind == op.CondValue:
		return !found || string(rec.Value) != string(o.cond.Value)
	}
	return false
}

func planSetNX(q query) (op.Op, render, error) {
	return op.Set{Key: q.args[0], Value: q.args[1], Cond: op.Cond{Kind: op.CondAbsent}}, func(r *reply, res op.Result) {
		if check(r, res) {
			r.flag(!res.Unmet)
		}
	}, nil
}

func planSetEX(q query) (op.Op, render, error) {
	e := expiryOption{unit: 1000, amount: q.args[1]}
	if q.name == "psetex" {
		e.unit = 1
	}
	deadline, err := e.deadline(q)
	if err != nil {
		return nil, nil, err
	}
	return op.Set{Key: q.args[0], Value: q.args[2], TTL: ttlOf(deadline, q.now)}, renderSet, nil
}

func stepsGetEX(t *attempt, q query, r *reply) error {
	var o setOptions
	if err := o.parse(q.args[1:], "PERSIST", "EX", "PX", "EXAT", "PXAT"); err != nil {
		return err
	}
	rec, found := t.Lookup(q.args[0])
	if !found {
		r.null()
		return nil
	}
	r.bulk(rec.Value)
	switch {
	case o.persist && rec.Deadline != 0:
		t.Amend(q.args[0], 0, false)
	case o.expiry.given():
		deadline, err := o.expiry.deadline(q)
		if err != nil {
			return err
		}
		t.endAt(q.args[0], deadline)
	}
	return nil
}
