package main

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringraft/ringraft/client"
	"github.com/ringraft/ringraft/op"
)

func TestBenchPrintsItsResult(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	for _, args := range [][]string{{"--op", "set"}, {"--op", "get", "--read", "local"}, {"--op", "mixed", "--pipeline", "2"}} {
		var doc map[string]float64
		s.run(t, append([]string{"bench", "--clients", "4", "--keys", "50", "--duration", "500ms", "--warmup", "10ms"}, args...)...).parse(t, &doc)
		for _, field := range []string{"ops_per_s", "p50_ms", "p99_ms", "p999_ms", "max_gap_ms", "ok"} {
			if doc[field] <= 0 {
				t.Errorf("%q: %s = %v, want more than 0", args, field, doc[field])
			}
		}
		if doc["errors"] != 0 || doc["unknown"] != 0 || len(doc) != 8 {
			t.Errorf("%q: %v", args, doc)
		}
	}
	if o := s.run(t, "exists", "bench:0", "bench:49"); o.out != "2\n" {
		t.Errorf("of the first and last key %q exist, want 2", o.out)
	}
}

// slowStore answers each request after a while, as the clock says.
type slowStore func(ctx context.Context) error

func (s slowStore) Get(ctx context.Context, _ string, _ ...client.ReadOption) (client.Value, error) {
	return client.Value{}, s(ctx)
}

func (s slowStore) Set(ctx context.Context, _ string, _ []byte, _ ...client.WriteOption) (uint64, error) {
	return 1, s(ctx)
}

func (s slowStore) SetMany(ctx context.Context, pairs []client.Pair, _ ...client.WriteOption) ([]client.Result, error) {
	return make([]client.Result, len(pairs)), s(ctx)
}

func runLoad(t *testing.T, callers int, duration time.Duration, answer slowStore) (benchResult, error) {
	t.Helper()
	l := &load{to: answer, op: opSet, callers: callers, keys: 10, duration: duration}
	return l.run(t.Context(), duration, (&console{}).newProgress(-1, "", false))
}

func TestLoadMeasuresAClosedLoop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, err := runLoad(t, 3, time.Second, func(context.Context) error { time.Sleep(30 * time.Millisecond); return nil })
		if err != nil {
			t.Fatal(err)
		}
		if want := int64(3 * 33); r.OK != want || r.OpsPerS != float64(want) {
			t.Errorf("%d operations, %v per second; want %d", r.OK, r.OpsPerS, want)
		}
		if r.P50 < 29.9 || r.P999 > 30.1 || r.MaxGap != 30 {
			t.Errorf("p50 %v ms, p99.9 %v ms, longest gap %v ms; want 30", r.P50, r.P999, r.MaxGap)
		}
	})
}

func TestLoadFindsTheLongestGap(t *testing.T) {
	t.Parallel()
	for name, hole := range map[string]struct{ from, to time.Duration }{
		"in the middle": {3 * time.Second, 5 * time.Second}, "at the start": {0, 2 * time.Second}, "at the end": {8 * time.Second, 20 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				r, err := runLoad(t, 2, 10*time.Second, func(context.Context) error {
					if now := time.Since(start); now >= hole.from && now < hole.to {
						time.Sleep(hole.to - now)
						return op.UnknownOutcome("the leader is gone")
					}
					time.Sleep(time.Millisecond)
					return nil
				})
				if err != nil || r.MaxGap < 1990 || r.MaxGap > 2050 {
					t.Errorf("longest gap %v ms, err %v; want about 2000", r.MaxGap, err)
				}
			})
		})
	}
}

func TestLoadCountsFailures(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := 0
		r, err := runLoad(t, 1, time.Second, func(context.Context) error {
			time.Sleep(time.Millisecond)
			n++
			switch n {
			case 1:
				return op.UnknownOutcome("the leader is gone")
			case 2, 3:
				return op.Unavailable("nobody leads")
			}
			return nil
		})
		if err != nil || r.Unknown != 1 || r.Errors != 2 || r.OK == 0 || !errors.Is(r.firstError, op.ErrUnknownOutcome) {
			t.Errorf("result %+v, err %v; want 1 unknown, 2 errors", r, err)
		}
	})
}

func TestLoadEndsWhenTheClusterIsAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		_, err := runLoad(t, 4, time.Hour, func(context.Context) error {
			time.Sleep(time.Second)
			if time.Since(start) < 5*time.Second {
				return nil
			}
			return op.Unavailable("connection refused")
		})
		if exitCode(err) != exitUnavailable {
			t.Errorf("err = %v, want unavailable", err)
		}
		if took := time.Since(start); took > 20*time.Second {
			t.Errorf("it took %v to notice", took)
		}
	})
}
