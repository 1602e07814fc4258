package shard

import (
	"context"
	"sync"
)

// maxWaitingReads bounds the reads of a group that wait for one kind of round.
const maxWaitingReads = 1 << 16

// rounds answers callers together. While a round is under way newcomers gather for
// the next, so it may answer nobody from what it learnt before they came. One
// goroutine runs while somebody waits.
type rounds[T any] struct {
	// round answers all who wait. It must soon end when ctx does, and answer them
	// even then.
	round func(ctx context.Context, waiting []T)

	mu      sync.Mutex
	waiting []T
	running bool
	closed  bool

	ctx  context.Context
	stop context.CancelFunc
	wg   sync.WaitGroup
}

func newRounds[T any](round func(context.Context, []T)) *rounds[T] {
	r := &rounds[T]{round: round}
	r.ctx, r.stop = context.WithCancel(context.Background())
	return r
}

// add lets w wait for the next round. It returns false, and does nothing, when too
// many wait already or after close.
func (r *rounds[T]) add(w T) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || len(r.waiting) >= maxWaitingReads {
		return false
	}
	r.waiting = append(r.waiting, w)
	if !r.running {
		r.running = true
		r.wg.Go(r.run)
	}
	return true
}

// run does rounds until nobody waits.
func (r *rounds[T]) run() {
	for waiting := r.next(); waiting != nil; waiting = r.next() {
		r.round(r.ctx, waiting)
	}
}

func (r *rounds[T]) next() []T {
	r.mu.Lock()
	defer r.mu.Unlock()
	waiting := r.waiting
	r.waiting = nil
	r.running = waiting != nil
	return waiting
}

// close ends the round under way and waits until all are answered.
func (r *rounds[T]) close() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.stop()
	r.wg.Wait()
}
