package shard

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringraft/ringraft/internal/bubble"
)

func TestNewcomersWaitForTheNextRound(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		var got [][]int
		r := newRounds(func(_ context.Context, waiting []int) {
			time.Sleep(time.Second)
			got = append(got, waiting)
		})
		r.add(1)
		time.Sleep(time.Millisecond)
		for i := range 3 {
			r.add(2 + i)
		}
		time.Sleep(3 * time.Second)
		r.add(5)
		r.close()
		if want := [][]int{{1}, {2, 3, 4}, {5}}; !slices.EqualFunc(got, want, slices.Equal) {
			t.Errorf("rounds %v, want %v", got, want)
		}
	})
}

func TestClosedRoundsAnswerWhoWaitsAndTakeNobody(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		var answered atomic.Int64
		r := newRounds(func(ctx context.Context, waiting []int) {
			<-ctx.Done()
			answered.Add(int64(len(waiting)))
		})
		r.add(1)
		synctest.Wait()
		r.add(2)
		r.close()
		if n := answered.Load(); n != 2 {
			t.Errorf("%d were answered, want 2", n)
		}
		if r.add(3) {
			t.Error("somebody was taken after close")
		}
		r.close()
	})
}

func TestRoundsAreBounded(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		r := newRounds(func(ctx context.Context, _ []int) { <-ctx.Done() })
		defer r.close()
		r.add(0)
		synctest.Wait()
		for i := range maxWaitingReads {
			if !r.add(i) {
				t.Fatalf("refused with %d waiting", i)
			}
		}
		if r.add(0) {
			t.Errorf("taken with %d waiting", maxWaitingReads)
		}
	})
}
