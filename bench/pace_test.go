package bench

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ringraft/ringraft/internal/bubble"
)

// Whatever the rate and however the clock jumps, each request that is due is either taken, at the time at which
// it was due, in order, or given up, and none waits behind more than the backlog.
func TestOpenLoopAccountsForEveryRequest(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rate := rapid.Float64Range(0.5, 1e6).Draw(t, "rate")
		backlog := rapid.IntRange(1, 50).Draw(t, "backlog")
		limit := time.Duration(rapid.Int64Range(1, int64(time.Second)).Draw(t, "limit"))
		o := newOpenLoop(rate, backlog, limit, 1<<40)
		now, last, taken := time.Duration(0), int64(-1), int64(0)
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			now += time.Duration(rapid.Int64Range(0, int64(limit)/20).Draw(t, "step"))
			if now >= limit {
				break
			}
			i, ok := o.claim(now, o.total)
			if !ok {
				continue
			}
			taken++
			if i <= last || i < min(o.dueBy(now), o.total)-int64(backlog) {
				t.Fatalf("request %d after %d with %d due and a backlog of %d", i, last, o.dueBy(now), backlog)
			}
			if at := o.dueAt(i); o.dueBy(at+1) < i || at > 0 && o.dueBy(at-1) > i+1 {
				t.Fatalf("request %d is due at %v, when %d are", i, at, o.dueBy(at))
			}
			last = i
		}
		now = min(now, limit-1)
		early := max(0, o.next.Load()-min(o.dueBy(now), o.total)) // taken before they are due
		if due := min(o.total, o.dueBy(now)); taken-early+o.unsent(now) != due {
			t.Fatalf("%d taken, %d of them early, %d unsent; %d are due", taken, early, o.unsent(now), due)
		}
	})
}

func TestBatchTakesOnlyWhatIsDue(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		start := time.Now()
		clock := func() time.Duration { return time.Since(start) }
		o := newOpenLoop(100, 1000, time.Minute, 1<<40)
		batch := make([]Request, 8)
		if n := o.take(t.Context(), clock, batch); n != 1 || batch[0].start != 0 {
			t.Errorf("at the start %d requests, the first due at %d; want 1 at 0", n, batch[0].start)
		}
		if n := o.take(t.Context(), clock, batch); n != 1 || clock() != 10*time.Millisecond {
			t.Errorf("%d requests at %v; want 1 at 10ms", n, clock())
		}
		time.Sleep(45 * time.Millisecond)
		if n := o.take(t.Context(), clock, batch); n != 4 || batch[3].start != int64(50*time.Millisecond) {
			t.Errorf("%d requests, the last due at %v; want 4, 50ms", n, time.Duration(batch[3].start))
		}
		time.Sleep(time.Second)
		if n := o.take(t.Context(), clock, batch); n != len(batch) {
			t.Errorf("%d requests of many due, want %d", n, len(batch))
		}
	})
}

func TestNothingIsTakenOnceTheTimeIsUp(t *testing.T) {
	t.Parallel()
	o := newOpenLoop(100, 1000, time.Second, 1<<40)
	late := func() time.Duration { return time.Second }
	if n := o.take(t.Context(), late, make([]Request, 4)); n != 0 || o.next.Load() != 0 || o.unsent(time.Second) != 100 {
		t.Errorf("%d taken, the next is %d, %d unsent; want 0, 0 and all 100", n, o.next.Load(), o.unsent(time.Second))
	}
}
