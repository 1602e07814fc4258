// Package session numbers the writes of whoever has sessions with a group: the client, and
// the fronts of a node. What sessions are is said in package op.
package session

import (
	"sync"

	"github.com/ringraft/ringraft/op"
)

// Session numbers the writes of one session with a group. The group keeps the answers
// from the lowest number on that has none here, at most op.MaxUnacknowledged of them.
type Session struct {
	ID uint64

	mu       sync.Mutex
	last     uint64  // the newest number given
	lowest   uint64  // without an answer
	answered answers // over lowest
	lost     int     // numbers whose answers nobody waits for any more
}

// New returns the session that the group knows by id, of which no number was given yet.
func New(id uint64) *Session {
	return &Session{ID: id, lowest: 1}
}

// Seat is a write's place in a session with a group. The zero seat is none.
type Seat struct {
	Session  *Session
	Sequence uint64
	// Acknowledged is the number below which all answers had come when the seat was
	// taken. The group may forget those.
	Acknowledged uint64
}

// Sit returns the place of the next write. Without one, the window of answers is full:
// spent reports whether lost answers are why, so that it may stay full for ever.
func (s *Session) Sit() (place Seat, spent bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last-s.lowest+1 >= op.MaxUnacknowledged {
		return Seat{}, s.lost > 0
	}
	s.last++
	return Seat{s, s.last, s.lowest}, false
}

// idle reports whether all numbers given have their answers.
func (s *Session) idle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lowest > s.last
}

// Settle notes that a write has its answer, or that nobody will ever ask for it: then it
// is done before the group hears of that, or never.
func (s *Session) Settle(sequence uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settleLocked(sequence)
}

func (s *Session) settleLocked(sequence uint64) {
	if sequence < s.lowest {
		return
	}
	if sequence > s.lowest {
		s.answered.add(sequence)
		return
	}
	for s.lowest++; s.answered.has(s.lowest); s.lowest++ {
		s.answered.remove(s.lowest)
	}
}

// Lose notes that a write was given up without an answer, which may be asked for later.
func (s *Session) Lose() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lost++
}

// recover notes the answer to a write that had been given up.
func (s *Session) recover(sequence uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sequence >= s.lowest && sequence <= s.last && !s.answered.has(sequence) {
		s.lost--
		s.settleLocked(sequence)
	}
}
