package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	mathrand "math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"time"
)

const (
	requestTimeout = 10 * time.Second
	errorPause     = 10 * time.Millisecond
	fillers        = 256 // goroutines that put the keys
)

// load is a closed loop: every client sends its next request when the one before is answered.
type load struct {
	op               string // set or get
	clients          int
	keys             int
	valueSize        int
	duration, warmup time.Duration

	value []byte
}

// result is the part of ringraft bench's that is known here. Latencies are in ms.
type result struct {
	OpsPerS float64 `json:"ops_per_s"`
	P50     float64 `json:"p50_ms"`
	P99     float64 `json:"p99_ms"`
	P999    float64 `json:"p999_ms"`
	OK      int64   `json:"ok"`
	Errors  int64   `json:"errors"`
	Seconds float64 `json:"seconds"`
}

func (l *load) check(connections int) error {
	switch {
	case l.op != "set" && l.op != "get":
		return fmt.Errorf("-op is %q; it is set or get", l.op)
	case l.clients < 1 || l.clients > 1<<16:
		return fmt.Errorf("-clients is %d; it must lie between 1 and %d", l.clients, 1<<16)
	case l.keys < 1 || l.valueSize < 0 || l.valueSize > 1<<20:
		return errors.New("-keys must be at least 1, and -value-size lie between 0 and 1 MiB")
	case l.duration <= 0 || l.warmup < 0:
		return errors.New("-duration must be positive, and -warmup not negative")
	case connections < 1 || connections > 256:
		return fmt.Errorf("-connections is %d; it must lie between 1 and 256", connections)
	}
	return nil
}

// run puts the keys, if they are to be read, warms up, and measures.
func (l *load) run(ctx context.Context, s store) (result, error) {
	l.value = make([]byte, l.valueSize)
	_, _ = rand.Read(l.value) // it never fails
	if l.op == "get" {
		if err := l.fill(ctx, s); err != nil {
			return result{}, err
		}
	}
	if _, _, err := l.measure(ctx, s, l.warmup); err != nil {
		return result{}, err
	}
	latencies, failed, err := l.measure(ctx, s, l.duration)
	if err != nil {
		return result{}, err
	}
	if len(latencies) == 0 {
		return result{}, errors.New("no request was answered")
	}
	slices.Sort(latencies)
	return result{
		OpsPerS: float64(len(latencies)) / l.duration.Seconds(),
		P50:     quantile(latencies, 0.5), P99: quantile(latencies, 0.99), P999: quantile(latencies, 0.999),
		OK: int64(len(latencies)), Errors: failed, Seconds: l.duration.Seconds(),
	}, nil
}

// quantile returns the latency, in ms, under which that share of the sorted ones lies.
func quantile(sorted []time.Duration, share float64) float64 {
	at := int(math.Ceil(share*float64(len(sorted)))) - 1
	return math.Round(float64(sorted[max(0, at)])/1e3) / 1e3
}

func key(n int) string { return "bench." + strconv.Itoa(n) }

func (l *load) fill(ctx context.Context, s store) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	keys := make(chan int)
	var wg sync.WaitGroup
	for range fillers {
		wg.Go(func() {
			for n := range keys {
				if err := timed(ctx, func(ctx context.Context) error { return s.set(ctx, key(n), l.value) }); err != nil {
					stop(fmt.Errorf("putting keys: %w", err))
				}
			}
		})
	}
	for n := 0; n < l.keys && ctx.Err() == nil; n++ {
		keys <- n
	}
	close(keys)
	wg.Wait()
	return context.Cause(ctx)
}

// measure runs the clients for so long, and returns the latencies of what was answered in that
// time, and how many requests failed.
func (l *load) measure(ctx context.Context, s store, duration time.Duration) ([]time.Duration, int64, error) {
	var (
		mu        sync.Mutex
		latencies []time.Duration
		failed    int64
		wg        sync.WaitGroup
	)
	end := time.Now().Add(duration)
	for n := range l.clients {
		wg.Go(func() {
			own, errs := l.call(ctx, s, n, end)
			mu.Lock()
			defer mu.Unlock()
			latencies = append(latencies, own...)
			failed += errs
		})
	}
	wg.Wait()
	return latencies, failed, ctx.Err()
}

// call sends the requests of the n-th client until end.
func (l *load) call(ctx context.Context, s store, n int, end time.Time) (latencies []time.Duration, failed int64) {
	random := mathrand.New(mathrand.NewPCG(uint64(n), 1))
	for start := time.Now(); start.Before(end) && ctx.Err() == nil; start = time.Now() {
		k := key(random.IntN(l.keys))
		err := timed(ctx, func(ctx context.Context) error {
			if l.op == "get" {
				return s.get(ctx, k)
			}
			return s.set(ctx, k, l.value)
		})
		now := time.Now()
		switch {
		case err != nil:
			failed++
			pause(ctx, errorPause)
		case !now.After(end):
			latencies = append(latencies, now.Sub(start))
		}
	}
	return latencies, failed
}

func timed(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	return do(ctx)
}

// pause waits for d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
