package raftfsm

import (
	"errors"
	"fmt"
	"sync"

	"github.com/hashicorp/raft"

	"github.com/ringraft/ringraft/lru"
	"github.com/ringraft/ringraft/op"
)

// snapshot is a state as it was at an index, shared with the state that goes on, record
// by record: Persist takes the slots in their order, each in pieces, and a record that is to
// change before its turn is saved first. So the state is never copied as a whole, Apply
// waits for one piece at most and pays for no more than the records that it changes, and
// what is saved are these, each once.
//
// Sessions change with every use, so they are copied when the snapshot is taken, but
// for the encodings of long answers, which never change: 100 bytes each and 48 per answer. The
// records of transactions never change: only their list is copied.
type snapshot struct {
	header   header
	digest   uint64
	sessions []session
	txns     []*txnRecord
	versions [op.Slots]uint64

	mu    *sync.RWMutex // the state machine's
	state *state
	slot  int                // that Persist takes now; what stands in earlier ones is written
	rank  uint64             // in the slot, see lru.Cache.Walk: what stands before it is written
	saved [op.Slots]*changes // of what is not written; nil where there are none
}

// changes are the records of a slot that have changed since the snapshot's moment.
type changes struct {
	keys    map[string]struct{} // of all of them
	records []byte              // as they were, encoded; without those that did not exist
}

// pieceBytes are the logical bytes of records that Persist takes in one go, 100 to 200
// records of the usual size.
const pieceBytes = 32 << 10

// newSnapshot is called under mu.
func newSnapshot(mu *sync.RWMutex, s *state, applied uint64) *snapshot {
	snap := &snapshot{
		header: header{
			MaxBytes: s.settings.MaxBytes, Epoch: s.settings.Epoch, Time: s.time, Applied: applied, Stamp: s.cache.Stamp(), Opened: s.sessions.opened,
			Records: uint64(s.cache.Len()), Bytes: s.cache.Bytes(),
			Sessions: uint64(s.sessions.len()), SessionBytes: s.sessions.bytes,
			Txns: uint64(len(s.txns.byKey)), TxnBytes: s.txns.bytes,
		},
		digest:   s.digest(),
		sessions: s.sessions.copies(),
		txns:     s.txns.list(),
		versions: s.versions,
		mu:       mu,
		state:    s,
	}
	for _, version := range s.versions {
		if version > 0 {
			snap.header.Slots++
		}
	}
	return snap
}

// preserve saves what stands at key, which is about to change. Apply calls it, under mu.
func (s *snapshot) preserve(slot uint16, key []byte) {
	if s.versions[slot] == 0 || s.written(slot, key) {
		return
	}
	c := s.saved[slot]
	if c == nil {
		c = &changes{keys: map[string]struct{}{}}
		s.saved[slot] = c
	}
	if _, ok := c.keys[string(key)]; ok {
		return
	}
	c.keys[string(key)] = struct{}{}
	if it, ok := s.state.cache.Get(slot, key); ok {
		c.records = appendRecord(c.records, lru.Ref{Slot: slot, Key: key, Item: it})
	}
}

// written reports whether Persist has taken what stands at key.
func (s *snapshot) written(slot uint16, key []byte) bool {
	return int(slot) < s.slot || int(slot) == s.slot && s.rank > 0 && s.state.cache.Rank(key) < s.rank
}

// take appends the slot's block to b. Persist calls it, once per slot and in their order.
func (s *snapshot) take(b []byte, slot uint16) []byte {
	b = appendBlockHead(b, slot, s.versions[slot])
	var changed *changes
	for done := false; !done; {
		b, changed, done = s.piece(b, slot)
	}
	if changed != nil {
		b = append(b, changed.records...)
	}
	return b
}

// piece appends the slot's next records that have not changed. With the last of them come
// those that have: from then on Apply saves no more. The read lock keeps Apply away, and
// nobody else uses what it changes.
func (s *snapshot) piece(b []byte, slot uint16) (_ []byte, changed *changes, done bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	changed = s.saved[slot]
	next := s.state.cache.Walk(slot, s.rank, pieceBytes, func(r lru.Ref) {
		if !changed.has(r.Key) {
			b = appendRecord(b, r)
		}
	})
	s.slot, s.rank = int(slot), next
	if next > 0 {
		return b, nil, false
	}
	s.slot++
	s.saved[slot] = nil
	return b, changed, true
}

func (c *changes) has(key []byte) bool {
	if c == nil {
		return false
	}
	_, ok := c.keys[string(key)]
	return ok
}

// Persist writes the snapshot and closes the sink. It cancels the sink and fails if
// writing does, or if the blocks written don't add up to the digest that the state had.
func (s *snapshot) Persist(sink raft.SnapshotSink) error {
	if err := s.write(newFrameWriter(sink)); err != nil {
		return errors.Join(fmt.Errorf("snapshot at index %d: %w", s.header.Applied, err), sink.Cancel())
	}
	return sink.Close()
}

func (s *snapshot) write(w *frameWriter) error {
	if err := w.preamble(); err != nil {
		return err
	}
	if err := w.fields(s.header); err != nil {
		return err
	}
	var count tally
	if err := s.writeSlots(w, &count); err != nil {
		return err
	}
	if err := s.writeSessions(w, &count); err != nil {
		return err
	}
	if err := s.writeTxns(w, &count); err != nil {
		return err
	}
	if err := s.header.verify(count, s.digest); err != nil {
		return err
	}
	if err := w.fields(trailer{Records: count.records, Digest: s.digest, Checksum: w.whole.Sum64()}); err != nil {
		return err
	}
	return w.out.Flush()
}

// writeSlots, writeSessions and writeTxns count what they write.
func (s *snapshot) writeSlots(w *frameWriter, count *tally) error {
	var block []byte // kept for its memory
	for slot, version := range s.versions {
		if version == 0 {
			continue
		}
		block = s.take(block[:0], uint16(slot))
		if err := count.block(block); err != nil {
			return err
		}
		if err := w.frame(block); err != nil {
			return err
		}
	}
	return nil
}

func (s *snapshot) writeSessions(w *frameWriter, count *tally) error {
	var block []byte // kept for its memory
	for i := range s.sessions {
		block = appendSession(block[:0], &s.sessions[i])
		if _, err := count.session(block); err != nil {
			return err
		}
		if err := w.frame(block); err != nil {
			return err
		}
	}
	return nil
}

func (s *snapshot) writeTxns(w *frameWriter, count *tally) error {
	sortTxns(s.txns) // not before, since Apply waits for newSnapshot
	for _, r := range s.txns {
		block := r.block(nil)
		if _, err := count.txn(block); err != nil {
			return err
		}
		if err := w.frame(block); err != nil {
			return err
		}
	}
	return nil
}

// Release lets the state go on without the snapshot.
func (s *snapshot) Release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state.saving == s {
		s.state.saving = nil
	}
	s.saved, s.sessions, s.txns = [op.Slots]*changes{}, nil, nil
}
