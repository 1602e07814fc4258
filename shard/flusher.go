package shard

import (
	"context"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// gatherFor is how long the flusher waits, at most, for those whom the last tick
	// answered to come again.
	gatherFor = time.Millisecond
	// gatherLeast is the operations of a tick below which the next one waits for
	// nobody: so few gain nothing from a common entry.
	gatherLeast = 8
	// tickPatience is how long a group may hold up the others.
	tickPatience = 20 * time.Millisecond
	// nodeBytes bounds what gathers in all groups of a node: what four may have at most.
	nodeBytes = 4 * queueBytes
)

// flusher proposes what waits in a node's batchers, for all groups at one instant, so
// that their entries share frames and fsyncs. One tick is in flight at a time; what
// comes meanwhile gathers for the next, so a busy node's entries grow by themselves
// and a lone writer waits for nobody.
type flusher struct {
	wake    chan struct{} // capacity 1: there may be something to propose
	waiting atomic.Int64  // operations in the queues of all batchers
	bytes   atomic.Int64  // of these
	goal    atomic.Int64  // how many of them it takes to wake the flusher

	mu       sync.Mutex
	batchers []*batcher
}

func newFlusher() *flusher {
	f := &flusher{wake: make(chan struct{}, 1)}
	f.goal.Store(1)
	return f
}

func (f *flusher) join(b *batcher) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.batchers = append(slices.Clone(f.batchers), b)
}

func (f *flusher) leave(b *batcher) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.batchers = slices.DeleteFunc(slices.Clone(f.batchers), func(x *batcher) bool { return x == b })
}

// all returns the batchers in a slice that is not changed any more.
func (f *flusher) all() []*batcher {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.batchers
}

// reserve takes room for an operation of n bytes, and reports whether there is any.
func (f *flusher) reserve(n int) bool {
	if f.bytes.Add(int64(n)) > nodeBytes {
		f.bytes.Add(-int64(n))
		return false
	}
	return true
}

// queued counts an operation that came to wait, in the room that it has.
func (f *flusher) queued() {
	if f.waiting.Add(1) >= f.goal.Load() {
		f.signal()
	}
}

// taken counts operations that no longer wait.
func (f *flusher) taken(ops, bytes int) {
	f.waiting.Add(-int64(ops))
	f.bytes.Add(-int64(bytes))
}

// signal makes the flusher look again. It does not block.
func (f *flusher) signal() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// run flushes until ctx ends.
func (f *flusher) run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	last := 0 // operations of the last tick
	for {
		select {
		case <-f.wake:
		case <-ctx.Done():
			return
		}
		f.gather(ctx, timer, last)
		runtime.Gosched() // lets connections that are being read add to the batches
		f.goal.Store(math.MaxInt64)
		t := newTick()
		if ops := f.propose(t); ops > 0 {
			last = ops
			t.wait(ctx, timer)
		}
		f.goal.Store(1)
		if t.carries() && f.waiting.Load() > 0 {
			f.signal()
		}
	}
}

// gather waits for most of as many operations as the last tick had.
func (f *flusher) gather(ctx context.Context, timer *time.Timer, last int) {
	if last < gatherLeast {
		return
	}
	goal := int64(last) * 3 / 4
	f.goal.Store(goal)
	timer.Reset(gatherFor)
	for f.waiting.Load() < goal {
		select {
		case <-f.wake:
		case <-timer.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// propose lets every batcher propose what it may, and returns how many operations
// that was.
func (f *flusher) propose(t *tick) (ops int) {
	for _, b := range f.all() {
		ops += b.flush(t)
	}
	t.entryEnded() // what newTick counted
	return ops
}

// tick is the entries that were proposed at one instant.
type tick struct {
	entries int          // proposed; the flusher's
	left    atomic.Int32 // of them in flight, and one while they are being proposed
	ended   chan struct{}
}

func newTick() *tick {
	t := &tick{ended: make(chan struct{})}
	t.left.Store(1)
	return t
}

func (t *tick) entryBegins() {
	t.entries++
	t.left.Add(1)
}

func (t *tick) entryEnded() {
	if t.left.Add(-1) == 0 {
		close(t.ended)
	}
}

func (t *tick) carries() bool { return t.entries > 0 }

// wait returns when all entries have ended, or patience has.
func (t *tick) wait(ctx context.Context, timer *time.Timer) {
	timer.Reset(tickPatience)
	select {
	case <-t.ended:
	case <-timer.C:
	case <-ctx.Done():
	}
}
