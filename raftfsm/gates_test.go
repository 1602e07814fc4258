package raftfsm

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"

	"github.com/ringraft/ringraft/internal/bubble"
)

func TestWaitReturnsAtItsIndex(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		f := New(Config{})
		var mu sync.Mutex
		through := map[uint64]int{}
		var wg sync.WaitGroup
		for _, index := range []uint64{3, 1, 5, 2, 5, 3, 5} {
			wg.Go(func() {
				if err := f.Wait(t.Context(), index); err != nil {
					t.Errorf("Wait(%d): %v", index, err)
				}
				mu.Lock()
				defer mu.Unlock()
				through[index]++
			})
		}
		for _, step := range []struct{ index, want uint64 }{{1, 1}, {2, 2}, {4, 4}, {5, 7}} {
			f.Apply(command(step.index, entryOf(0, nil)))
			synctest.Wait()
			mu.Lock()
			n := 0
			for index, count := range through {
				if index > step.index {
					t.Errorf("Wait(%d) returned at index %d", index, step.index)
				}
				n += count
			}
			mu.Unlock()
			if n != int(step.want) {
				t.Errorf("at index %d %d are through, want %d", step.index, n, step.want)
			}
		}
		wg.Wait()
		if err := f.Wait(t.Context(), 5); err != nil {
			t.Errorf("Wait for an index already applied: %v", err)
		}
	})
}

func TestWaitFindsAnIndexReachedJustBefore(t *testing.T) {
	t.Parallel()
	var g gates
	g.open(5)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for index, want := range map[uint64]error{4: nil, 5: nil, 6: context.Canceled} {
		if err := g.wait(ctx, index); !errors.Is(err, want) {
			t.Errorf("wait(%d) at index 5: %v, want %v", index, err, want)
		}
	}
}

func TestWaitEndsWithItsContext(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		f := New(Config{})
		var wg sync.WaitGroup
		for i := range 10 {
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*time.Second)
				defer cancel()
				if err := f.Wait(ctx, uint64(1+i%3)); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("Wait: %v, want %v", err, context.DeadlineExceeded)
				}
			})
		}
		wg.Wait()
		if n := len(f.gates.closed); n != 0 {
			t.Errorf("%d gates are left behind", n)
		}
	})
}

func TestWaitEndsWithAHalt(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		f := New(Config{})
		errs := make(chan error, 2)
		for index := range uint64(2) {
			go func() { errs <- f.Wait(t.Context(), 1+index) }()
		}
		synctest.Wait()
		f.Apply(&raft.Log{Index: 1, Type: raft.LogCommand})
		for range 2 {
			if err := <-errs; err == nil || err.Error() != f.halted.Error() {
				t.Errorf("Wait: %v, want %v", err, f.halted)
			}
		}
	})
}

func TestWaitEndsWithARestore(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		source := New(Config{})
		source.Apply(command(40, entryOf(0, nil, set("a", "1"))))
		snapshot := persist(t, takeSnapshot(t, source))
		f := New(Config{})
		errs := make(chan error, 1)
		go func() { errs <- f.Wait(t.Context(), 40) }()
		synctest.Wait()
		if err := restore(f, snapshot); err != nil {
			t.Fatal(err)
		}
		if err := <-errs; err != nil {
			t.Errorf("Wait: %v", err)
		}
		if got := f.Applied(); got != 40 {
			t.Errorf("applied %d, want 40", got)
		}
	})
}
