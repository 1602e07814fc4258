package httpapi

import (
	"bytes"
	"crypto/rand"
	"slices"
	"time"

	"github.com/ringraft/ringraft/internal/backoff"
	"github.com/ringraft/ringraft/op"
)

// minPause and maxPause bound the pauses between the tries of a transaction over several
// groups, which double.
const (
	minPause = 5 * time.Millisecond
	maxPause = 200 * time.Millisecond
)

// changeAll does a transaction. One whose keys belong to several groups gets an id, and
// another one for each try: what is refused since a group cannot be reached, or others
// have locked a key, has done nothing and is tried again while there is time.
func (c *call) changeAll(txn op.Txn) op.Result {
	if !c.spans(txn) {
		return c.change(txn)
	}
	done := c.keepWithin(&txn)
	for try := 0; ; try++ {
		txn.ID = make([]byte, op.TxnIDSize)
		_, _ = rand.Read(txn.ID) // it never fails
		res := c.server.cfg.Node.Do(c.ctx, op.Request{Op: txn})
		if res.Err == nil {
			c.noteAll(res.Detail)
			return done(res)
		}
		again := res.Err.Kind == op.KindLocked || res.Err.Kind == op.KindUnavailable
		if res.Err.Kind == op.KindUnknown && c.once != nil {
			again, c.once.doubted = true, true
		}
		if !again || (backoff.Backoff{Min: minPause, Max: maxPause}).Pause(c.ctx, try) != nil {
			return c.inDoubt(res)
		}
	}
}

// inDoubt returns the failure of the last try, or the doubt that an earlier one left.
func (c *call) inDoubt(res op.Result) op.Result {
	if c.once != nil && c.once.doubted && res.Err.Is(op.ErrUnavailable) {
		return op.Fail(op.UnknownOutcome("%s", res.Err.Message))
	}
	return res
}

// spans reports whether the keys of a transaction belong to several groups. Without
// an else, that is: with one, they must not.
func (c *call) spans(txn op.Txn) bool {
	if txn.NumSlots() == 0 || len(txn.Else) > 0 {
		return false
	}
	group := c.server.cfg.Node.Group(txn.Slot(0))
	for i := range txn.NumSlots() {
		if c.server.cfg.Node.Group(txn.Slot(i)) != group {
			return true
		}
	}
	return false
}

// noteAll notes the indexes at which groups show a transaction over several of them. A
// group that did not answer in time is missing: session reads may not show it yet.
func (c *call) noteAll(detail []byte) {
	var shown []op.GroupIndex
	if op.DecodeDetail(detail, &shown) != nil {
		return // the transaction is done all the same
	}
	for _, at := range shown {
		c.seen.note(at.Group, at.Index)
	}
}

// keepWithin makes a transaction over groups be done once, if the call has an idempotency
// key: its home for that is the slot of its first key. In the entry that commits, the
// answer is not known yet, so it is kept with another one. The function returned makes
// the call's result of the transaction's.
func (c *call) keepWithin(txn *op.Txn) (done func(op.Result) op.Result) {
	if c.once == nil {
		return func(res op.Result) op.Result { return res }
	}
	slot, key, pending := txn.Slot(0), c.once.answerKey(txn.Slot(0)), op.Kept(c.once.mark[:], op.Result{})
	ops := len(txn.Then)
	txn.Compares = append(txn.Compares, op.Compare{Key: key, Cond: op.Cond{Kind: op.CondAbsent}})
	txn.Then = append(txn.Then, op.Set{Key: key, Value: pending, TTL: c.once.ttl, Protect: true})
	return func(res op.Result) op.Result {
		if res.Unmet {
			if kept, ok := c.keptInTime(slot); ok {
				return kept
			}
			res.Items = slices.DeleteFunc(res.Items, func(it op.Item) bool { return bytes.Equal(it.Key, key) })
			return res
		}
		if len(res.Results) > ops { // else they were lost on the way
			res.Results = res.Results[:ops]
			// If this fails, a repeat tells that it was done, without the results.
			c.ask(op.Set{
				Key: key, Value: op.Kept(c.once.mark[:], op.Result{Results: res.Results}), KeepTTL: true, Protect: true,
				Cond: op.Cond{Kind: op.CondValue, Value: pending},
			}, op.Local, 0)
		}
		return res
	}
}

// keptTries is how often a repeat looks for results that the first request is about to
// keep, with pauses between.
const keptTries = 6

// keptInTime returns the answer to an earlier request, with its results if they come soon.
func (c *call) keptInTime(slot uint16) (res op.Result, ok bool) {
	for try := range keptTries {
		res, ok = c.kept(slot)
		if !ok || res.Err != nil || len(res.Results) > 0 || (backoff.Backoff{Min: minPause, Max: maxPause}).Pause(c.ctx, try) != nil {
			break
		}
	}
	return res, ok
}
