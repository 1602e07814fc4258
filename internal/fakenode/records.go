package fakenode

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ringraft/ringraft/op"
)

// records is an op.State on a map: no eviction, one version counter for all slots.
type records struct {
	now     func() time.Time
	bySlot  [op.Slots]map[string]op.Record
	version uint64
}

// put is the only place that adds records.
func (r *records) put(key []byte, rec op.Record) uint64 {
	slot := op.SlotOf(key)
	if r.bySlot[slot] == nil {
		r.bySlot[slot] = map[string]op.Record{}
	}
	r.version++
	rec.Version = r.version
	r.bySlot[slot][string(key)] = rec
	return r.version
}

func (r *records) Now() int64 { return r.now().UnixMilli() }

func (r *records) Lookup(key []byte) (op.Record, bool) {
	rec, ok := r.bySlot[op.SlotOf(key)][string(key)]
	if ok && rec.Deadline != 0 && rec.Deadline <= r.Now() {
		return op.Record{}, false
	}
	return rec, ok
}

func (r *records) Page(slot uint16, after, prefix []byte, limit int) (page []op.Keyed, more bool) {
	for _, key := range slices.Sorted(maps.Keys(r.bySlot[slot])) {
		if key <= string(after) || !strings.HasPrefix(key, string(prefix)) {
			continue
		}
		rec, ok := r.Lookup([]byte(key))
		switch {
		case !ok:
			continue
		case len(page) == limit:
			return page, true
		}
		page = append(page, op.Keyed{Key: key, Record: rec})
	}
	return page, false
}

func (r *records) Store(key []byte, rec op.Record) (uint64, *op.Error) {
	rec.Value = slices.Clone(rec.Value)
	return r.put(key, rec), nil
}

func (r *records) Amend(key []byte, deadline int64, protected bool) uint64 {
	rec, _ := r.Lookup(key)
	rec.Deadline, rec.Protected = deadline, protected
	return r.put(key, rec)
}

func (r *records) Remove(key []byte) (version uint64, existed bool) {
	if _, ok := r.Lookup(key); !ok {
		return 0, false
	}
	delete(r.bySlot[op.SlotOf(key)], string(key))
	r.version++
	return r.version, true
}

func (r *records) Sweep(int) int              { return 0 }
func (r *records) Configure(op.GroupSettings) {}
