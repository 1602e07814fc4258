package shard

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringraft/ringraft/internal/bubble"
)

func TestTasksEndBeforeCloseReturns(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		var ts tasks
		var ended atomic.Int32
		for i := range 3 {
			ts.start(func() { time.Sleep(time.Duration(i) * time.Second); ended.Add(1) })
			synctest.Wait()
		}
		if err := ts.close(t.Context()); err != nil || ended.Load() != 3 {
			t.Errorf("closed with %d of 3 ended, %v", ended.Load(), err)
		}
		if ts.start(func() { t.Error("a task started after close") }) {
			t.Error("start after close reports true")
		}
		if err := ts.close(t.Context()); err != nil {
			t.Errorf("closed again: %v", err)
		}
	})
}

func TestClosingTasksWaitsAsLongAsToldTo(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		var ts tasks
		ts.start(func() { time.Sleep(time.Minute) })
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := ts.close(short); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("close with a task that lasts: %v, want a deadline", err)
		}
		if err := ts.close(t.Context()); err != nil {
			t.Errorf("close with time enough: %v", err)
		}
	})
}

func TestAwaitGivesUpWhileTheTaskGoesOn(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		var ts tasks
		slow := func() int { time.Sleep(time.Minute); return 7 }
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := await(short, &ts, slow); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want a deadline", err)
		}
		if got, err := await(t.Context(), &ts, slow); got != 7 || err != nil {
			t.Errorf("got %d, %v; want 7", got, err)
		}
		if err := ts.close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := await(t.Context(), &ts, slow); !errors.Is(err, errStopping) {
			t.Errorf("after close: %v, want %v", err, errStopping)
		}
	})
}
