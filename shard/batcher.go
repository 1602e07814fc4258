package shard

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"github.com/ringraft/ringraft/internal/mutant"
	"github.com/ringraft/ringraft/op"
)

const (
	// entryBytes closes a batch: a larger one only forms around one large operation.
	entryBytes = 1 << 20
	// entryOps closes a batch.
	entryOps = 4096
	// inFlight is how many entries of a group are with Raft at once: those of a tick,
	// and those that outlasted an earlier one.
	inFlight = 4
	// inFlightBytes bounds what those entries have, but for one alone. Raft writes all
	// that it is given at once, and answers no heartbeat until that is on disk.
	inFlightBytes = inFlight * entryBytes
	// queueBytes and queueOps bound what gathers; past them writes are refused, as past
	// the flusher's nodeBytes.
	queueBytes = 64 << 20
	queueOps   = 1 << 16
	// keptBytes bounds the operations of a batch whose memory is used again.
	keptBytes = 256 << 10
)

// proposer is what a batcher needs of a replica.
type proposer interface {
	// Apply proposes an entry; see raft.Raft.
	Apply(entry []byte, timeout time.Duration) raft.ApplyFuture
}

// batch is operations that become one entry, with those who wait for the results. Once
// it has an outcome, it is used for others.
type batch struct {
	entry   op.EntryBuilder
	waiters []op.Replier
	size    int // bytes of its operations, once proposed

	answer sync.Once
	late   *time.Timer // ends the wait for a place in flight, then the flight
	lapsed bool        // late had gone off when the flight began
}

// reply gives every waiter its result; only the first call does.
func (b *batch) reply(result func(i int) op.Result) {
	b.answer.Do(func() {
		for i, w := range b.waiters {
			w.Reply(result(i))
		}
	})
}

func (b *batch) fail(err *op.Error) {
	b.reply(func(int) op.Result { return op.Fail(err) })
}

// batcher gathers the writes of many callers to a group into entries, which the
// node's flusher makes it propose.
type batcher struct {
	flusher *flusher
	raft    proposer
	stamp   func() int64              // the leader's clock, for entries
	touches func(ops int) [][]byte    // to go in front of an entry of so many operations
	refusal func(err error) *op.Error // what a caller is told when Raft took nothing
	timeout time.Duration             // until an entry's outcome is called unknown

	mu     sync.Mutex
	idle   *sync.Cond // nothing is in flight
	queue  []*batch   // the last one is open
	spare  *batch     // the next one, for its memory, or nil
	bytes  int
	ops    int
	flying int
	aloft  int // bytes of the entries in flight
	held   bool
	closed bool
	// refusedSince is when Raft began to refuse entries for a leadership transfer;
	// zero if the last one was not refused for that.
	refusedSince time.Time
}

func newBatcher(f *flusher, r proposer, stamp func() int64, touches func(int) [][]byte, refusal func(error) *op.Error, timeout time.Duration) *batcher {
	b := &batcher{flusher: f, raft: r, stamp: stamp, touches: touches, refusal: refusal, timeout: timeout}
	b.idle = sync.NewCond(&b.mu)
	f.join(b)
	return b
}

// add queues an encoded operation, which it copies, for the next entry.
func (b *batcher) add(raw []byte, w op.Replier) {
	if err := b.enqueue(raw, w); err != nil {
		w.Reply(op.Fail(err))
		return
	}
	b.flusher.queued()
}

func (b *batcher) enqueue(raw []byte, w op.Replier) *op.Error {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.closed:
		return op.Unavailable("the replica is stopping")
	case b.bytes+len(raw) > queueBytes || b.ops >= queueOps:
		return op.Unavailable("overloaded: %d operations of %d bytes are waiting; the limits are %d and %d", b.ops, b.bytes, queueOps, queueBytes)
	case !b.flusher.reserve(len(raw)):
		return op.Unavailable("overloaded: operations of more than %d bytes would wait in the groups of this node, its limit", nodeBytes)
	}
	open := b.open(len(raw))
	open.entry.Add(raw)
	open.waiters = append(open.waiters, w)
	b.bytes += len(raw)
	b.ops++
	return nil
}

// open returns the batch that has room for n more bytes.
func (b *batcher) open(n int) *batch {
	if len(b.queue) > 0 {
		last := b.queue[len(b.queue)-1]
		if last.entry.Size()+n <= entryBytes && last.entry.Len() < entryOps {
			return last
		}
	}
	fresh := b.fresh()
	b.queue = append(b.queue, fresh)
	return fresh
}

// fresh returns an empty batch.
func (b *batcher) fresh() *batch {
	if fresh := b.spare; fresh != nil {
		b.spare = nil
		fresh.late.Reset(b.timeout)
		return fresh
	}
	fresh := new(batch)
	fresh.late = time.AfterFunc(b.timeout, func() { b.giveUp(fresh) })
	return fresh
}

// recycle keeps a batch with an outcome. Nobody else may know it any more: its timer must
// never have gone off, since giveUp may still be at work then.
func (b *batcher) recycle(used *batch) {
	if used.size > keptBytes {
		return
	}
	clear(used.waiters)
	*used = batch{entry: used.entry, waiters: used.waiters[:0], late: used.late}
	b.mu.Lock()
	b.spare = used
	b.mu.Unlock()
}

// giveUp answers those who wait for a batch. Entries in flight that no quorum answers
// keep their places, so a batch can be late before it was proposed.
func (b *batcher) giveUp(late *batch) {
	b.mu.Lock()
	place := slices.Index(b.queue, late)
	if place >= 0 {
		b.queue = slices.Delete(b.queue, place, place+1)
		b.bytes -= late.entry.Size()
		b.ops -= late.entry.Len()
		b.flusher.taken(late.entry.Len(), late.entry.Size())
	}
	b.mu.Unlock()
	if place >= 0 {
		late.fail(op.Unavailable("no quorum answered writes before this one within %v", b.timeout))
	} else {
		late.fail(op.UnknownOutcome("no quorum answered within %v", b.timeout))
	}
}

// flush proposes the batches for which there are places in flight, as part of a tick,
// and returns how many operations they have.
func (b *batcher) flush(t *tick) (ops int) {
	for first := b.take(); first != nil; first = b.take() {
		n := first.entry.Len()
		ops += n
		t.entryBegins()
		first.lapsed = !first.late.Reset(b.timeout)
		future := b.raft.Apply(first.entry.Build(b.stamp(), b.touches(n)), b.timeout)
		if mutant.AckAtPropose {
			first.reply(func(int) op.Result { return op.Result{} })
		}
		go b.finish(first, future, t)
	}
	return ops
}

// take returns the first batch if there is one and a place for it. If there is no
// place, the next entry that ends wakes the flusher.
func (b *batcher) take() *batch {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.held || len(b.queue) == 0 || b.flying == inFlight {
		return nil
	}
	first := b.queue[0]
	first.size = first.entry.Size()
	if b.flying > 0 && b.aloft+first.size > inFlightBytes {
		return nil
	}
	b.queue[0] = nil
	b.queue = b.queue[1:]
	b.bytes -= first.size
	b.ops -= first.entry.Len()
	b.flusher.taken(first.entry.Len(), first.size)
	b.flying++
	b.aloft += first.size
	return first
}

// finish waits for an entry's outcome.
func (b *batcher) finish(done *batch, future raft.ApplyFuture, t *tick) {
	err := future.Error()
	inTime := done.late.Stop() && !done.lapsed
	b.mu.Lock()
	b.aloft -= done.size
	if b.flying--; b.flying == 0 {
		b.idle.Broadcast()
	}
	if !errors.Is(err, raft.ErrLeadershipTransferInProgress) {
		b.refusedSince = time.Time{}
	} else if b.refusedSince.IsZero() {
		b.refusedSince = time.Now()
	}
	more := len(b.queue) > 0
	b.mu.Unlock()
	t.entryEnded()
	if more {
		b.flusher.signal() // this may be the place in flight that they wait for
	}
	b.answer(done, future, err)
	if inTime {
		b.recycle(done)
	}
}

// answer gives the waiters of an entry its outcome.
func (b *batcher) answer(done *batch, future raft.ApplyFuture, err error) {
	if err != nil {
		done.fail(b.outcome(err))
		return
	}
	switch response := future.Response().(type) {
	case []op.Result:
		done.reply(func(i int) op.Result {
			res := response[i]
			res.Index = future.Index()
			return res
		})
	case error:
		done.fail(op.UnknownOutcome("the state machine halted: %v", response))
	default:
		done.fail(op.UnknownOutcome("the state machine answered with a %T", response))
	}
}

// outcome says what Raft's error means for the operations of an entry.
func (b *batcher) outcome(err error) *op.Error {
	switch {
	case errors.Is(err, raft.ErrNotLeader), errors.Is(err, raft.ErrEnqueueTimeout),
		errors.Is(err, raft.ErrLeadershipTransferInProgress),
		mutant.LostIsRefused && errors.Is(err, raft.ErrLeadershipLost):
		return b.refusal(err)
	}
	return op.UnknownOutcome("%v", err)
}

// hold stops proposing and waits, until ctx ends, for what is in flight. What
// arrives gathers until release.
func (b *batcher) hold(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.idle.Broadcast()
	})
	defer stop()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held = true
	for b.flying > 0 && ctx.Err() == nil {
		b.idle.Wait()
	}
	if b.flying > 0 {
		return ctx.Err()
	}
	return nil
}

// stuck reports whether Raft has refused entries for a leadership transfer for
// longer than d.
func (b *batcher) stuck(d time.Duration) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.refusedSince.IsZero() && time.Since(b.refusedSince) > d
}

// release goes on proposing.
func (b *batcher) release() {
	b.mu.Lock()
	b.held = false
	b.mu.Unlock()
	b.flusher.signal()
}

// close refuses what has not been proposed, and waits for what has, as long as an
// outcome may take: Raft, which is to be shut down next, forgets some of it then.
func (b *batcher) close() {
	b.mu.Lock()
	b.closed = true
	left := b.queue
	b.flusher.taken(b.ops, b.bytes)
	b.queue, b.bytes, b.ops = nil, 0, 0
	b.mu.Unlock()
	b.flusher.leave(b)
	for _, waiting := range left {
		waiting.late.Stop()
		waiting.fail(op.Unavailable("the replica is stopping"))
	}
	ctx, cancel := context.WithTimeout(context.Background(), b.timeout)
	defer cancel()
	_ = b.hold(ctx) // past that, the waiters have been told that nobody knows
}
