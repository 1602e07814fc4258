package raftfsm

import (
	"fmt"
	"math"

	"github.com/cespare/xxhash/v2"

	"github.com/ringraft/ringraft/internal/mutant"
	"github.com/ringraft/ringraft/lru"
	"github.com/ringraft/ringraft/op"
)

// state is all that replicas agree on, and the counts of one of them. It implements
// op.State for the entry being applied.
//
// A record past its deadline is absent to every operation, and a session that has
// ended is unknown, but both take their bytes until somebody removes them: a sweep, a
// write to the record's key, or a write that needs room.
type state struct {
	cache    *lru.Cache
	sessions sessions
	txns     txnTable
	settings op.GroupSettings
	time     int64 // the group's, ms since the Unix epoch, 0 to maxTime
	versions [op.Slots]uint64
	sum      uint64 // the digest but for the group's term, the sessions' and the transactions'

	backlog int // evictions left to the entry being applied, where the limit has been lowered; see over

	// Of the command being applied.
	found    int64  // bytes before it
	reserved int64  // bytes to be left for its answer
	together bool   // evict only at its end
	promised bool   // room has been kept for what it stores
	encoded  []byte // its answer; kept for its memory
	values   values // that it has looked up

	// Of the commands about to be applied; kept for their memory.
	keys   [][]byte
	places []lru.Place

	unlocked bool // a transaction has let go of keys
	counts   counts
	saving   *snapshot // being written, nil if none
}

// maxBacklog is how many records an entry evicts beyond those that make room for its own,
// so that a limit lowered by gigabytes does not stop all for seconds.
const maxBacklog = 512

// maxTime is the latest group time: no time to live that starts by then leaves 64 bits.
const maxTime = math.MaxInt64 - op.MaxTTL

// counts are a replica's own; they are in no snapshot and no digest.
type counts struct{ evicted, expired uint64 }

func newState(settings op.GroupSettings) *state {
	return &state{cache: lru.New(), sessions: newSessions(), txns: newTxnTable(), settings: settings}
}

func (s *state) digest() uint64 {
	return s.sum + s.sessions.sum + s.txns.sum + groupTerm(s.settings, s.time, s.cache.Stamp(), s.sessions.opened)
}

// apply moves the time on, then the touched records, then runs the commands. It calls turn
// between some of them.
func (s *state) apply(e *op.Entry, commands []op.Command, turn func()) []op.Result {
	s.time = max(s.time, min(e.Time, maxTime))
	if mutant.TimeGoesBack {
		s.time = min(e.Time, maxTime)
	}
	for i, key := range e.Touches {
		if i > 0 && i%turnLen == 0 {
			turn()
		}
		s.touch(key)
	}
	s.backlog = maxBacklog
	results := make([]op.Result, len(commands))
	for i := range commands {
		c := &commands[i]
		if i > 0 && i%turnLen == 0 {
			turn()
		}
		if i%warmCommands == 0 {
			s.warm(commands[i:min(i+warmCommands, len(commands))])
		}
		s.found = s.bytes()
		if c.Session == 0 {
			results[i] = s.run(c.Op)
		} else {
			results[i] = s.once(c)
		}
		s.values.next(&results[i])
	}
	return results
}

// turnLen is how many commands or touches are applied before readers are let in. A command
// is whole, whatever it does.
const turnLen = 256

// warmCommands is for how many commands at a time warm is called.
const warmCommands = 32

// warm fetches the memory of the records that the commands name.
func (s *state) warm(commands []op.Command) {
	keys := s.keys[:0]
	for _, c := range commands {
		keys = op.AppendKeys(keys, c.Op)
	}
	s.places = s.places[:0]
	for _, key := range keys {
		s.places = append(s.places, lru.Place{Slot: op.SlotOf(key), Key: key})
	}
	s.cache.Warm(s.places)
	clear(keys) // they alias the log's data
	clear(s.places)
	s.keys = keys
}

// run applies an operation, unless a transaction has locked one of its keys.
func (s *state) run(o op.Op) op.Result {
	if err := s.lockOn(o); err != nil {
		return op.Fail(err)
	}
	return o.(op.Write).Apply(s)
}

func (s *state) Now() int64 { return s.time }

// Lookup and Page return values that are good while the command is applied, and in its
// answer for ever.
func (s *state) Lookup(key []byte) (op.Record, bool) {
	r, ok := s.lookup(op.SlotOf(key), key, s.time)
	s.values.own(&r.Value)
	return r, ok
}

func (s *state) Page(slot uint16, after, prefix []byte, limit, look int) ([]op.Keyed, []byte, int) {
	page, next, looked := s.page(slot, after, prefix, limit, look, s.time)
	for i := range page {
		s.values.own(&page[i].Value)
	}
	return page, next, looked
}

// Store puts a copy of r at key. Room is made from records past their deadline
// first, protected ones too, then from the old end of the list.
func (s *state) Store(key []byte, r op.Record) (version uint64, replaced bool, err *op.Error) {
	slot := op.SlotOf(key)
	old, replaced := s.live(slot, key)
	hash := xxhash.Sum64(key)
	var terms uint64 // of old, whose value may be gone once there is room
	if replaced {
		terms = itemTerms(slot, hash, old)
	}
	if err := s.makeRoom(key, r, old, replaced); err != nil {
		return 0, false, err
	}
	version = s.nextVersion(slot, key)
	if mutant.ReuseVersion {
		version = old.Version + 1
	}
	s.sum -= terms
	it := s.cache.Put(slot, key, lru.Item{
		Value: r.Value, Version: version, Deadline: r.Deadline, Protected: r.Protected,
	})
	s.sum += itemTerms(slot, hash, it)
	s.evict()
	return version, replaced, nil
}

// Amend changes the deadline and protection of the record at key.
func (s *state) Amend(key []byte, deadline int64, protected bool) uint64 {
	slot := op.SlotOf(key)
	old, ok := s.live(slot, key)
	if !ok {
		return 0
	}
	version := s.nextVersion(slot, key)
	it, _ := s.cache.Amend(slot, key, version, deadline, protected)
	hash := xxhash.Sum64(key)
	s.sum += itemTerms(slot, hash, it) - itemTerms(slot, hash, old)
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
	return s.nextVersion(slot, key), true
}

// Sweep removes records past their deadline, then sessions that have ended, then what
// is kept of transactions past its end; the earliest first. Then it evicts what a lowered
// limit has left.
func (s *state) Sweep(limit int) int {
	n := 0
	for n < limit && (s.removeEnded() || s.overdue() && s.evictNext()) {
		n++
	}
	return n
}

// Configure takes the settings over, unless later ones hold. If what is never evicted alone exceeds the new
// limit, it stays, and every Store fails until enough of it is removed.
func (s *state) Configure(settings op.GroupSettings) {
	if settings.Epoch < s.settings.Epoch {
		return
	}
	s.settings = settings
	s.settle()
}

// Together calls run and evicts only after it.
func (s *state) Together(run func()) {
	s.together = true
	run()
	s.together = false
	s.evict()
}

// bytes is the logical bytes of all there is, fixed those of what is never evicted,
// with room for the answer to the command being applied.
func (s *state) bytes() int64 { return s.cache.Bytes() + s.sessions.bytes + s.txns.bytes }
func (s *state) fixed() int64 {
	return s.cache.ProtectedBytes() + s.sessions.bytes + s.txns.bytes + s.reserved
}

func (s *state) Cost(key, value int) int64 { return lru.Cost(key, value) }

// Room removes what is past its deadline, and then decisions carried out long ago, until
// grow more bytes fit beside what is never evicted. It removes nothing else, so a failure
// changes nothing that anybody but a GetTxn can see.
func (s *state) Room(grow int64) *op.Error {
	for !s.promised && s.fixed()+grow > s.settings.MaxBytes {
		if !s.removeEnded() && !s.forgetDecision() {
			return &op.Error{Kind: op.KindOutOfMemory, Message: fmt.Sprintf(
				"%d bytes do not fit beside the %d that are never evicted, of protected records, sessions and transactions; the group's limit is %d (setting max-bytes)",
				grow, s.fixed(), s.settings.MaxBytes)}
		}
	}
	return nil
}

// makeRoom removes what is past its deadline until r fits at key in place of old, and
// fails if evicting all that can be evicted would not let it fit.
func (s *state) makeRoom(key []byte, r op.Record, old lru.Item, replaces bool) *op.Error {
	cost := lru.Cost(len(key), len(r.Value))
	var freed, freedFixed int64
	if replaces {
		freed = lru.Cost(len(key), len(old.Value))
	}
	if old.Protected {
		freedFixed = freed
	}
	s.reclaim(cost - freed)
	return s.Room(cost - freedFixed)
}

// settle keeps to the limit after a change.
func (s *state) settle() {
	s.reclaim(0)
	s.evict()
}

// reclaim removes what is past its deadline until grow more bytes fit or none is left.
func (s *state) reclaim(grow int64) {
	for s.over(s.bytes()+grow) && s.removeEnded() {
	}
}

// over reports whether something must go to keep to the limit. With what a command adds,
// that is so at once; what a lowered limit has left goes bit by bit.
func (s *state) over(bytes int64) bool {
	if bytes <= s.settings.MaxBytes {
		return false
	}
	if bytes <= s.found {
		s.backlog--
		return s.backlog >= 0
	}
	return true
}

// overdue reports whether a lowered limit has left something to be evicted.
func (s *state) overdue() bool {
	_, evictable := s.cache.Oldest()
	return evictable && s.bytes() > s.settings.MaxBytes
}

func (s *state) removeEnded() bool { return s.expireNext() || s.endNext() || s.forgetNext() }

// evict removes records from the old end until the limit holds, as over has it, or none
// is left in the list. After a Store that is before the record just written: makeRoom has
// seen that it fits beside what is never evicted.
func (s *state) evict() {
	if s.together {
		return
	}
	for s.over(s.bytes()) && s.evictNext() {
	}
}

// evictNext removes the record at the old end of the list.
func (s *state) evictNext() bool {
	victim, ok := s.cache.Oldest()
	if !ok {
		return false
	}
	s.drop(victim.Slot, victim.Key, victim.Item)
	s.counts.evicted++
	return true
}

// live returns the record at key, and removes one that is past its deadline.
func (s *state) live(slot uint16, key []byte) (lru.Item, bool) {
	it, ok := s.cache.Seek(slot, key)
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
	s.drop(next.Slot, next.Key, next.Item)
	s.counts.expired++
	return true
}

// drop removes a record that is there; key and it may be the cache's own. The slot's
// version counter stays.
func (s *state) drop(slot uint16, key []byte, it lru.Item) {
	s.preserve(slot, key)
	s.sum -= itemTerms(slot, xxhash.Sum64(key), it)
	s.cache.Remove(slot, key)
}

// touch moves an old record to the young end.
func (s *state) touch(key []byte) {
	slot := op.SlotOf(key)
	if !s.cache.Old(slot, key) && !mutant.StaleTouch {
		return
	}
	s.preserve(slot, key)
	before, after, _ := s.cache.Touch(slot, key)
	k := xxhash.Sum64(key)
	s.sum += orderTerm(k, after.Stamp) - orderTerm(k, before.Stamp)
}

// nextVersion takes the slot's next version, for a change at key. It comes before any other
// change of a Store or Amend, for the snapshot's sake.
func (s *state) nextVersion(slot uint16, key []byte) uint64 {
	s.preserve(slot, key)
	s.sum -= slotTerm(slot, s.versions[slot])
	s.versions[slot]++
	s.sum += slotTerm(slot, s.versions[slot])
	return s.versions[slot]
}

// preserve saves what stands at key for the snapshot being written, before its first change.
func (s *state) preserve(slot uint16, key []byte) {
	if s.saving != nil {
		s.saving.preserve(slot, key)
	}
}
