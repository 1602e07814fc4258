package raftfsm

import (
	"errors"
	"fmt"
	"sync"

	"github.com/hashicorp/raft"

	"github.com/ringraft/ringraft/op"
)

// snapshot is a state as it was at an index, shared with the state that goes on, slot
// by slot: Persist saves slots in their order, and a slot that is to change before its
// turn is saved first, into pending. So the state is never copied as a whole and Apply
// waits for one slot at most; pending holds no more than the slots that changed.
//
// Sessions change with every use, so they are copied when the snapshot is taken, but
// for their encoded answers, which never change: 100 bytes each and 32 per answer. The
// records of transactions never change: only their list is copied.
type snapshot struct {
	header   header
	digest   uint64
	sessions []session
	txns     []*txnRecord

	mu      *sync.RWMutex // the state machine's
	state   *state
	saved   [op.Slots]bool    // no longer to be taken from state
	pending map[uint16][]byte // blocks that Apply saved and Persist has not written
}

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
		txns:     s.txns.sorted(),
		mu:       mu,
		state:    s,
		pending:  map[uint16][]byte{},
	}
	for _, version := range s.versions {
		if version > 0 {
			snap.header.Slots++
		}
	}
	return snap
}

// preserve saves a slot that is about to change. Apply calls it, under mu.
func (s *snapshot) preserve(slot uint16) {
	if s.saved[slot] {
		return
	}
	s.saved[slot] = true
	if block := appendBlock(nil, s.state, slot); len(block) > 0 {
		s.pending[slot] = block
	}
}

// take appends the slot's block to b. Persist calls it, once per slot. The read lock
// keeps Apply away, and nobody else uses saved and pending.
func (s *snapshot) take(b []byte, slot uint16) []byte {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if !s.saved[slot] {
		s.saved[slot] = true
		return appendBlock(b, s.state, slot)
	}
	b = append(b, s.pending[slot]...)
	delete(s.pending, slot)
	return b
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
	for slot := range op.Slots {
		block = s.take(block[:0], uint16(slot))
		if len(block) == 0 {
			continue
		}
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
	s.pending, s.sessions, s.txns = nil, nil, nil
}
