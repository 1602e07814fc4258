package main

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// slow answers after a while, as the clock says, and fails every so many requests.
type slow struct {
	latency    time.Duration
	failEvery  int64 // 0: never
	sets, gets atomic.Int64
}

func (s *slow) answer(n int64) error {
	time.Sleep(s.latency)
	if s.failEvery > 0 && n%s.failEvery == 0 {
		return errors.New("no leader")
	}
	return nil
}

func (s *slow) set(context.Context, string, []byte) error { return s.answer(s.sets.Add(1)) }
func (s *slow) get(context.Context, string) error         { return s.answer(s.gets.Add(1)) }
func (s *slow) close()                                    {}

func TestLoadIsAClosedLoop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &slow{latency: 10 * time.Millisecond}
		l := load{op: "set", clients: 3, keys: 10, duration: time.Second, warmup: 100 * time.Millisecond}
		r, err := l.run(t.Context(), s)
		if err != nil || r.OK != 300 || r.OpsPerS != 300 || r.P50 != 10 || r.P99 != 10 || s.sets.Load() != 330 {
			t.Errorf("%+v, %v, %d requests; want 300 of 10 ms, and 30 before", r, err, s.sets.Load())
		}
	})
}

func TestLoadPutsKeysBeforeItReads(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &slow{latency: time.Millisecond}
		l := load{op: "get", clients: 2, keys: 1000, duration: time.Second}
		if r, err := l.run(t.Context(), s); err != nil || s.sets.Load() != 1000 || r.OK != s.gets.Load() {
			t.Errorf("%+v, %v; %d keys put, %d read", r, err, s.sets.Load(), s.gets.Load())
		}
	})
}

func TestLoadCountsFailures(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &slow{latency: time.Millisecond, failEvery: 2}
		l := load{op: "set", clients: 1, keys: 10, duration: time.Second}
		if r, err := l.run(t.Context(), s); err != nil || r.Errors == 0 || r.Errors+r.OK < s.sets.Load()-1 {
			t.Errorf("%+v, %v", r, err)
		}
		s = &slow{failEvery: 1}
		if _, err := l.run(t.Context(), s); err == nil {
			t.Error("nothing was answered, and that is no error")
		}
		l.op = "get"
		if _, err := l.run(t.Context(), s); err == nil {
			t.Error("no key was put, and that is no error")
		}
	})
}

func TestQuantiles(t *testing.T) {
	t.Parallel()
	var sorted []time.Duration
	for i := 1; i <= 1000; i++ {
		sorted = append(sorted, time.Duration(i)*time.Millisecond)
	}
	for share, want := range map[float64]float64{0: 1, 0.5: 500, 0.99: 990, 0.999: 999, 1: 1000} {
		if got := quantile(sorted, share); got != want {
			t.Errorf("quantile %v is %v, want %v", share, got, want)
		}
	}
}

func TestLoadChecksItsFlags(t *testing.T) {
	t.Parallel()
	good := load{op: "set", clients: 1, keys: 1, duration: 1}
	if err := good.check(1); err != nil {
		t.Error(err)
	}
	for name, change := range map[string]func(*load){
		"op": func(l *load) { l.op = "del" }, "clients": func(l *load) { l.clients = 0 }, "keys": func(l *load) { l.keys = 0 },
		"value-size": func(l *load) { l.valueSize = -1 }, "duration": func(l *load) { l.duration = 0 },
	} {
		bad := good
		change(&bad)
		if bad.check(1) == nil {
			t.Errorf("a bad %s is taken", name)
		}
	}
	if good.check(0) == nil {
		t.Error("no connection is taken")
	}
}
