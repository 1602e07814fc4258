package client

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringraft/ringraft/internal/bubble"
	"github.com/ringraft/ringraft/op"
)

func TestConnectionsGrowOnDemand(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.follow(silence)
		c := s.client(t, Config{ConnsPerNode: 3, RequestTimeout: time.Minute})
		if n := len(s.open("n1")); n != 1 {
			t.Fatalf("%d connections before any call, want that of New", n)
		}
		var wg sync.WaitGroup
		for n := 1; n <= 12; n++ {
			wg.Go(func() { _ = get(t.Context(), c) }) // its end is not the matter here
			synctest.Wait()
		}
		pending := map[int]int{}
		for _, conn := range s.open("n1") {
			pending[conn.Pending()]++
		}
		if pending[4] != 3 {
			t.Errorf("connections by calls waiting: %v, want 3 with 4 each", pending)
		}
		c.Close()
		wg.Wait()
	})
}

func TestCallersShareADial(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := newStage(t)
		c := s.client(t, Config{})
		for _, conn := range s.open("n1") {
			conn.Close()
		}
		synctest.Wait()
		s.dials = nil
		p := c.pools["n2"]
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				if _, err := p.take(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if !slices.Equal(s.dials, []string{"n2"}) {
			t.Errorf("dials: %v, want one", s.dials)
		}
	})
}

func TestWaitingForADialEndsWithTheContext(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := newStage(t)
		c := s.client(t, Config{})
		s.set(s.mute, "n2", true)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := c.pools["n2"].take(ctx)
		if !errors.Is(err, ErrUnavailable) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("err = %v, want unavailable by the deadline", err)
		}
	})
}

func TestFailedDialsBackOff(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := newStage(t)
		c := s.client(t, Config{BackoffMin: time.Second, BackoffMax: time.Second})
		s.crash("n2")
		synctest.Wait()
		p := c.pools["n2"]
		if _, err := p.take(t.Context()); !errors.Is(err, ErrUnavailable) {
			t.Fatalf("err = %v, want unavailable", err)
		}
		s.mu.Lock()
		s.dials = nil
		s.mu.Unlock()
		for range 1000 {
			if _, err := p.take(t.Context()); err == nil {
				t.Fatal("a connection to a node that is down")
			}
			time.Sleep(10 * time.Millisecond)
		}
		synctest.Wait()
		// 10 s of attempts with pauses between 0 and 1 s: 20 on average. The map's
		// refreshing makes none of its own while the pool backs off.
		if n := len(s.dials); n < 3 || n > 60 {
			t.Errorf("%d dials in 10 s", n)
		}
		s.set(s.down, "n2", false)
		time.Sleep(2 * time.Second)
		_, _ = p.take(t.Context()) // begins an attempt in the background
		synctest.Wait()
		for _, when := range []string{"after the node is back", "after a reset"} {
			if _, err := p.take(t.Context()); err != nil {
				t.Errorf("%s: %v", when, err)
			}
			for _, conn := range s.open("n2") {
				conn.Close()
			}
			synctest.Wait()
		}
	})
}

func TestSilentNodeGetsNoFurtherCalls(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.follow(silence, done)
		c := s.client(t, Config{RequestTimeout: time.Minute, AttemptTimeout: time.Minute})
		errs := make(chan error)
		go func() { errs <- set(t.Context(), c) }()
		s.set(s.mute, "n1", true)
		time.Sleep(probeEvery + c.cfg.DialTimeout + time.Millisecond)
		synctest.Wait()
		start := time.Now()
		if err := set(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		if got, want := s.trail(), []string{"n1", "n2"}; !slices.Equal(got, want) || time.Since(start) > 0 {
			t.Errorf("asked %v in %v, want %v at once", got, time.Since(start), want)
		}
		time.Sleep(3 * probeEvery)
		select {
		case err := <-errs:
			t.Errorf("the call under way ended early: %v", err)
		default:
		}
		if err := <-errs; !errors.Is(err, ErrUnknownOutcome) {
			t.Errorf("the call under way: %v, want %v", err, ErrUnknownOutcome)
		}
		time.Sleep(2 * probeEvery)
		synctest.Wait()
		if n := len(s.open("n1")); n > 0 {
			t.Errorf("%d connections to the silent node left", n)
		}
	})
}

func TestForeignClusterIsRefused(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := newStage(t)
		c := s.client(t, Config{})
		s.mu.Lock()
		s.owner["n2"] = "foreign"
		s.mu.Unlock()
		_, err := c.pools["n2"].take(t.Context())
		if !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "foreign") {
			t.Errorf("err = %v, want one that names the cluster", err)
		}
		if n := len(s.open("n2")); n > 0 {
			t.Errorf("%d connections to the foreign node left", n)
		}
	})
}

func TestAnotherNodeAtAnAddressIsRefused(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := newStage(t)
		c := s.client(t, Config{})
		c.pools["n2"].moveTo("n3:1")
		if _, err := c.pools["n2"].take(t.Context()); !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "n3") {
			t.Errorf("err = %v, want one that names n3", err)
		}
	})
}

func TestEndpointsAreTheLastResort(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := newStage(t)
		for i := range s.cluster.Nodes {
			s.cluster.Nodes[i].Native = "xx:1" // nobody is at the addresses that the map tells
		}
		s.down["xx"] = true
		c := s.client(t, Config{})
		for _, conn := range s.open("n1") {
			conn.Close()
		}
		s.set(s.down, "n1", true)
		synctest.Wait()
		if err := set(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		if got, want := s.trail(), []string{"n2"}; !slices.Equal(got, want) {
			t.Errorf("asked %v, want %v over the endpoint's connection", got, want)
		}
	})
}

func TestNewNamesEachEndpoint(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.down["n1"], s.mute["n2"], s.down["n3"] = true, true, true
		cfg, err := Config{Endpoints: []string{"n1:1", "n2:1", "n3:1"}}.withDefaults()
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		_, err = open(t.Context(), cfg, s.dial)
		if !errors.Is(err, ErrUnavailable) {
			t.Fatalf("err = %v, want %v", err, ErrUnavailable)
		}
		for _, part := range []string{"n1:1: connection refused", "n2:1: no answer", "n3:1: connection refused"} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("err = %v, want it to contain %q", err, part)
			}
		}
		if took := time.Since(start); took != cfg.DialTimeout {
			t.Errorf("it took %v, want DialTimeout for the mute one", took)
		}
		s.mute["n3"], s.down["n3"] = true, false
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := open(ctx, cfg, s.dial); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, ErrUnavailable) {
			t.Errorf("err = %v, want unavailable by the deadline", err)
		}
	})
}

func TestNewHasTimeLeftForTheLastEndpoint(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.mute["n1"], s.mute["n2"] = true, true
		cfg, err := Config{Endpoints: []string{"n1:1", "n2:1", "n3:1"}}.withDefaults()
		if err != nil {
			t.Fatal(err)
		}
		for _, patience := range []time.Duration{30 * time.Millisecond, cfg.DialTimeout, 2 * cfg.DialTimeout} {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			c, err := open(ctx, cfg, s.dial)
			if err != nil {
				t.Fatalf("with %v: %v", patience, err)
			}
			start := time.Now()
			if _, err := c.Map(t.Context()); err != nil || time.Since(start) > 0 {
				t.Errorf("with %v: the map after %v, %v; want it at once, from the node that answers", patience, time.Since(start), err)
			}
			cancel()
			c.Close()
		}
	})
}

func TestBackoffBounds(t *testing.T) {
	t.Parallel()
	b := backoff{min: 5 * time.Millisecond, max: 250 * time.Millisecond}
	for n, bound := range map[int]time.Duration{0: 5, 1: 10, 2: 20, 5: 160, 6: 250, 31: 250, 1 << 40: 250} {
		bound *= time.Millisecond
		most := time.Duration(0)
		for range 1000 {
			most = max(most, b.after(n))
		}
		if most > bound || most < bound*9/10 {
			t.Errorf("after %d failures: %v at most, want nearly %v", n, most, bound)
		}
	}
}

func TestConfigBounds(t *testing.T) {
	t.Parallel()
	good := []string{"localhost:1"}
	for field, cfg := range map[string]Config{
		"Endpoints":      {Endpoints: []string{"localhost"}},
		"DialTimeout":    {Endpoints: good, DialTimeout: -1},
		"RequestTimeout": {Endpoints: good, RequestTimeout: -1},
		"AttemptTimeout": {Endpoints: good, AttemptTimeout: -1},
		"SessionTTL":     {Endpoints: good, SessionTTL: 9 * time.Second},
		"BackoffMin":     {Endpoints: good, BackoffMin: -1},
		"BackoffMax":     {Endpoints: good, BackoffMin: time.Second, BackoffMax: time.Millisecond},
		"ConnsPerNode":   {Endpoints: good, ConnsPerNode: 65},
	} {
		var e *op.Error
		if _, err := New(t.Context(), cfg); !errors.As(err, &e) || e.Field != field {
			t.Errorf("err = %v, want one that names %s", err, field)
		}
	}
	if _, err := New(t.Context(), Config{}); !errors.Is(err, ErrRefused) {
		t.Errorf("no endpoints: err = %v, want %v", err, ErrRefused)
	}
}
