package resp

import (
	"bytes"
	"context"
	"maps"
	"slices"

	"github.com/ringraft/ringraft/op"
)

// attempt is one try at a transaction: what is read comes from the cluster with its
// version, what is written stays here until commit, which holds only if the versions
// still do. It is the op.State of the operations that are part of it; what they do not
// call is missing.
type attempt struct {
	op.State
	ctx    context.Context
	conn   *conn // whose transaction it is
	newest bool  // it reads what is the latest, not what the connection does
	latest bool  // what it reads must be the latest
	now    int64 // ms since the Unix epoch

	stood map[string]*record // at the keys looked at, in the cluster
	wrote map[string]*record // what the transaction leaves there
	order []string           // the keys of wrote, as they came
	held  int                // bytes of the values in both
	err   *op.Error          // why it cannot be: something could not be read, or it is too large
}

// maxHeld bounds the values that an attempt reads and writes, in bytes.
const maxHeld = 4 * op.MaxPayload

// record is what stands at a key; version 0 is nothing.
type record struct {
	value    []byte
	version  uint64
	deadline int64 // ms since the Unix epoch; 0 is none
	present  bool
	fresh    bool // the value is not the one that stood there
}

// newAttempt returns an attempt that reads as the connection does, or the newest.
func (c *conn) newAttempt(ctx context.Context, newest bool) *attempt {
	return &attempt{ctx: ctx, conn: c, newest: newest, now: c.server.cfg.Node.Now(), stood: map[string]*record{}, wrote: map[string]*record{}}
}

// read carries out a read in the cluster.
func (t *attempt) read(o op.Read) op.Result {
	if t.newest {
		return t.conn.newest(t.ctx, o)
	}
	return t.conn.do(t.ctx, o)
}

// hold notes that a value is kept, and reports whether it may be.
func (t *attempt) hold(value []byte) bool {
	if t.held += len(value); t.held > maxHeld && t.err == nil {
		t.err = op.Invalid("transaction", "reads and writes more than %d bytes", maxHeld)
	}
	return t.err == nil
}

// run carries out one operation.
func (t *attempt) run(o op.Op) op.Result {
	var res op.Result
	switch o := o.(type) {
	case op.Write:
		res = o.Apply(t)
	case op.Read:
		res = o.Read(t)
	}
	if t.err != nil && res.Err == nil {
		res = op.Fail(t.err)
	}
	return res
}

func (t *attempt) Now() int64 { return t.now }

func (t *attempt) Lookup(key []byte) (op.Record, bool) {
	rec := t.wrote[string(key)]
	if rec == nil {
		rec = t.standing(key)
	}
	if !rec.present {
		return op.Record{}, false
	}
	return op.Record{Value: rec.value, Version: rec.version, Deadline: rec.deadline}, true
}

// standing returns what the cluster has at key.
func (t *attempt) standing(key []byte) *record {
	if rec := t.stood[string(key)]; rec != nil {
		return rec
	}
	rec := new(record)
	res := t.read(op.Get{Key: key})
	switch {
	case res.Err != nil:
		t.err = res.Err
	case !res.Found || !t.hold(res.Value):
	default:
		*rec = record{value: res.Value, version: res.Version, present: true}
		if res.TTL > 0 {
			rec.deadline = t.now + res.TTL
		}
	}
	t.stood[string(key)] = rec
	return rec
}

// Store does not tell what it replaces: to know that, a write that does not depend on it
// would have to read.
func (t *attempt) Store(key []byte, r op.Record) (version uint64, replaced bool, err *op.Error) {
	t.leave(key, &record{value: bytes.Clone(r.Value), deadline: r.Deadline, present: true, fresh: true})
	return 0, false, nil
}

func (t *attempt) Amend(key []byte, deadline int64, _ bool) uint64 {
	rec, found := t.Lookup(key)
	if found {
		before := t.wrote[string(key)]
		t.leave(key, &record{value: rec.Value, deadline: deadline, present: true, fresh: before != nil && before.fresh})
	}
	return 0
}

func (t *attempt) Remove(key []byte) (uint64, bool) {
	_, found := t.Lookup(key)
	if found {
		t.leave(key, new(record))
	}
	return 0, found
}

func (t *attempt) leave(key []byte, rec *record) {
	if !t.hold(rec.value) {
		return
	}
	if before := t.wrote[string(key)]; before != nil {
		t.held -= len(before.value)
	}
	if t.wrote[string(key)] == nil {
		t.order = append(t.order, string(key))
	}
	t.wrote[string(key)] = rec
}

// mark is a place to which an attempt can go back.
type mark struct {
	wrote map[string]*record
	order int // keys
}

func (t *attempt) mark() mark { return mark{maps.Clone(t.wrote), len(t.order)} }

// rewind drops what was written since a mark. What was read stays read.
func (t *attempt) rewind(m mark) { t.wrote, t.order = m.wrote, t.order[:m.order] }

// txn returns the transaction that has the effects of this attempt, if all that it has
// looked at still stands, and the keys of watched with the versions noted there. What
// only reads one key needs none.
func (t *attempt) txn(watched map[string]uint64) (txn op.Txn, ok bool) {
	compared := maps.Clone(watched)
	if compared == nil {
		compared = map[string]uint64{}
	}
	for key, rec := range t.stood {
		if _, known := compared[key]; !known {
			compared[key] = rec.version
		}
	}
	txn.Compares = compares(compared)
	for _, key := range t.order {
		if o := t.effect(key); o != nil {
			txn.Then = append(txn.Then, o)
		}
	}
	return txn, len(txn.Then) > 0 || len(watched) > 0 || len(t.stood) > 1
}

// effect returns the operation that leaves key as the attempt does, nil for none.
func (t *attempt) effect(key string) op.Op {
	rec := t.wrote[key]
	ttl := int64(0)
	if rec.deadline != 0 {
		ttl = max(rec.deadline-t.now, 1)
	}
	switch {
	case rec.fresh && t.keepsDeadline(key, rec):
		return op.Set{Key: []byte(key), Value: rec.value, KeepTTL: true}
	case rec.fresh:
		return op.Set{Key: []byte(key), Value: rec.value, TTL: ttl}
	case rec.present:
		return op.Expire{Key: []byte(key), TTL: ttl}
	case t.standing([]byte(key)).present:
		return op.Delete{Key: []byte(key)}
	}
	return nil
}

// keepsDeadline reports whether the record ends when the one does that it replaces, which
// the transaction compares: its deadline is known here to a few ms only.
func (t *attempt) keepsDeadline(key string, rec *record) bool {
	stood := t.stood[key]
	return rec.deadline != 0 && stood != nil && stood.deadline == rec.deadline
}

// compares asks of each key whether the version that goes with it still stands there, 0
// being nothing.
func compares(versions map[string]uint64) []op.Compare {
	var list []op.Compare
	for _, key := range slices.Sorted(maps.Keys(versions)) {
		cond := op.Cond{Kind: op.CondAbsent}
		if version := versions[key]; version != 0 {
			cond = op.Cond{Kind: op.CondVersion, Version: version}
		}
		list = append(list, op.Compare{Key: []byte(key), Cond: cond})
	}
	return list
}

// put leaves value at key until deadline, or nothing if that has passed.
func (t *attempt) put(key, value []byte, deadline int64) error {
	o := op.Set{Key: key, Value: value}
	if err := o.Check(op.Limits{MaxValue: op.MaxValueLimit}); err != nil {
		return failureOf(err)
	}
	if deadline != 0 && deadline <= t.now {
		t.Remove(key)
		return nil
	}
	_, _, _ = t.Store(key, op.Record{Value: value, Deadline: deadline}) // it does not fail
	return nil
}

// endAt changes the deadline of what stands at key, and removes it if that has passed.
func (t *attempt) endAt(key []byte, deadline int64) {
	if deadline <= t.now {
		t.Remove(key)
	} else {
		t.Amend(key, deadline, false)
	}
}
