package client

import (
	"context"
	"fmt"
	"sync"

	"github.com/ringraft/ringraft/op"
)

// session numbers the writes of one session with a group. The group keeps the answers
// from the lowest number on that has none here, at most op.MaxUnacknowledged of them.
type session struct {
	id uint64

	mu       sync.Mutex
	last     uint64          // the newest number given
	lowest   uint64          // without an answer
	answered map[uint64]bool // over lowest
	lost     int             // numbers whose answers nobody waits for any more
}

func newSession(id uint64) *session {
	return &session{id: id, lowest: 1, answered: map[uint64]bool{}}
}

// number returns the number of the next write. Without one, the window of answers is
// full: spent reports whether lost answers are why, so that it may stay full for ever.
func (s *session) number() (sequence uint64, spent bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last-s.lowest+1 >= op.MaxUnacknowledged {
		return 0, s.lost > 0
	}
	s.last++
	return s.last, false
}

// acknowledged returns the number below which all answers have come.
func (s *session) acknowledged() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lowest
}

// idle reports whether all numbers given have their answers.
func (s *session) idle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lowest > s.last
}

// settle notes that a write has its answer, or will never be sent.
func (s *session) settle(sequence uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settleLocked(sequence)
}

func (s *session) settleLocked(sequence uint64) {
	if sequence < s.lowest {
		return
	}
	if sequence > s.lowest {
		s.answered[sequence] = true
		return
	}
	for s.lowest++; s.answered[s.lowest]; s.lowest++ {
		delete(s.answered, s.lowest)
	}
}

// lose notes that a write was given up without an answer.
func (s *session) lose() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lost++
}

// recover notes the answer to a write that had been given up.
func (s *session) recover(sequence uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sequence >= s.lowest && sequence <= s.last && !s.answered[sequence] {
		s.lost--
		s.settleLocked(sequence)
	}
}

// seat is a write's place in a session with a group. The zero seat is none.
type seat struct {
	session  *session
	sequence uint64
}

// sessions hands out the seats with one group. It opens a session when there is none,
// and another one when the old one has ended or its window is spent.
type sessions struct {
	mu      sync.Mutex
	current *session
	opening chan struct{} // closed when the opening under way has ended; nil if none is
}

// take returns a seat, and the zero one when as many writes are under way as a session
// can have. If a session must be opened, one of the callers does that with open, which
// returns its id, while the others wait.
func (s *sessions) take(ctx context.Context, open func(context.Context) (uint64, error)) (seat, error) {
	for {
		place, opening, mine := s.sit()
		switch {
		case opening == nil:
			return place, nil
		case mine:
			if err := s.open(ctx, open); err != nil {
				return seat{}, err
			}
			continue
		}
		select {
		case <-opening:
		case <-ctx.Done():
			return seat{}, fmt.Errorf("%w: waiting for a session: %w", op.ErrUnavailable, ctx.Err())
		}
	}
}

// sit returns a seat, or the opening to wait for; mine says that the caller is to do it.
func (s *sessions) sit() (place seat, opening chan struct{}, mine bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current != nil {
		sequence, spent := s.current.number()
		switch {
		case sequence != 0:
			return seat{s.current, sequence}, nil, false
		case !spent:
			return seat{}, nil, false
		}
		s.current = nil
	}
	if mine = s.opening == nil; mine {
		s.opening = make(chan struct{})
	}
	return seat{}, s.opening, mine
}

func (s *sessions) open(ctx context.Context, open func(context.Context) (uint64, error)) error {
	id, err := open(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		s.current = newSession(id)
	}
	close(s.opening)
	s.opening = nil
	return err
}

// retire takes the present session out of use if all its writes have their answers.
func (s *sessions) retire() (id uint64, idle bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == nil || !s.current.idle() {
		return 0, false
	}
	id, s.current = s.current.id, nil
	return id, true
}

// drop takes out of use a session that has ended.
func (s *sessions) drop(ended *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == ended {
		s.current = nil
	}
}

// recover notes the answer to a write whose seat was given up.
func (s *sessions) recover(id, sequence uint64) {
	s.mu.Lock()
	current := s.current
	s.mu.Unlock()
	if current != nil && current.id == id {
		current.recover(sequence)
	}
}
