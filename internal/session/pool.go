package session

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/ringraft/ringraft/op"
)

// Pool hands out the seats with one group. It opens a session when there is none with a
// free seat, and forgets one that has ended or whose window is spent. The zero value is
// ready.
type Pool struct {
	Most int // sessions at a time; 0: 1

	mu      sync.Mutex
	current []*Session
	opening chan struct{} // closed when the opening under way has ended; nil if none is
}

// Try returns a seat if one is free.
func (p *Pool) Try() (place Seat, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	place = p.freeLocked()
	return place, place.Session != nil
}

// Take returns a seat, and the zero one when as many writes are under way as the sessions
// can have. If a session must be opened, one of the callers does that with open, which
// returns its id, while the others wait.
func (p *Pool) Take(ctx context.Context, open func(context.Context) (uint64, error)) (Seat, error) {
	for {
		place, opening, mine := p.sit()
		switch {
		case opening == nil:
			return place, nil
		case mine:
			if err := p.open(ctx, open); err != nil {
				return Seat{}, err
			}
			continue
		}
		select {
		case <-opening:
		case <-ctx.Done():
			return Seat{}, fmt.Errorf("%w: waiting for a session: %w", op.ErrUnavailable, ctx.Err())
		}
	}
}

// sit returns a seat, or the opening to wait for; mine says that the caller is to do it.
func (p *Pool) sit() (place Seat, opening chan struct{}, mine bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if place = p.freeLocked(); place.Session != nil || len(p.current) >= max(p.Most, 1) {
		return place, nil, false
	}
	if mine = p.opening == nil; mine {
		p.opening = make(chan struct{})
	}
	return Seat{}, p.opening, mine
}

// freeLocked returns a free seat, the zero one if there is none.
func (p *Pool) freeLocked() Seat {
	for i := 0; i < len(p.current); i++ {
		place, spent := p.current[i].Sit()
		switch {
		case place.Session != nil:
			return place
		case spent:
			p.current = slices.Delete(p.current, i, i+1)
			i--
		}
	}
	return Seat{}
}

func (p *Pool) open(ctx context.Context, open func(context.Context) (uint64, error)) error {
	id, err := open(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	if err == nil {
		p.current = append(p.current, New(id))
	}
	close(p.opening)
	p.opening = nil
	return err
}

// Retire takes the sessions out of use whose writes have all their answers, and returns
// their ids.
func (p *Pool) Retire() (ids []uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.current = slices.DeleteFunc(p.current, func(s *Session) bool {
		idle := s.idle()
		if idle {
			ids = append(ids, s.ID)
		}
		return idle
	})
	return ids
}

// Drop takes out of use a session that has ended.
func (p *Pool) Drop(ended *Session) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.current = slices.DeleteFunc(p.current, func(s *Session) bool { return s == ended })
}

// Recover notes the answer to a write whose seat was given up.
func (p *Pool) Recover(id, sequence uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.current {
		if s.ID == id {
			s.recover(sequence)
		}
	}
}
