package integration

import (
	"fmt"

	"github.com/anishathalye/porcupine"

	"github.com/ringraft/ringraft/op"
)

// tableKeys is how many keys the object of multi-key operations has.
const tableKeys = 3

// cells are a few keys that are read and written together, as one object.
type cells [tableKeys]cell

// tableModel is the model of keys under MGet, MSet, MDelete and Txn, and what
// cellModel has.
func tableModel(keys [tableKeys]string, spanning bool, seen values) porcupine.Model {
	m := table{keys, spanning, seen}
	return porcupine.Model{
		Init: func() any { return cells{} },
		Step: func(state, input, output any) (bool, any) {
			next, ok := m.step(state.(cells), input.(op.Op), output.(answer))
			return ok, next
		},
		DescribeOperation: describeOperation,
	}
}

type table struct {
	keys     [tableKeys]string
	spanning bool // the keys are in several slots
	seen     values
}

// step returns the cells after o, and whether res can be the answer to it.
func (m table) step(s cells, o op.Op, res answer) (cells, bool) {
	switch o := o.(type) {
	case op.MGet:
		return m.shows(s, res.Items)
	case op.MSet:
		var ops []op.Op
		for _, p := range o.Pairs {
			ops = append(ops, op.Set{Key: p.Key, Value: p.Value, Cond: o.Cond})
		}
		return m.all(s, ops, resultsOf(res))
	case op.MDelete:
		var ops []op.Op
		for _, key := range o.Keys {
			ops = append(ops, op.Delete{Key: key, Cond: o.Cond})
		}
		return m.all(s, ops, resultsOf(res))
	case op.Txn:
		return m.txn(s, o, res)
	}
	return m.all(s, []op.Op{o}, []answer{res})
}

// resultsOf returns what an answer on many keys says of each, and nil if it is unknown.
func resultsOf(res answer) (each []answer) {
	if res == nil {
		return nil
	}
	for _, it := range res.Items {
		each = append(each, &told{Result: op.Result{Version: it.Version, Found: it.Found, Value: it.Value}})
	}
	for _, r := range res.Results {
		each = append(each, &told{Result: r})
	}
	return each
}

func (m table) txn(s cells, o op.Txn, res answer) (cells, bool) {
	unmet := false
	for _, c := range o.Compares {
		unmet = unmet || !s[m.at(c.Key)].meets(c.Key, c.Cond, m.seen)
	}
	if res != nil && res.Unmet != unmet {
		return s, false
	}
	if unmet && len(o.Else) == 0 {
		if res == nil {
			return s, true
		}
		return m.shows(s, res.Items)
	}
	each := resultsOf(res)
	if res != nil && len(res.Results) == 0 {
		each = nil // it was done, and its results are lost
	}
	return m.all(s, branchOf(o, unmet), each)
}

// branchOf returns the operations that a transaction runs.
func branchOf(o op.Txn, unmet bool) []op.Op {
	if unmet {
		return o.Else
	}
	return o.Then
}

// all is a step of several operations, of which the answers are nil if unknown.
func (m table) all(s cells, ops []op.Op, each []answer) (cells, bool) {
	if each != nil && len(each) != len(ops) {
		return s, false
	}
	for i, o := range ops {
		var res answer
		if each != nil {
			res = each[i]
		}
		if _, reads := o.(op.Get); reads && res == nil {
			continue
		}
		at, ok := m.at(keyIn(o)), false
		if s[at], ok = s[at].step(o, m.withoutVersion(o, res), m.seen); !ok {
			return s, false
		}
	}
	return s, true
}

// withoutVersion returns nil for the answer to a write that was done in another group
// than tells of it, and did not learn the version in time.
func (m table) withoutVersion(o op.Op, res answer) answer {
	_, deletes := o.(op.Delete)
	_, sets := o.(op.Set)
	if m.spanning && res != nil && res.Version == 0 && (sets || deletes && res.Found) {
		return nil
	}
	return res
}

// shows is a step that tells what stands at some keys, all with their values.
func (m table) shows(s cells, items []op.Item) (cells, bool) {
	for _, it := range items {
		at, ok := m.at(it.Key), false
		if s[at], ok = s[at].shows(it.Found, it.Version, it.Value); !ok {
			return s, false
		}
	}
	return s, true
}

func (m table) at(key []byte) int {
	for i, k := range m.keys {
		if k == string(key) {
			return i
		}
	}
	panic(fmt.Sprintf("no key %q", key))
}

func keyIn(o op.Op) []byte {
	switch o := o.(type) {
	case op.Get:
		return o.Key
	case op.Set:
		return o.Key
	case op.Delete:
		return o.Key
	case op.Add:
		return o.Key
	}
	panic(fmt.Sprintf("no model of %s", o.Code()))
}
