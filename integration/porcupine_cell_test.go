package integration

import (
	"fmt"
	"strconv"

	"github.com/anishathalye/porcupine"

	"github.com/ringraft/ringraft/op"
)

// cell is what a model knows of one key. A write of unknown outcome gives it a version
// that nobody has been told: then version is one that the real one exceeds.
type cell struct {
	found   bool
	value   string
	version uint64 // of the record, or of the last change before it is gone
	exact   bool   // version is the record's own
}

// values are what was seen to stand under keys' versions. Since histories write no
// value twice, they tell whether a condition on a version holds where the cell does
// not know its version.
type values map[keyVersion]string

type keyVersion struct {
	key     string
	version uint64
}

// valuesOf returns what the history says of versions, and an error if it says two
// things of one.
func (h *history) valuesOf() (values, error) {
	seen := values{}
	note := func(key []byte, version uint64, value []byte) error {
		at := keyVersion{string(key), version}
		if before, again := seen[at]; again && before != string(value) {
			return fmt.Errorf("%s: version %d of %s stands for %q and for %q", h.name, version, key, before, value)
		}
		seen[at] = string(value)
		return nil
	}
	for _, past := range h.past {
		if res := past.Output.(answer); res != nil {
			if err := eachShown(past.Input.(op.Op), res, note); err != nil {
				return nil, err
			}
		}
	}
	return seen, nil
}

// eachShown calls note with the versions, and their values, that an answer tells of.
func eachShown(o op.Op, res answer, note func(key []byte, version uint64, value []byte) error) error {
	switch o := o.(type) {
	case op.Get:
		if res.Found {
			return note(o.Key, res.Version, res.Value)
		}
	case op.Set:
		if !res.Unmet && res.Version != 0 {
			return note(o.Key, res.Version, o.Value)
		}
	case op.MGet:
		for _, it := range res.Items {
			if it.Found {
				if err := note(it.Key, it.Version, it.Value); err != nil {
					return err
				}
			}
		}
	case op.MSet:
		for i, it := range res.Items {
			if !res.Unmet {
				if err := note(it.Key, it.Version, o.Pairs[i].Value); err != nil {
					return err
				}
			}
		}
	case op.Txn:
		for i, r := range res.Results {
			if err := eachShown(branchOf(o, res.Unmet)[i], &told{Result: r}, note); err != nil {
				return err
			}
		}
	}
	return nil
}

// cellModel is the model of one key under Get, Set, Delete and Add with conditions.
func cellModel(seen values) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return cell{} },
		Step: func(state, input, output any) (bool, any) {
			next, ok := state.(cell).step(input.(op.Op), output.(answer), seen)
			return ok, next
		},
		DescribeOperation: describeOperation,
	}
}

// step returns the cell after o, and whether res can be the answer to it.
func (c cell) step(o op.Op, res answer, seen values) (cell, bool) {
	switch o := o.(type) {
	case op.Get:
		return c.shows(res.Found, res.Version, res.Value)
	case op.Set:
		if !c.meets(o.Key, o.Cond, seen) {
			return c.refuses(o.Cond, res)
		}
		return c.becomes(string(o.Value), res)
	case op.Delete:
		switch {
		case !c.meets(o.Key, o.Cond, seen):
			return c.refuses(o.Cond, res)
		case !c.found:
			return c, res == nil || !res.Unmet && !res.Found && res.Version == 0
		case res != nil && !res.Found:
			return c, false
		}
		next, ok := c.becomes("", res)
		next.found, next.exact = false, false
		return next, ok
	case op.Add:
		return c.add(o, res, seen)
	}
	panic(fmt.Sprintf("no model of %s", o.Code()))
}

// meets reports whether a condition holds.
func (c cell) meets(key []byte, cond op.Cond, seen values) bool {
	switch cond.Kind {
	case op.CondAbsent:
		return !c.found
	case op.CondPresent:
		return c.found
	case op.CondValue:
		return c.found && c.value == string(cond.Value)
	case op.CondVersion:
		if c.exact || !c.found {
			return c.found && c.version == cond.Version
		}
		value, known := seen[keyVersion{string(key), cond.Version}]
		return known && value == c.value && cond.Version > c.version
	}
	return true
}

// shows is a step that tells what stands there.
func (c cell) shows(found bool, version uint64, value []byte) (cell, bool) {
	if !found || !c.found {
		return c, found == c.found
	}
	if c.exact && version != c.version || !c.exact && version <= c.version || c.value != string(value) {
		return c, false
	}
	c.version, c.exact = version, true
	return c, true
}

// refuses is a step whose condition does not hold.
func (c cell) refuses(cond op.Cond, res answer) (cell, bool) {
	switch {
	case res == nil:
		return c, true
	case !res.Unmet:
		return c, false
	case cond.Show:
		return c.shows(res.Found, res.Version, res.Value)
	}
	return c.shows(res.Found, res.Version, []byte(c.value))
}

// becomes is a step that writes.
func (c cell) becomes(value string, res answer) (cell, bool) {
	next := cell{found: true, value: value, version: c.version}
	if res == nil {
		return next, true
	}
	switch {
	case res.Unmet, !res.brief && res.Found != c.found:
		return c, false
	case res.brief && res.Version == 0:
		return next, true
	}
	next.version, next.exact = res.Version, true
	return next, res.Version > c.version
}

func (c cell) add(o op.Add, res answer, seen values) (cell, bool) {
	if !c.meets(o.Key, o.Cond, seen) {
		return c.refuses(o.Cond, res)
	}
	var n int64
	if c.found {
		var err error
		if n, err = strconv.ParseInt(c.value, 10, 64); err != nil {
			return c, res == nil
		}
	}
	sum := n + o.Delta
	bounded := sum
	if o.Min != nil {
		bounded = max(bounded, *o.Min)
	}
	if o.Max != nil {
		bounded = min(bounded, *o.Max)
	}
	if bounded != sum && !o.Clamp {
		next, ok := c.refuses(o.Cond, res)
		return next, ok && (res == nil || res.Number == n)
	}
	next, ok := c.becomes(strconv.FormatInt(bounded, 10), res)
	return next, ok && (res == nil || res.Number == bounded)
}

func describeOperation(input, output any) string {
	said := "unknown"
	if res := output.(answer); res != nil {
		said = describeResult(res.Result)
	}
	return fmt.Sprintf("%s → %s", describeOp(input.(op.Op)), said)
}

func describeOp(o op.Op) string {
	switch o := o.(type) {
	case op.Get:
		return fmt.Sprintf("get %s", o.Key)
	case op.Set:
		return fmt.Sprintf("set %s=%s%s", o.Key, o.Value, describeCond(o.Cond))
	case op.Delete:
		return fmt.Sprintf("delete %s%s", o.Key, describeCond(o.Cond))
	case op.Add:
		return fmt.Sprintf("add %s %+d clamp=%v", o.Key, o.Delta, o.Clamp)
	case op.Txn:
		text := "if"
		for _, c := range o.Compares {
			text += fmt.Sprintf(" %s%s", c.Key, describeCond(c.Cond))
		}
		return text + " then" + describeOps(o.Then) + " else" + describeOps(o.Else)
	}
	return fmt.Sprintf("%s %s", o.Code(), fmt.Sprintf("%s", o))
}

func describeOps(ops []op.Op) (text string) {
	for _, o := range ops {
		text += " " + describeOp(o)
	}
	return text
}

func describeCond(c op.Cond) string {
	switch c.Kind {
	case op.CondAbsent:
		return " if absent"
	case op.CondPresent:
		return " if present"
	case op.CondVersion:
		return fmt.Sprintf(" if @%d", c.Version)
	case op.CondValue:
		return fmt.Sprintf(" if =%s", c.Value)
	}
	return ""
}

func describeResult(res op.Result) string {
	text := fmt.Sprintf("@%d", res.Version)
	if res.Unmet {
		text = "unmet, " + text
	}
	if !res.Found {
		text += " absent"
	}
	if len(res.Value) > 0 {
		text += " " + string(res.Value)
	}
	if res.Number != 0 {
		text += fmt.Sprintf(" =%d", res.Number)
	}
	for _, it := range res.Items {
		text += fmt.Sprintf(" %s=%s@%d", it.Key, it.Value, it.Version)
	}
	for _, r := range res.Results {
		text += " [" + describeResult(r) + "]"
	}
	return text
}
