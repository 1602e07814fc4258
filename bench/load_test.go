package bench

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringraft/ringraft/internal/bubble"
	"github.com/ringraft/ringraft/op"
)

// slowStore answers each batch after a while, as the function says. Its groups are the
// last digits of the keys.
type slowStore struct {
	groups int
	answer func(r *Request) error
}

func (s slowStore) Caller(int) Caller { return s }
func (s slowStore) Close() error      { return nil }
func (s slowStore) Groups() int       { return max(1, s.groups) }

func (s slowStore) Group(key []byte) int { return int(key[len(key)-1]-'0') % s.Groups() }

func (s slowStore) Do(_ context.Context, batch []Request) {
	for i := range batch {
		batch[i].Err = s.answer(&batch[i])
	}
}

// answering waits for d and has no error.
func answering(d time.Duration) slowStore {
	return slowStore{answer: func(*Request) error { time.Sleep(d); return nil }}
}

func workload(t testing.TB, reads float64, n int) Workload {
	t.Helper()
	keys, err := NewKeys(n, 0)
	if err != nil {
		t.Fatal(err)
	}
	sizes, err := ParseSizes("8")
	if err != nil {
		t.Fatal(err)
	}
	return NewWorkload(reads, keys, sizes)
}

// run runs l, whose work is on ten keys, in fake time.
func run(t *testing.T, l Load, check func(r Result, err error)) {
	t.Helper()
	bubble.Test(t, func(t *testing.T) {
		l.Work = workload(t, 0, 10)
		check(l.Run(t.Context()))
	})
}

func TestClosedLoopWaitsForAnswers(t *testing.T) {
	t.Parallel()
	run(t, Load{Store: answering(30 * time.Millisecond), Callers: 3, Duration: time.Second}, func(r Result, err error) {
		if err != nil {
			t.Fatal(err)
		}
		if want := int64(3 * 33); r.OK != want || r.OpsPerS != float64(want) || r.Seconds != 1 {
			t.Errorf("%d operations, %v per second, in %v s; want %d in 1", r.OK, r.OpsPerS, r.Seconds, want)
		}
		if r.P50 < 29.9 || r.P999 > 30.1 || r.Max > 30.1 || r.MaxGap != 30 || r.MaxGroupGap != 30 {
			t.Errorf("p50 %v ms, p99.9 %v ms, longest gap %v, %v ms; want 30", r.P50, r.P999, r.MaxGap, r.MaxGroupGap)
		}
	})
}

func TestBatchesCountEveryRequest(t *testing.T) {
	t.Parallel()
	run(t, Load{Store: answering(time.Millisecond), Callers: 2, Batch: 10, Duration: 105 * time.Millisecond}, func(r Result, err error) {
		if err != nil || r.OK != 200 || r.P50 < 9.9 {
			t.Errorf("%d answered, p50 %v ms, err %v; want 200 in batches of 10 ms", r.OK, r.P50, err)
		}
	})
}

func TestLoadEndsAfterItsRequests(t *testing.T) {
	t.Parallel()
	for name, rate := range map[string]float64{"closed loop": 0, "open loop": 1000} {
		run(t, Load{Store: answering(time.Millisecond), Callers: 3, Batch: 2, Rate: rate, Backlog: 10, Requests: 101, Duration: time.Hour}, func(r Result, err error) {
			if err != nil || r.OK != 101 || r.Unsent != 0 || r.Seconds > 1 {
				t.Errorf("%s: %d answered and %d unsent after %v s, err %v; want 101 soon", name, r.OK, r.Unsent, r.Seconds, err)
			}
		})
	}
}

// stallingFor stands still once, for that long from the second second on.
func stallingFor(d time.Duration) slowStore {
	start := time.Now()
	return slowStore{answer: func(*Request) error {
		time.Sleep(time.Millisecond)
		if since := time.Since(start); since >= time.Second && since < time.Second+d {
			time.Sleep(time.Second + d - since)
		}
		return nil
	}}
}

// A store that stands still for two of ten seconds answers a fifth of what is due late, by a second
// in the mean. A closed loop sends nothing meanwhile, and so shows one slow request.
func TestOpenLoopShowsAStall(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		rate     float64
		p50, p99 float64 // ms
	}{
		{"open loop", 100, 1, 1900},
		{"closed loop", 0, 1, 1},
	} {
		bubble.Test(t, func(t *testing.T) {
			l := Load{Store: stallingFor(2 * time.Second), Work: workload(t, 0, 10), Callers: 1, Rate: c.rate, Backlog: 1000, Duration: 10 * time.Second}
			r, err := l.Run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if r.P50 > 2*c.p50 || r.P99 < 0.9*c.p99 || r.P99 > 1.1*c.p99 || r.Max < 1990 {
				t.Errorf("%s: p50 %v, p99 %v, max %v ms; want about %v, %v, 2000", c.name, r.P50, r.P99, r.Max, c.p50, c.p99)
			}
			if c.rate > 0 && (r.OK != 1000 || r.Unsent != 0) {
				t.Errorf("%s: %d answered, %d unsent; want all 1000 that were due", c.name, r.OK, r.Unsent)
			}
		})
	}
}

func TestOpenLoopGivesUpWhatIsTooOld(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		l := Load{Store: stallingFor(2 * time.Second), Work: workload(t, 0, 10), Callers: 1, Rate: 100, Backlog: 50, Duration: 10 * time.Second}
		r, err := l.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if r.OK+r.Unsent != 1000 || r.Unsent < 148 || r.Unsent > 152 {
			t.Errorf("%d answered, %d unsent; want 1000 in all, about 150 of them given up", r.OK, r.Unsent)
		}
		// One request saw the whole stall; of those sent, the oldest had waited 50 intervals.
		if r.Max < 1990 || r.P99 < 300 || r.P99 > 600 {
			t.Errorf("p99 %v, max %v ms; want about 400 and 2000", r.P99, r.Max)
		}
	})
}

func TestOpenLoopCountsWhatItCannotSend(t *testing.T) {
	t.Parallel()
	run(t, Load{Store: answering(100 * time.Millisecond), Callers: 2, Rate: 1000, Backlog: 100, Duration: time.Second}, func(r Result, err error) {
		if err != nil || r.OK != 20 || r.OK+r.Unsent != 1000 {
			t.Errorf("%d answered, %d unsent, err %v; want 20 of 1000", r.OK, r.Unsent, err)
		}
	})
}

func TestOpenLoopKeepsItsRate(t *testing.T) {
	t.Parallel()
	run(t, Load{Store: answering(5 * time.Millisecond), Callers: 8, Rate: 250, Backlog: 250, Duration: 4 * time.Second}, func(r Result, err error) {
		if err != nil || r.OK != 1000 || r.P50 < 4.9 || r.Max > 5.1 {
			t.Errorf("%d answered, p50 %v, max %v ms, err %v; want 1000 of 5 ms", r.OK, r.P50, r.Max, err)
		}
	})
}

func TestLongestGapIsFound(t *testing.T) {
	t.Parallel()
	for name, hole := range map[string]struct{ from, to time.Duration }{
		"in the middle": {3 * time.Second, 5 * time.Second}, "at the start": {0, 2 * time.Second}, "at the end": {8 * time.Second, 20 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble.Test(t, func(t *testing.T) {
				start := time.Now()
				store := slowStore{answer: func(*Request) error {
					if now := time.Since(start); now >= hole.from && now < hole.to {
						time.Sleep(hole.to - now)
						return op.UnknownOutcome("the leader is gone")
					}
					time.Sleep(time.Millisecond)
					return nil
				}}
				l := Load{Store: store, Work: workload(t, 0, 10), Callers: 2, Duration: 10 * time.Second}
				r, err := l.Run(t.Context())
				if err != nil || r.MaxGap < 1990 || r.MaxGap > 2050 {
					t.Errorf("longest gap %v ms, err %v; want about 2000", r.MaxGap, err)
				}
			})
		})
	}
}

func TestGapOfOneGroupIsSeenThoughTheOthersAnswer(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		start := time.Now()
		store := slowStore{groups: 5, answer: func(r *Request) error {
			time.Sleep(time.Millisecond)
			if now := time.Since(start); (r.Key[len(r.Key)-1]-'0')%5 == 3 && now > time.Second && now < 4*time.Second {
				return op.Unavailable("nobody leads")
			}
			return nil
		}}
		l := Load{Store: store, Work: workload(t, 0, 10), Callers: 16, Duration: 5 * time.Second}
		r, err := l.Run(t.Context())
		if err != nil || r.MaxGap > 20 || r.MaxGroupGap < 2900 || r.MaxGroupGap > 3200 {
			t.Errorf("longest gaps %v and %v ms, err %v; want few and about 3000", r.MaxGap, r.MaxGroupGap, err)
		}
	})
}

func TestFailuresAreCounted(t *testing.T) {
	t.Parallel()
	n := 0
	store := slowStore{answer: func(*Request) error {
		time.Sleep(time.Millisecond)
		n++
		switch n {
		case 1:
			return op.UnknownOutcome("the leader is gone")
		case 2, 3:
			return op.Unavailable("nobody leads")
		}
		return nil
	}}
	run(t, Load{Store: store, Callers: 1, Duration: time.Second}, func(r Result, err error) {
		if err != nil || r.Unknown != 1 || r.Errors != 2 || r.OK == 0 || !errors.Is(r.FirstError, op.ErrUnknownOutcome) {
			t.Errorf("result %+v, err %v; want 1 unknown, 2 errors", r, err)
		}
		failed := int64(0)
		for _, p := range r.Series {
			failed += p.Failed
		}
		if failed != 3 {
			t.Errorf("the series has %d failures, want 3", failed)
		}
	})
}

func TestLoadEndsWhenTheStoreIsAway(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		start := time.Now()
		store := slowStore{answer: func(*Request) error {
			time.Sleep(time.Second)
			if time.Since(start) < 5*time.Second {
				return nil
			}
			return op.Unavailable("connection refused")
		}}
		for _, rate := range []float64{0, 10} {
			start = time.Now()
			l := Load{Store: store, Work: workload(t, 0, 10), Callers: 4, Rate: rate, Backlog: 10, Duration: time.Hour}
			if _, err := l.Run(t.Context()); !errors.Is(err, op.ErrUnavailable) {
				t.Errorf("rate %v: err = %v, want unavailable", rate, err)
			}
			if took := time.Since(start); took > time.Minute {
				t.Errorf("rate %v: it took %v to notice", rate, took)
			}
		}
	})
}

func TestInterruptedLoadTellsWhatItMeasured(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		for _, rate := range []float64{0, 100} {
			ctx, cancel := context.WithTimeout(t.Context(), 995*time.Millisecond)
			defer cancel()
			l := Load{Store: answering(10 * time.Millisecond), Work: workload(t, 0, 10), Callers: 2, Rate: rate, Backlog: 100, Duration: time.Hour}
			r, err := l.Run(ctx)
			if !errors.Is(err, context.DeadlineExceeded) || r.OK == 0 || r.Unsent != 0 {
				t.Errorf("rate %v: %d answered, %d unsent, err %v; want some, none, the context's", rate, r.OK, r.Unsent, err)
			}
		}
	})
}

// hesitant answers after a second, unless it is called off.
type hesitant struct {
	slowStore
	calledOff *atomic.Bool
}

func (s hesitant) Caller(int) Caller { return s }

func (s hesitant) Do(ctx context.Context, batch []Request) {
	select {
	case <-time.After(time.Second):
	case <-ctx.Done():
		s.calledOff.Store(true)
	}
}

// TestLastRequestsAreNotCalledOff, neither by an interrupt nor when the time is up.
func TestLastRequestsAreNotCalledOff(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		for _, duration := range []time.Duration{100 * time.Millisecond, time.Hour} {
			for _, rate := range []float64{0, 100} {
				ctx, interrupt := context.WithTimeout(t.Context(), 500*time.Millisecond)
				defer interrupt()
				s := hesitant{calledOff: new(atomic.Bool)}
				l := Load{Store: s, Work: workload(t, 0, 10), Callers: 2, Rate: rate, Backlog: 100, Duration: duration}
				_, _ = l.Run(ctx) // how it ends is not the matter here
				if s.calledOff.Load() {
					t.Errorf("for %v at rate %v: a request was called off", duration, rate)
				}
			}
		}
	})
}

func TestSeriesCoversTheMeasurement(t *testing.T) {
	t.Parallel()
	run(t, Load{Store: answering(10 * time.Millisecond), Callers: 4, Duration: 20 * time.Second}, func(r Result, err error) {
		if err != nil || len(r.Series) < 90 || len(r.Series) > 101 {
			t.Fatalf("%d points, err %v; want about 100", len(r.Series), err)
		}
		last, sum := 0.0, 0.0
		for _, p := range r.Series {
			if p.At <= last || p.P50 < 9.9 || p.P99 > 10.1 {
				t.Errorf("after %v: point %+v; want latencies of 10 ms", last, p)
			}
			sum += p.OpsPerS * (p.At - last)
			last = p.At
		}
		if last != 20 || int64(sum+0.5) != r.OK {
			t.Errorf("the series ends at %v s with %v answers; want 20 and %d", last, sum, r.OK)
		}
	})
}

// The generator's own cost, of a store that answers at once.
func BenchmarkClosedLoop(b *testing.B) {
	store := slowStore{groups: 4, answer: func(*Request) error { return nil }}
	l := Load{Store: store, Work: workload(b, 0.9, 100_000), Callers: 1, Requests: 1, Duration: time.Hour}
	m, requests := newMeter(4), newDrawer(&l.Work, 0)
	batch := make([]Request, 1)
	p := newClosedLoop(1 << 60)
	b.ReportAllocs()
	for b.Loop() {
		p.take(b.Context(), m.elapsed, batch)
		requests.draw(&batch[0])
		store.Do(b.Context(), batch)
		m.record(0, m.elapsed(), batch, store.Group)
	}
}
