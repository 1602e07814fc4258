package raftfsm

import (
	"bytes"
	"cmp"
	"maps"
	"slices"

	"pgregory.net/rapid"

	"github.com/ringraft/ringraft/lru"
	"github.com/ringraft/ringraft/op"
)

// modelSession keeps results as they were given.
type modelSession struct {
	ttl, deadline int64
	floor         uint64
	answers       map[uint64]op.Result
}

func (x modelSession) bytes() int64 {
	sum := int64(128)
	for _, res := range x.answers {
		sum += 64 + int64(len(res.AppendTo(nil)))
	}
	return sum
}

func (x modelSession) check(t *rapid.T, got *session) {
	if got == nil || got.ttl != x.ttl || got.deadline != x.deadline || got.floor != x.floor || got.answers.len() != len(x.answers) {
		t.Fatalf("session %+v, want %+v", got, x)
	}
	for _, a := range got.answers.list() {
		res, ok := x.answers[a.sequence]
		if encoded := a.appendTo(nil); !ok || !bytes.Equal(res.AppendTo(nil), encoded) {
			t.Fatalf("session %d: the answer to %d is %x, want %+v", got.id, a.sequence, encoded, res)
		}
	}
}

func (m *model) sessionBytes() (sum int64) {
	for _, x := range m.sessions {
		sum += x.bytes()
	}
	return sum
}

func (m *model) sweepSessions(limit int) (n int) {
	ids := slices.SortedFunc(maps.Keys(m.sessions), func(a, b uint64) int {
		return cmp.Or(cmp.Compare(m.sessions[a].deadline, m.sessions[b].deadline), cmp.Compare(a, b))
	})
	for _, id := range ids {
		if n < limit && m.sessions[id].deadline <= m.time {
			delete(m.sessions, id)
			n++
		}
	}
	return n
}

// pinned is the bytes of what can't be evicted and has not ended, with the records
// of these keys.
func (m *model) pinned(keys map[string]bool) int64 {
	sum := m.reserved
	for k, it := range m.records {
		if (it.Protected || keys[k]) && !m.past(it, m.time) {
			sum += cost(k, string(it.Value))
		}
	}
	for _, x := range m.sessions {
		if x.deadline > m.time {
			sum += x.bytes()
		}
	}
	return sum
}

func noRoom() *op.Error { return &op.Error{Kind: op.KindOutOfMemory} }

func (m *model) OpenSession(ttl int64) (uint64, *op.Error) {
	if m.pinned(nil)+128 > m.limit {
		return 0, noRoom()
	}
	m.opened++
	m.sessions[m.opened] = modelSession{ttl: ttl, deadline: m.time + ttl, floor: 1, answers: map[uint64]op.Result{}}
	m.reclaim(0)
	m.evict()
	return m.opened, nil
}

func (m *model) CloseSession(id uint64) bool {
	x, ok := m.sessions[id]
	delete(m.sessions, id)
	return ok && x.deadline > m.time
}

// once is the reference of what a session promises.
func (m *model) once(c op.Command, words *op.Error) op.Result {
	x, ok := m.sessions[c.Session]
	if !ok || x.deadline <= m.time {
		return op.Fail(&op.Error{Kind: op.KindSessionEnded})
	}
	x.deadline = m.time + x.ttl
	x.floor = max(x.floor, c.Acknowledged)
	maps.DeleteFunc(x.answers, func(sequence uint64, _ op.Result) bool { return sequence < x.floor })
	m.sessions[c.Session] = x
	if c.Sequence < x.floor {
		return op.Fail(op.Invalid("sequence", ""))
	}
	if res, answered := x.answers[c.Sequence]; answered {
		return res
	}
	full := m.pinned(nil)+1024 > m.limit
	before := m.live()
	if code := c.Op.Code(); full && code != op.CodeDelete && code != op.CodeMDelete {
		return op.Fail(noRoom())
	}
	m.reserved = 1024
	res := m.run(c.Op)
	m.reserved = 0
	if full && m.live() == before {
		return op.Fail(noRoom())
	}
	if res.Err != nil && words != nil && words.Kind == res.Err.Kind {
		res.Err = words
	}
	m.sessions[c.Session].answers[c.Sequence] = res // run may have replaced the map
	m.reclaim(0)
	m.evict()
	return res
}

// live returns how many records have not ended.
func (m *model) live() (n int) {
	for _, it := range m.records {
		if !m.past(it, m.time) {
			n++
		}
	}
	return n
}

// run applies an operation. Those of many parts, which rehearse on the state, it runs
// in place, to take everything back if a part fails.
func (m *model) run(o op.Op) op.Result {
	switch o := o.(type) {
	case op.Txn:
		return m.txn(o)
	case op.MSet:
		return m.mset(o)
	case op.Write:
		return o.Apply(m)
	}
	return o.(op.Read).Read(m)
}

func (m *model) txn(o op.Txn) op.Result {
	var res op.Result
	branch := o.Then
	for _, c := range o.Compares {
		// An expire tells by its result whether the condition holds.
		if trial := (op.Expire{Key: c.Key, Cond: c.Cond}).Apply(m.clone()); trial.Unmet {
			res.Unmet, branch = true, o.Else
		}
	}
	if res.Unmet && len(o.Else) == 0 {
		for _, c := range o.Compares {
			is := op.Get{Key: c.Key}.Read(m)
			item := op.Item{Key: c.Key, Found: is.Found, Version: is.Version, TTL: is.TTL}
			if c.Cond.Show {
				item.Value = is.Value
			}
			res.Items = append(res.Items, item)
		}
		return res
	}
	results, err := m.attempt(branch)
	if err != nil {
		return op.Fail(err)
	}
	res.Results = results
	return res
}

func (m *model) mset(o op.MSet) op.Result {
	var parts []op.Op
	for _, p := range o.Pairs {
		if is := (op.Get{Key: p.Key}).Read(m); o.Cond.Kind == op.CondAbsent && is.Found || o.Cond.Kind == op.CondPresent && !is.Found {
			item := op.Item{Key: p.Key, Found: is.Found, Version: is.Version, TTL: is.TTL}
			if o.Cond.Show {
				item.Value = is.Value
			}
			return op.Result{Unmet: true, Items: []op.Item{item}}
		}
		parts = append(parts, op.Set{Key: p.Key, Value: p.Value, TTL: o.TTL})
	}
	results, err := m.attempt(parts)
	if err != nil {
		return op.Fail(err)
	}
	var res op.Result
	for i, r := range results {
		res.Items = append(res.Items, op.Item{Key: o.Pairs[i].Key, Version: r.Version, Found: r.Found})
	}
	return res
}

// attempt runs the parts, and takes all back when one fails, or when there is no room
// for all that the parts before have left. It evicts when all have run.
func (m *model) attempt(parts []op.Op) ([]op.Result, *op.Error) {
	before := m.clone()
	m.together = true
	changed := map[string]bool{}
	var results []op.Result
	for _, o := range parts {
		pinned := m.pinned(changed)
		res := m.run(o)
		w, writes := o.(op.Write)
		if writes {
			changed[string(keyOf(w))] = true
		}
		_, amends := o.(op.Expire)
		grows := m.pinned(changed) > pinned || writes && !amends && o.Code() != op.CodeDelete
		err := res.Err
		switch {
		case err != nil:
		case res.Unmet:
			err = &op.Error{Kind: op.KindConflict}
		case grows && m.pinned(changed) > m.limit:
			err = noRoom()
		}
		if err != nil {
			*m = *before
			return nil, err
		}
		results = append(results, res)
	}
	m.together = false
	m.evict()
	return results, nil
}

func (m *model) clone() *model {
	c := *m
	c.versions, c.records, c.sessions = maps.Clone(m.versions), map[string]lru.Item{}, map[uint64]modelSession{}
	maps.Copy(c.records, m.records)
	for id, x := range m.sessions {
		x.answers = maps.Clone(x.answers)
		c.sessions[id] = x
	}
	return &c
}

// The model runs operations of many parts itself, so these are not asked.

func (m *model) Room(int64) *op.Error      { return nil }
func (m *model) Cost(key, value int) int64 { return 64 + int64(key+value) }
func (m *model) Together(run func())       { run() }
