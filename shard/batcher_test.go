package shard

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"

	"github.com/ringraft/ringraft/internal/bubble"
	"github.com/ringraft/ringraft/op"
)

// fakeRaft takes entries and answers them when told.
type fakeRaft struct {
	mu      sync.Mutex
	pending []*fakeFuture
}

type fakeFuture struct {
	entry op.Entry
	err   error
	res   any
	done  chan struct{}
}

func (f *fakeFuture) Error() error  { <-f.done; return f.err }
func (f *fakeFuture) Response() any { return f.res }
func (f *fakeFuture) Index() uint64 { return 1 }

func (r *fakeRaft) Apply(entry []byte, _ time.Duration) raft.ApplyFuture {
	e, err := op.DecodeEntry(entry)
	if err != nil {
		panic(err)
	}
	f := &fakeFuture{entry: e, done: make(chan struct{})}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pending = append(r.pending, f)
	return f
}

func (r *fakeRaft) flying() []*fakeFuture {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]*fakeFuture(nil), r.pending...)
}

// finish ends the oldest entry; without err, each operation's result is its place.
func (r *fakeRaft) finish(err error) {
	results := make([]op.Result, r.flying()[0].entry.Len())
	for i := range results {
		results[i].Number = int64(i)
	}
	r.answer(err, results)
}

// answer ends the oldest entry.
func (r *fakeRaft) answer(err error, response any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f := r.pending[0]
	r.pending = r.pending[1:]
	f.err, f.res = err, response
	close(f.done)
}

// answers collects replies.
type answers struct {
	mu  sync.Mutex
	got []op.Result
}

func (a *answers) Reply(res op.Result) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.got = append(a.got, res)
}

func (a *answers) all() []op.Result {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]op.Result(nil), a.got...)
}

// startFlusher runs a flusher, inside synctest, until the test ends.
func startFlusher(t *testing.T) *flusher {
	f := newFlusher()
	ctx, stop := context.WithCancel(context.Background())
	t.Cleanup(stop)
	go f.run(ctx)
	return f
}

// startBatcher returns a batcher of f, and the Raft that it proposes to.
func startBatcher(t *testing.T, f *flusher) (*batcher, *fakeRaft) {
	r := new(fakeRaft)
	b := newBatcher(f, r, func() int64 { return 77 }, func(int) [][]byte { return nil },
		func(err error) *op.Error { return op.Unavailable("%v", err) }, 5*time.Second)
	t.Cleanup(func() {
		for synctest.Wait(); len(r.flying()) > 0; synctest.Wait() {
			r.finish(nil)
		}
		b.close()
	})
	return b, r
}

// addSlow adds an operation for an entry that outlasts its tick.
func addSlow(b *batcher, replies *answers) {
	b.add(oneDelete, replies)
	time.Sleep(tickPatience)
	synctest.Wait()
}

var oneDelete = commandOf(op.Delete{Key: []byte("k")})

func TestLoneWriterWaitsForNobody(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		b, r := startBatcher(t, startFlusher(t))
		start := time.Now()
		b.add(oneDelete, new(answers))
		synctest.Wait()
		if n := len(r.flying()); n != 1 {
			t.Fatalf("%d entries in flight, want 1", n)
		}
		if waited := time.Since(start); waited != 0 {
			t.Errorf("the entry waited %v", waited)
		}
	})
}

func TestNoWriteWaitsForEverForAPlaceInFlight(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		b, r := startBatcher(t, startFlusher(t))
		stuck, waiting := new(answers), new(answers)
		for range inFlight {
			addSlow(b, stuck)
		}
		time.Sleep(time.Second)
		b.add(oneDelete, waiting)
		time.Sleep(b.timeout)
		synctest.Wait()
		for _, res := range stuck.all() {
			if !errors.Is(res.Err, op.ErrUnknownOutcome) {
				t.Errorf("an entry in flight: %+v, want it unknown", res)
			}
		}
		if got := waiting.all(); len(got) != 1 || !errors.Is(got[0].Err, op.ErrUnavailable) {
			t.Errorf("a write that was never proposed: %+v, want it unavailable", got)
		}
		r.finish(nil)
		synctest.Wait()
		if n := len(r.flying()); n != inFlight-1 {
			t.Errorf("%d entries in flight, want %d: nobody waits for the refused write", n, inFlight-1)
		}
		next := new(answers)
		b.add(oneDelete, next)
		for len(r.flying()) > 0 {
			r.finish(nil)
			synctest.Wait()
		}
		if got := next.all(); len(got) != 1 || got[0].Err != nil {
			t.Errorf("the next write: %+v, want it done", got)
		}
	})
}

func TestBatchesAreUsedAgain(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		b, r := startBatcher(t, startFlusher(t))
		var first *batch
		for _, n := range []int{5, 2, 7, 1} {
			replies := new(answers)
			for range n {
				b.add(oneDelete, replies)
			}
			synctest.Wait()
			for len(r.flying()) > 0 {
				r.finish(nil)
				synctest.Wait()
			}
			got := replies.all()
			if len(got) != n {
				t.Fatalf("%d of %d operations were answered", len(got), n)
			}
			for _, res := range got {
				if res.Err != nil || res.Index != 1 {
					t.Errorf("got %+v, want it done, at index 1", res)
				}
			}
			if first == nil {
				first = b.spare
			}
			if b.spare == nil || b.spare != first {
				t.Errorf("the next batch is %p, want %p, which was used before", b.spare, first)
			}
		}
	})
}

// TestBatchesWhoseTimerHasGoneOffAreNotUsedAgain: it may go off just when the batch is
// proposed. What it does then, it does to that batch.
func TestBatchesWhoseTimerHasGoneOffAreNotUsedAgain(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		b, r := startBatcher(t, startFlusher(t))
		if err := b.hold(t.Context()); err != nil {
			t.Fatal(err)
		}
		replies := new(answers)
		b.add(oneDelete, replies)
		late := b.queue[0]
		late.late.Stop() // as if it had gone off, and waited for the batcher
		b.release()
		synctest.Wait()
		b.giveUp(late)
		r.finish(nil)
		synctest.Wait()
		if b.spare != nil {
			t.Error("the batch is used again")
		}
		b.giveUp(late)
		if got := replies.all(); len(got) != 1 || !errors.Is(got[0].Err, op.ErrUnknownOutcome) {
			t.Errorf("got %+v, want the outcome to be unknown, once", got)
		}
	})
}

func TestMemoryOfLargeBatchesIsNotKept(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		b, r := startBatcher(t, startFlusher(t))
		b.add(commandOf(op.Set{Key: []byte("k"), Value: make([]byte, keptBytes)}), new(answers))
		synctest.Wait()
		r.finish(nil)
		synctest.Wait()
		if b.spare != nil {
			t.Errorf("the memory of %d bytes and more is kept, want no more than %d", keptBytes, keptBytes)
		}
	})
}

func TestOperationsGatherWhileEntriesAreInFlight(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		b, r := startBatcher(t, startFlusher(t))
		replies := new(answers)
		for range inFlight {
			addSlow(b, replies)
		}
		for range 100 {
			b.add(oneDelete, replies)
		}
		synctest.Wait()
		if n := len(r.flying()); n != inFlight {
			t.Fatalf("%d entries in flight, want %d", n, inFlight)
		}
		r.finish(nil)
		synctest.Wait()
		flying := r.flying()
		if n := flying[len(flying)-1].entry.Len(); n != 100 {
			t.Fatalf("the gathered entry has %d operations, want 100", n)
		}
		for len(r.flying()) > 0 {
			r.finish(nil)
			synctest.Wait()
		}
		if got := replies.all(); len(got) != inFlight+100 || got[len(got)-1].Number != 99 || got[len(got)-1].Index != 1 {
			t.Errorf("%d replies, the last %+v; want %d, the last one with number 99, from index 1", len(got), got[len(got)-1], inFlight+100)
		}
	})
}

func TestBatchesAreBoundedInBytes(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		b, r := startBatcher(t, startFlusher(t))
		for range inFlight {
			addSlow(b, new(answers))
		}
		large := commandOf(op.Set{Key: []byte("k"), Value: make([]byte, entryBytes/2+1)})
		for range 3 {
			b.add(large, new(answers))
		}
		for range inFlight {
			r.finish(nil)
		}
		synctest.Wait()
		for i, f := range r.flying() {
			if f.entry.Len() != 1 {
				t.Errorf("entry %d has %d operations, want 1", i, f.entry.Len())
			}
		}
	})
}

func TestBatchesAreBoundedInOperations(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		b, r := startBatcher(t, startFlusher(t))
		if err := b.hold(t.Context()); err != nil {
			t.Fatal(err)
		}
		addMany(b, entryOps+1)
		b.release()
		wantSizes(t, "at once", r, entryOps, 1)
	})
}

// TestLargeEntriesFlyAlone: Raft writes all that it is given at once.
func TestLargeEntriesFlyAlone(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		b, r := startBatcher(t, startFlusher(t))
		replies := new(answers)
		large := commandOf(op.Set{Key: []byte("k"), Value: make([]byte, inFlightBytes)})
		for _, raw := range [][]byte{oneDelete, large, large, oneDelete, oneDelete} {
			b.add(raw, replies)
			synctest.Wait()
		}
		for i, want := range []int{1, 1, 1, 2} { // operations of the entries, of which one flies at a time
			flying := r.flying()
			if len(flying) != 1 || flying[0].entry.Len() != want {
				t.Fatalf("step %d: %d entries in flight, the first of %d operations; want one of %d", i, len(flying), flying[0].entry.Len(), want)
			}
			r.finish(nil)
			synctest.Wait()
		}
		if got := replies.all(); len(got) != 5 {
			t.Errorf("%d replies, want 5", len(got))
		}
	})
}

func TestWritesUnderWayTakeNoGoroutines(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		b, r := startBatcher(t, startFlusher(t))
		before := runtime.NumGoroutine()
		if err := b.hold(t.Context()); err != nil {
			t.Fatal(err)
		}
		addMany(b, 1000)
		b.release()
		wantSizes(t, "at once", r, 1000)
		addMany(b, 1000) // that wait
		synctest.Wait()
		if more := runtime.NumGoroutine() - before; more > 10 {
			t.Errorf("2000 writes take %d goroutines, want no more than that of the entry", more)
		}
	})
}

func TestQueueIsBounded(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		b, _ := startBatcher(t, startFlusher(t))
		if err := b.hold(t.Context()); err != nil {
			t.Fatal(err)
		}
		replies := new(answers)
		for range queueOps {
			b.add(oneDelete, replies)
		}
		if n := len(replies.all()); n != 0 {
			t.Fatalf("%d replies before the queue is full", n)
		}
		b.add(oneDelete, replies)
		got := replies.all()
		if len(got) != 1 || !errors.Is(got[0].Err, op.ErrUnavailable) {
			t.Fatalf("the operation over the bound got %+v, want unavailable", got)
		}
		b.release()
	})
}

// wantOverloaded fails unless an operation is refused with the words that name the limit.
func wantOverloaded(t *testing.T, b *batcher, raw []byte, limit int) {
	t.Helper()
	replies := new(answers)
	b.add(raw, replies)
	got := replies.all()
	if len(got) != 1 || !errors.Is(got[0].Err, op.ErrUnavailable) ||
		!strings.Contains(got[0].Err.Message, "overloaded") || !strings.Contains(got[0].Err.Message, strconv.Itoa(limit)) {
		t.Errorf("an operation over the bound got %+v, want overloaded and the limit of %d", got, limit)
	}
}

func TestQueueIsBoundedInBytes(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		b, _ := startBatcher(t, startFlusher(t))
		if err := b.hold(t.Context()); err != nil {
			t.Fatal(err)
		}
		replies := new(answers)
		large := commandOf(op.Set{Key: []byte("k"), Value: make([]byte, 1<<20)})
		for range queueBytes / len(large) {
			b.add(large, replies)
		}
		if n := len(replies.all()); n != 0 {
			t.Fatalf("%d replies before the queue is full", n)
		}
		wantOverloaded(t, b, large, queueBytes)
		b.release()
	})
}

// TestQueuesOfANodeAreBoundedTogether: what leaves a queue, in whatever way, makes room.
func TestQueuesOfANodeAreBoundedTogether(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		f := startFlusher(t)
		f.reserve(nodeBytes - len(oneDelete)) // what waits in other groups
		for way, leave := range map[string]func(b *batcher, r *fakeRaft){
			"proposed": func(b *batcher, r *fakeRaft) { b.release(); synctest.Wait(); r.finish(nil) },
			"given up": func(b *batcher, _ *fakeRaft) { time.Sleep(b.timeout); synctest.Wait() },
			"refused":  func(b *batcher, _ *fakeRaft) { b.close() },
		} {
			waits, r := startBatcher(t, f)
			other, _ := startBatcher(t, f)
			if err := waits.hold(t.Context()); err != nil {
				t.Fatal(err)
			}
			waits.add(oneDelete, new(answers))
			wantOverloaded(t, other, oneDelete, nodeBytes)
			leave(waits, r)
			if n := f.bytes.Load(); n != nodeBytes-int64(len(oneDelete)) {
				t.Errorf("%s: %d bytes wait, want %d", way, n, nodeBytes-len(oneDelete))
			}
		}
	})
}

func TestOutcomesOfRaftErrors(t *testing.T) {
	for _, tc := range []struct {
		err  error
		want error
	}{
		{raft.ErrNotLeader, op.ErrUnavailable},
		{raft.ErrEnqueueTimeout, op.ErrUnavailable},
		{raft.ErrLeadershipTransferInProgress, op.ErrUnavailable},
		{raft.ErrLeadershipLost, op.ErrUnknownOutcome},
		{raft.ErrRaftShutdown, op.ErrUnknownOutcome},
		{raft.ErrAbortedByRestore, op.ErrUnknownOutcome},
		{fmt.Errorf("write log: no space left on device"), op.ErrUnknownOutcome},
	} {
		bubble.Test(t, func(t *testing.T) {
			b, r := startBatcher(t, startFlusher(t))
			replies := new(answers)
			b.add(oneDelete, replies)
			synctest.Wait()
			r.finish(tc.err)
			synctest.Wait()
			if got := replies.all(); len(got) != 1 || !errors.Is(got[0].Err, tc.want) {
				t.Errorf("%v: got %+v, want %v", tc.err, got, tc.want)
			}
		})
	}
}

func TestAnEntryWithoutAnswerIsUnknownAndAnsweredOnce(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		b, r := startBatcher(t, startFlusher(t))
		replies := new(answers)
		b.add(oneDelete, replies)
		time.Sleep(6 * time.Second)
		synctest.Wait()
		if got := replies.all(); len(got) != 1 || !errors.Is(got[0].Err, op.ErrUnknownOutcome) {
			t.Fatalf("got %+v, want unknown", got)
		}
		r.finish(nil)
		synctest.Wait()
		if got := replies.all(); len(got) != 1 {
			t.Errorf("answered %d times", len(got))
		}
	})
}

func TestHoldWaitsForEntriesInFlight(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		b, r := startBatcher(t, startFlusher(t))
		b.add(oneDelete, new(answers))
		synctest.Wait()
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := b.hold(short); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("hold with an entry in flight: %v, want a deadline", err)
		}
		b.add(oneDelete, new(answers))
		r.finish(nil)
		if err := b.hold(t.Context()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if n := len(r.flying()); n != 0 {
			t.Fatalf("%d entries proposed while held", n)
		}
		b.release()
		synctest.Wait()
		if n := len(r.flying()); n != 1 {
			t.Errorf("%d entries after release, want 1", n)
		}
	})
}

func TestCloseRefusesWhatWasNotProposed(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		b, _ := startBatcher(t, startFlusher(t))
		if err := b.hold(t.Context()); err != nil {
			t.Fatal(err)
		}
		replies := new(answers)
		b.add(oneDelete, replies)
		b.close()
		b.add(oneDelete, replies)
		for _, res := range replies.all() {
			if !errors.Is(res.Err, op.ErrUnavailable) {
				t.Errorf("got %+v, want unavailable", res)
			}
		}
		if n := len(replies.all()); n != 2 {
			t.Errorf("%d replies, want 2", n)
		}
	})
}

func TestTransferRefusalsThatLastAreNoticed(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		b, r := startBatcher(t, startFlusher(t))
		refuse := func(err error) {
			b.add(oneDelete, new(answers))
			synctest.Wait()
			r.finish(err)
			synctest.Wait()
		}
		refuse(raft.ErrLeadershipTransferInProgress)
		time.Sleep(11 * time.Second)
		refuse(raft.ErrLeadershipTransferInProgress)
		if !b.stuck(10 * time.Second) {
			t.Error("refusals over 11 s go unnoticed")
		}
		refuse(nil)
		if b.stuck(10 * time.Second) {
			t.Error("stuck after an entry went through")
		}
	})
}

func TestCloseWaitsForEntriesInFlight(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		b, r := startBatcher(t, startFlusher(t))
		replies := new(answers)
		b.add(oneDelete, replies)
		synctest.Wait()
		go func() {
			time.Sleep(time.Second)
			r.finish(nil)
		}()
		start := time.Now()
		b.close()
		synctest.Wait()
		if got := replies.all(); len(got) != 1 || got[0].Err != nil || time.Since(start) != time.Second {
			t.Errorf("closed after %v with %+v, want the entry done after 1 s", time.Since(start), got)
		}
	})
}

func TestCloseDoesNotWaitLongerThanAnOutcomeMayTake(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		b, _ := startBatcher(t, startFlusher(t))
		replies := new(answers)
		b.add(oneDelete, replies)
		synctest.Wait()
		start := time.Now()
		b.close()
		synctest.Wait()
		if got := replies.all(); len(got) != 1 || !errors.Is(got[0].Err, op.ErrUnknownOutcome) || time.Since(start) != 5*time.Second {
			t.Errorf("closed after %v with %+v, want unknown after 5 s", time.Since(start), got)
		}
	})
}

func TestAnAnswerOfAnotherKindIsUnknown(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		b, r := startBatcher(t, startFlusher(t))
		replies := new(answers)
		b.add(oneDelete, replies)
		synctest.Wait()
		r.answer(nil, nil)
		synctest.Wait()
		if got := replies.all(); len(got) != 1 || !errors.Is(got[0].Err, op.ErrUnknownOutcome) {
			t.Errorf("got %+v, want unknown", got)
		}
	})
}
