package resp

import (
	"math"
	"strings"

	"github.com/ringraft/ringraft/op"
)

func expiryCommands() []command {
	var list []command
	for _, name := range []string{"expire", "pexpire", "expireat", "pexpireat"} {
		list = append(list, command{name: name, arity: -3, flags: "write fast", keys: oneKey, timed: true, plan: planExpire, steps: stepsExpire, summary: "Sets the expiration time of a key."})
	}
	for _, name := range []string{"ttl", "pttl", "expiretime", "pexpiretime"} {
		list = append(list, command{name: name, arity: 2, flags: "readonly fast", keys: oneKey, timed: true, plan: planTTL, summary: "Returns the expiration time of a key."})
	}
	return append(list, command{name: "persist", arity: 2, flags: "write fast", keys: oneKey, steps: stepsPersist, summary: "Removes the expiration time of a key."})
}

// expireFlags say when a deadline is changed.
type expireFlags struct{ nx, xx, gt, lt bool }

func parseExpireFlags(args [][]byte) (f expireFlags, err error) {
	for _, a := range args {
		switch strings.ToUpper(string(a)) {
		case "NX":
			f.nx = true
		case "XX":
			f.xx = true
		case "GT":
			f.gt = true
		case "LT":
			f.lt = true
		default:
			return f, failure("ERR Unsupported option " + string(a))
		}
	}
	switch {
	case f.nx && (f.xx || f.gt || f.lt):
		return f, failure("ERR NX and XX, GT or LT options at the same time are not compatible")
	case f.gt && f.lt:
		return f, failure("ERR GT and LT options at the same time are not compatible")
	}
	return f, nil
}

// allow reports whether the deadline old, 0 being none, may become deadline.
func (f expireFlags) allow(old, deadline int64) bool {
	switch {
	case f.nx && old != 0, f.xx && old == 0:
		return false
	case f.gt:
		return old != 0 && deadline > old
	case f.lt:
		return old == 0 || deadline < old
	}
	return true
}

func parseExpire(q query) (f expireFlags, deadline int64, err error) {
	if f, err = parseExpireFlags(q.args[2:]); err != nil {
		return f, 0, err
	}
	n, ok := parseInteger(q.args[1])
	if !ok {
		return f, 0, errNotInteger
	}
	if q.name[0] != 'p' {
		if n > math.MaxInt64/1000 || n < math.MinInt64/1000 {
			return f, 0, errExpire(q.name)
		}
		n *= 1000
	}
	deadline, err = deadlineOf(q, n, strings.HasSuffix(q.name, "at"))
	return f, deadline, err
}

func planExpire(q query) (op.Op, render, error) {
	f, deadline, err := parseExpire(q)
	switch {
	case err != nil || f != expireFlags{}:
		return nil, nil, err
	case deadline <= q.now:
		return op.Delete{Key: q.args[0]}, renderFound, nil
	}
	return op.Expire{Key: q.args[0], TTL: ttlOf(deadline, q.now)}, renderFound, nil
}

func stepsExpire(t *attempt, q query, r *reply) error {
	f, deadline, err := parseExpire(q)
	if err != nil {
		return err
	}
	rec, found := t.Lookup(q.args[0])
	changed := found && f.allow(rec.Deadline, deadline)
	if changed {
		t.endAt(q.args[0], deadline)
	}
	r.flag(changed)
	return nil
}

func stepsPersist(t *attempt, q query, r *reply) error {
	rec, found := t.Lookup(q.args[0])
	if found && rec.Deadline != 0 {
		t.Amend(q.args[0], 0, false)
	}
	r.flag(found && rec.Deadline != 0)
	return nil
}

// planTTL answers -2 for a key that is not there, -1 for one without a deadline.
func planTTL(q query) (op.Op, render, error) {
	return op.Stat{Key: q.args[0]}, func(r *reply, res op.Result) {
		switch {
		case !check(r, res):
		case !res.Found:
			r.integer(-2)
		case res.TTL == 0:
			r.integer(-1)
		case q.name == "ttl":
			r.integer((res.TTL + 500) / 1000)
		case q.name == "pttl":
			r.integer(res.TTL)
		case q.name == "expiretime":
			r.integer((res.TTL + q.now + 500) / 1000)
		default:
			r.integer(res.TTL + q.now)
		}
	}, nil
}
