package raftfsm

import (
	"cmp"
	"slices"
)

// txnTable is the records of transactions of a group. It knows no limits and no time:
// see txns.go.
type txnTable struct {
	byKey map[string]*txnRecord
	locks map[string]*txnRecord // by the key locked

	// Each record is in one of these.
	open      txnQueue
	parts     txnQueue // finished
	decisions txnQueue // carried out

	numParts, numDecisions int

	bytes int64  // logical, of all records
	sum   uint64 // of all their terms
}

func newTxnTable() txnTable {
	return txnTable{byKey: map[string]*txnRecord{}, locks: map[string]*txnRecord{}}
}

func (t *txnTable) queue(r *txnRecord) *txnQueue {
	switch {
	case r.open():
		return &t.open
	case r.part != nil:
		return &t.parts
	}
	return &t.decisions
}

// put keeps r in the place of a record with its key, if there is one.
func (t *txnTable) put(r *txnRecord) {
	if old, ok := t.byKey[r.key]; ok {
		t.remove(old)
	}
	t.byKey[r.key] = r
	for _, key := range r.locks() {
		t.locks[string(key)] = r
	}
	t.queue(r).add(r)
	t.count(r, 1)
}

func (t *txnTable) remove(r *txnRecord) {
	delete(t.byKey, r.key)
	for _, key := range r.locks() {
		delete(t.locks, string(key))
	}
	t.queue(r).remove(r)
	t.count(r, -1)
}

// count adds or, with a sign of -1, takes off what r counts.
func (t *txnTable) count(r *txnRecord, sign int) {
	if r.part != nil {
		t.numParts += sign
	} else {
		t.numDecisions += sign
	}
	t.bytes += int64(sign) * r.bytes
	t.sum += uint64(sign) * r.term()
}

// next returns the record that may be forgotten first, once its end has come.
func (t *txnTable) next() (*txnRecord, bool) {
	switch {
	case len(t.parts) == 0 && len(t.decisions) == 0:
		return nil, false
	case len(t.parts) == 0, len(t.decisions) > 0 && byDue(t.decisions[0], t.parts[0]) < 0:
		return t.decisions[0], true
	}
	return t.parts[0], true
}

// list returns the records, which never change, in any order.
func (t *txnTable) list() []*txnRecord {
	all := make([]*txnRecord, 0, len(t.byKey))
	for _, r := range t.byKey { // any order: whoever needs one sorts them, by sortTxns
		all = append(all, r)
	}
	return all
}

func sortTxns(list []*txnRecord) {
	slices.SortFunc(list, func(a, b *txnRecord) int { return cmp.Compare(a.key, b.key) })
}

// txnQueue is records by when they are due, then by key.
type txnQueue []*txnRecord

func byDue(a, b *txnRecord) int {
	return cmp.Or(cmp.Compare(a.due(), b.due()), cmp.Compare(a.key, b.key))
}

func (q *txnQueue) add(r *txnRecord) {
	i, _ := slices.BinarySearchFunc(*q, r, byDue)
	*q = slices.Insert(*q, i, r)
}

func (q *txnQueue) remove(r *txnRecord) {
	switch i, ok := slices.BinarySearchFunc(*q, r, byDue); {
	case ok && i == 0: // as most are: what is due first goes first
		(*q)[0] = nil
		*q = (*q)[1:]
	case ok:
		*q = slices.Delete(*q, i, i+1)
	}
}
