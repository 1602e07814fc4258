package raftfsm

import (
	"bytes"
	"fmt"

	"github.com/cespare/xxhash/v2"

	"github.com/ringraft/ringraft/lru"
	"github.com/ringraft/ringraft/op"
)

// state is all that replicas agree on, and the counts of one of them. It implements
// op.State for the entry being applied.
//
// A record past its deadline is absent to every operation, but takes its bytes until
// somebody removes it: a sweep, a write to its key, or a write that needs room.
type state struct {
	cache    *lru.Cache
	settings op.GroupSettings
	time     int64 // the group's, ms since the Unix epoch
	versions [op.Slots]uint64
	sum      uint64 // the digest but for the group's term

	counts counts
	saving *snapshot // being written, nil if none
}

// counts are a replica's own; they are in no snapshot and no digest.
type counts struct{ evicted, expired uint64 }

func newState(settings op.GroupSettings) *state {
	return &state{cache: lru.New(), settings: settings}
}

func (s *state) digest() uint64 {
	return s.sum + groupTerm(s.settings, s.time, s.cache.Stamp())
}

// apply moves the time on, then the touched records, then runs the operations.
func (s *state) apply(e *op.Entry, writes []op.Write) []op.Result {
	s.time = max(s.time, e.Time)
	for _, key := range e.Touches {
		s.touch(key)
	}
	results := make([]op.Result, len(writes))
	for i, w := range writes {
		results[i] = w.Apply(s)
	}
	return results
}

func (s *state) Now() int64 { return s.time }

func (s *state) Lookup(key []byte) (op.Record, bool) {
	return s.lookup(op.SlotOf(key), key, s.time)
}

func (s *state) Page(slot uint16, after, prefix []byte, limit int) ([]op.Keyed, bool) {
	return s.page(slot, after, prefix, limit, s.time)
}

// Store puts a copy of r at key. Room is made from records past their deadline
// first, protected ones too, then from the old end of the list.
func (s *state) Store(key []byte, r op.Record) (uint64, *op.Error) {
	slot := op.SlotOf(key)
	old, replaces := s.live(slot, key)
	if err := s.makeRoom(key, r, old, replaces); err != nil {
		return 0, err
	}
	version := s.nextVersion(slot)
	if replaces {
		s.sum -= itemTerms(slot, key, old)
	}
	it := s.cache.Put(slot, key, lru.Item{
		Value: bytes.Clone(r.Value), Version: version, Deadline: r.Deadline, Protected: r.Protected,
	})
	s.sum += itemTerms(slot, key, it)
	s.evict()
	return version, nil
}

// Amend changes the deadline and protection of the record at key.
func (s *state) Amend(key []byte, deadline int64, protected bool) uint64 {
	slot := op.SlotOf(key)
	old, ok := s.live(slot, key)
	if !ok {
		return 0
	}
	version := s.nextVersion(slot)
	it, _ := s.cache.Amend(slot, key, version, deadline, protected)
	s.sum += itemTerms(slot, key, it) - itemTerms(slot, key, old)
	return version
}

// Remove takes the record at key away.
func (s *state) Remove(key []byte) (version uint64, existed bool) {
	slot := op.SlotOf(key)
	it, ok := s.live(slot, key)
	if !ok {
		return 0, false
	}
	s.drop(slot, key, it)
	return s.nextVersion(slot), true
}

// Sweep removes records past their deadline, the earliest first.
func (s *state) Sweep(limit int) int {
	n := 0
	for n < limit && s.expireNext() {
		n++
	}
	return n
}

// Configure takes the settings over. If protected records alone exceed the new
// limit, they stay, and every Store fails until enough of them are removed.
func (s *state) Configure(settings op.GroupSettings) {
	s.settings = settings
	s.reclaim(0)
	s.evict()
}

// makeRoom removes records past their deadline until r fits at key in place of old,
// and fails if evicting all that can be evicted would not let it fit. It removes
// nothing else, so a failure changes nothing that anybody can see.
func (s *state) makeRoom(key []byte, r op.Record, old lru.Item, replaces bool) *op.Error {
	cost := lru.Cost(len(key), len(r.Value))
	var freed, freedProtected int64
	if replaces {
		freed = lru.Cost(len(key), len(old.Value))
	}
	if old.Protected {
		freedProtected = freed
	}
	s.reclaim(cost - freed)
	if s.cache.ProtectedBytes()-freedProtected+cost <= s.settings.MaxBytes {
		return nil
	}
	return &op.Error{Kind: op.KindOutOfMemory, Message: fmt.Sprintf(
		"the record takes %d bytes beside %d of protected ones; the group's limit is %d (setting max-bytes)",
		cost, s.cache.ProtectedBytes()-freedProtected, s.settings.MaxBytes)}
}

// reclaim removes records past their deadline until grow more bytes fit or none is left.
func (s *state) reclaim(grow int64) {
	for s.cache.Bytes()+grow > s.settings.MaxBytes && s.expireNext() {
	}
}

// evict removes records from the old end until the limit holds or only protected
// ones are left. After a Store that is before the record just written: makeRoom has
// seen that it fits beside the protected ones.
func (s *state) evict() {
	for s.cache.Bytes() > s.settings.MaxBytes {
		victim, ok := s.cache.Oldest()
		if !ok {
			return
		}
		s.drop(victim.Slot, []byte(victim.Key), victim.Item)
		s.counts.evicted++
	}
}

// live returns the record at key, and removes one that is past its deadline.
func (s *state) live(slot uint16, key []byte) (lru.Item, bool) {
	it, ok := s.cache.Get(slot, key)
	if ok && past(it.Deadline, s.time) {
		s.drop(slot, key, it)
		s.counts.expired++
		return lru.Item{}, false
	}
	return it, ok
}

// expireNext removes the record that ends first, if it is past its deadline.
func (s *state) expireNext() bool {
	next, ok := s.cache.NextDeadline()
	if !ok || !past(next.Deadline, s.time) {
		return false
	}
	s.drop(next.Slot, []byte(next.Key), next.Item)
	s.counts.expired++
	return true
}

// drop removes a record that is there. The slot's version counter stays.
func (s *state) drop(slot uint16, key []byte, it lru.Item) {
	s.preserve(slot)
	s.cache.Remove(slot, key)
	s.sum -= itemTerms(slot, key, it)
}

// touch moves an old record to the young end.
func (s *state) touch(key []byte) {
	slot := op.SlotOf(key)
	if !s.cache.Old(slot, key) {
		return
	}
	s.preserve(slot)
	before, after, _ := s.cache.Touch(slot, key)
	k := xxhash.Sum64(key)
	s.sum += orderTerm(k, after.Stamp) - orderTerm(k, before.Stamp)
}

// nextVersion takes the slot's next version. It comes before any other change of a
// Store or Amend, for the snapshot's sake.
func (s *state) nextVersion(slot uint16) uint64 {
	s.preserve(slot)
	s.sum -= slotTerm(slot, s.versions[slot])
	s.versions[slot]++
	s.sum += slotTerm(slot, s.versions[slot])
	return s.versions[slot]
}

// preserve saves a slot for the snapshot being written, before its first change.
func (s *state) preserve(slot uint16) {
	if s.saving != nil {
		s.saving.preserve(slot)
	}
}
