package shard

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringraft/ringraft/internal/bubble"
)

// sizes returns how many operations each entry in flight has.
func sizes(r *fakeRaft) (ops []int) {
	for _, f := range r.flying() {
		ops = append(ops, f.entry.Len())
	}
	return ops
}

func wantSizes(t *testing.T, what string, r *fakeRaft, want ...int) {
	t.Helper()
	synctest.Wait()
	got := sizes(r)
	if len(got) != len(want) {
		t.Fatalf("%s: entries of %v operations are in flight, want %v", what, got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("%s: entries of %v operations are in flight, want %v", what, got, want)
		}
	}
}

func addMany(b *batcher, n int) {
	for range n {
		b.add(oneDelete, new(answers))
	}
}

func TestGroupsProposeAtOneInstant(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		f := startFlusher(t)
		a, ofA := startBatcher(t, f)
		b, ofB := startBatcher(t, f)
		addMany(a, 1)
		wantSizes(t, "at first", ofA, 1)
		addMany(a, 2)
		addMany(b, 3)
		wantSizes(t, "while a tick is in flight", ofB)
		ofA.finish(nil)
		wantSizes(t, "after it, in one group", ofA, 2)
		wantSizes(t, "after it, in the other", ofB, 3)
	})
}

func TestASlowGroupHoldsUpTheOthersForItsPatienceOnly(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		f := startFlusher(t)
		slow, ofSlow := startBatcher(t, f)
		quick, ofQuick := startBatcher(t, f)
		addMany(slow, 1)
		wantSizes(t, "the slow group", ofSlow, 1)
		addMany(quick, 1)
		wantSizes(t, "behind the slow group", ofQuick)
		time.Sleep(tickPatience)
		for range 3 {
			wantSizes(t, "after the tick's patience", ofQuick, 1)
			ofQuick.finish(nil)
			addMany(quick, 1)
		}
		wantSizes(t, "the slow group all the while", ofSlow, 1)
	})
}

func TestATickWaitsForThoseThatTheLastOneAnswered(t *testing.T) {
	for name, tc := range map[string]struct {
		last, come int // operations of the last tick, and that come soon after it
		waits      time.Duration
	}{
		"most come":         {last: 100, come: 75, waits: 0},
		"few come":          {last: 100, come: 1, waits: gatherFor},
		"the last was tiny": {last: gatherLeast - 1, come: 1, waits: 0},
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				b, r := startBatcher(t, startFlusher(t))
				addMany(b, 1)
				synctest.Wait()
				addMany(b, tc.last)
				r.finish(nil)
				wantSizes(t, "the last tick", r, tc.last)
				r.finish(nil)
				synctest.Wait()

				start := time.Now()
				addMany(b, tc.come)
				for synctest.Wait(); len(r.flying()) == 0; synctest.Wait() {
					time.Sleep(gatherFor / 10)
				}
				wantSizes(t, "the next tick", r, tc.come)
				if waited := time.Since(start); waited != tc.waits {
					t.Errorf("it waited %v, want %v", waited, tc.waits)
				}
			})
		})
	}
}

// TestOperationsThatMayNotGoLeaveTheFlusherAsleep: synctest.Wait would not return if it
// looked again and again.
func TestOperationsThatMayNotGoLeaveTheFlusherAsleep(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		f := startFlusher(t)
		held, ofHeld := startBatcher(t, f)
		other, ofOther := startBatcher(t, f)
		if err := held.hold(t.Context()); err != nil {
			t.Fatal(err)
		}
		addMany(held, 100)
		synctest.Wait()
		for range 3 {
			addMany(other, 1)
			wantSizes(t, "beside a held group", ofOther, 1)
			ofOther.finish(nil)
		}
		held.release()
		wantSizes(t, "once released", ofHeld, 100)
	})
}

func TestTheFlusherForgetsAClosedGroup(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		f := startFlusher(t)
		gone, _ := startBatcher(t, f)
		if err := gone.hold(t.Context()); err != nil {
			t.Fatal(err)
		}
		addMany(gone, 100)
		gone.close()
		if n := f.waiting.Load(); n != 0 || len(f.all()) != 0 {
			t.Errorf("%d operations of %d groups wait, want none of none", n, len(f.all()))
		}
	})
}
