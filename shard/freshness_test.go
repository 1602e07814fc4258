package shard

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"

	"github.com/ringraft/ringraft/internal/bubble"
)

// fakeMachine has reached an index, and reaches another one never or at once.
type fakeMachine struct {
	raft.BatchingFSM
	applied atomic.Uint64
}

func (m *fakeMachine) Applied() uint64 { return m.applied.Load() }

func (m *fakeMachine) Wait(ctx context.Context, index uint64) error {
	if m.Applied() >= index {
		return nil
	}
	<-ctx.Done()
	return ctx.Err()
}

// fakeLeader tells its read index after a round trip.
type fakeLeader struct {
	trip  time.Duration
	index uint64
	away  bool
	asked int
}

func (l *fakeLeader) tell(ctx context.Context) (uint64, error) {
	l.asked++
	if l.away {
		<-ctx.Done()
		return 0, ctx.Err()
	}
	time.Sleep(l.trip)
	return l.index, nil
}

func startFreshness(t *testing.T) (*freshness, *fakeMachine, *fakeLeader) {
	m, l := new(fakeMachine), &fakeLeader{trip: 2 * time.Millisecond, index: 7}
	m.applied.Store(7)
	f := newFreshness(m, slog.New(slog.DiscardHandler), l.tell, time.Second)
	t.Cleanup(f.close)
	return f, m, l
}

// askWithin returns f's answer and how long it took.
func askWithin(f *freshness, within time.Duration) (fresh bool, took time.Duration) {
	start := time.Now()
	answer := make(chan bool, 1)
	f.add(within, func(fresh bool) { answer <- fresh })
	return <-answer, time.Since(start)
}

func TestAProofServesReadsUntilItIsTooOldForThem(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		f, _, l := startFreshness(t)
		start := time.Now()
		for _, tc := range []struct {
			at, within time.Duration
			waits      bool
			asked      int // the leader, in all
		}{
			{0, time.Second, true, 1},
			{499 * time.Millisecond, time.Second, false, 1},
			{600 * time.Millisecond, time.Second, false, 2}, // past half of its bound: renewed behind the reader's back
			{1590 * time.Millisecond, time.Second, false, 3},
			{1690 * time.Millisecond, 99 * time.Millisecond, true, 4},
			{2000 * time.Millisecond, time.Minute, false, 4},
			{5 * time.Second, time.Second, true, 5},
		} {
			time.Sleep(tc.at - time.Since(start))
			fresh, took := askWithin(f, tc.within)
			time.Sleep(l.trip)
			synctest.Wait()
			if waits := took > 0; !fresh || waits != tc.waits || l.asked != tc.asked {
				t.Errorf("at %v within %v: %v after %v, the leader asked %d times; want true, waiting %v, %d times",
					tc.at, tc.within, fresh, took, l.asked, tc.waits, tc.asked)
			}
		}
	})
}

func TestWithoutTheLeaderAProofLastsAsLongAsItsBound(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		f, _, l := startFreshness(t)
		const within = 2 * time.Second
		start := time.Now()
		if fresh, _ := askWithin(f, within); !fresh {
			t.Fatal("no answer with the leader at hand")
		}
		l.away = true
		for time.Since(start) <= within {
			if fresh, took := askWithin(f, within); !fresh || took != 0 {
				t.Fatalf("after %v: %v after %v, want true at once", time.Since(start), fresh, took)
			}
			time.Sleep(100 * time.Millisecond)
		}
		for range 10 {
			if fresh, took := askWithin(f, within); fresh || took > 2*f.timeout {
				t.Fatalf("after %v: %v after %v, want no answer, soon", time.Since(start), fresh, took)
			}
		}
		if l.asked > 20 {
			t.Errorf("the leader was asked %d times", l.asked)
		}
		l.away = false
		if fresh, _ := askWithin(f, within); !fresh {
			t.Error("no answer with the leader back")
		}
	})
}

func TestAStateBehindTheReadIndexIsNotFresh(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		f, m, l := startFreshness(t)
		l.index = 8
		if fresh, took := askWithin(f, time.Minute); fresh || took != f.timeout {
			t.Fatalf("behind the read index: %v after %v, want no answer after %v", fresh, took, f.timeout)
		}
		m.applied.Store(8)
		if fresh, _ := askWithin(f, time.Minute); !fresh {
			t.Fatal("no answer at the read index")
		}
		m.applied.Store(7) // an older snapshot was installed
		if fresh, _ := askWithin(f, time.Minute); fresh {
			t.Error("a state that went back is still called fresh")
		}
	})
}

func TestOneFetchServesAllWhoWait(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		f, _, l := startFreshness(t)
		fresh := 0
		for range 1000 {
			f.add(time.Second, func(yes bool) {
				if yes {
					fresh++
				}
			})
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if fresh != 1000 || l.asked > 2 {
			t.Errorf("%d answers from %d questions, want 1000 from at most 2", fresh, l.asked)
		}
	})
}

func TestNobodyAsksWithoutReads(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		f, _, l := startFreshness(t)
		askWithin(f, time.Second)
		time.Sleep(time.Hour)
		if l.asked != 1 {
			t.Errorf("the leader was asked %d times, want once", l.asked)
		}
	})
}

func TestClosedFreshnessRefuses(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		f, _, l := startFreshness(t)
		l.away = true
		waiting := make(chan bool, 1)
		f.add(time.Second, func(fresh bool) { waiting <- fresh })
		synctest.Wait()
		f.close()
		if <-waiting {
			t.Error("a waiting read was answered by close")
		}
		if fresh, _ := askWithin(f, time.Second); fresh {
			t.Error("a read was answered after close")
		}
	})
}

func TestAgeOfAProof(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for name, tc := range map[string]struct {
		proof proof
		want  time.Duration
	}{
		"there is none":        {proof{}, math.MaxInt64},
		"by both clocks":       {proof{at: now.Add(-time.Second)}, time.Second},
		"fetched after asking": {proof{at: now.Add(time.Second)}, -time.Second},
		"by the wall clock":    {proof{at: now.Round(0).Add(-time.Minute)}, time.Minute},
	} {
		if got := tc.proof.age(now); got != tc.want {
			t.Errorf("%s: age %v, want %v", name, got, tc.want)
		}
	}
}

var errNoLeader = errors.New("no leader")

func TestAFailedFetchRefusesWhoWaits(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		f := newFreshness(new(fakeMachine), slog.New(slog.DiscardHandler),
			func(context.Context) (uint64, error) { return 0, fmt.Errorf("asking: %w", errNoLeader) }, time.Second)
		defer f.close()
		if fresh, took := askWithin(f, time.Hour); fresh || took != 0 {
			t.Errorf("%v after %v, want a refusal at once", fresh, took)
		}
	})
}
