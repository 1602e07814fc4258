package client

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/ringraft/ringraft/internal/bubble"
	"github.com/ringraft/ringraft/op"
)

// TestCallsEndInTime, whatever they wait for, and whoever limits them.
func TestCallsEndInTime(t *testing.T) {
	const limit = 300 * time.Millisecond
	for name, tc := range map[string]struct {
		prepare func(*stage)
		call    func(context.Context, *Client) error
		outcome error
	}{
		"a read for its answer":    {func(s *stage) { s.follow(silence) }, get, ErrUnavailable},
		"a write for its answer":   {func(s *stage) { s.follow(silence) }, set, ErrUnknownOutcome},
		"a read for busy nodes":    {func(s *stage) { s.follow(busy) }, get, ErrUnavailable},
		"a write for its session":  {func(s *stage) { s.opening = time.Hour }, set, ErrUnavailable},
		"a read for a connection":  {mute, get, ErrUnavailable},
		"a write for a connection": {mute, set, ErrUnavailable},
	} {
		for _, byContext := range []bool{false, true} {
			name, cfg := name+", by RequestTimeout", Config{RequestTimeout: limit}
			if byContext {
				name, cfg = name+", by its context", Config{}
			}
			t.Run(name, func(t *testing.T) {
				bubble.Test(t, func(t *testing.T) {
					s := newStage(t)
					c := s.client(t, cfg)
					tc.prepare(s)
					ctx, begun := t.Context(), time.Now()
					if byContext {
						limited, cancel := context.WithTimeout(ctx, limit)
						defer cancel()
						ctx = limited
					}
					if err := tc.call(ctx, c); !errors.Is(err, tc.outcome) || !errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("err = %v, want %v by the deadline", err, tc.outcome)
					}
					if took := time.Since(begun); took != limit {
						t.Errorf("it ended after %v, want %v", took, limit)
					}
				})
			})
		}
	}
}

// mute leaves the stage without connections and with nodes that do not answer.
func mute(s *stage) {
	for _, node := range []string{"n1", "n2", "n3"} {
		s.set(s.mute, node, true)
		for _, c := range s.open(node) {
			c.Close()
		}
	}
}

// TestWaitingForAnothersSessionEndsInTime: who goes on to open one himself has not the
// time of a whole call for it.
func TestWaitingForAnothersSessionEndsInTime(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.opening = time.Hour
		c := s.client(t, Config{RequestTimeout: 3 * time.Second})
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				begun := time.Now()
				if err := set(t.Context(), c); !errors.Is(err, ErrUnavailable) {
					t.Errorf("err = %v, want %v", err, ErrUnavailable)
				}
				if took := time.Since(begun); took != 3*time.Second {
					t.Errorf("it ended after %v, want 3 s", took)
				}
			})
			time.Sleep(time.Second)
		}
		wg.Wait()
	})
}

// TestAnAttemptHasItsTimeAfterWaits: what opening a session took is not taken from it.
func TestAnAttemptHasItsTimeAfterWaits(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.opening = 400 * time.Millisecond
		s.follow(func(ctx context.Context, o op.Op) (op.Result, error) {
			select {
			case <-time.After(400 * time.Millisecond):
				return done(ctx, o)
			case <-ctx.Done():
				return silence(ctx, o)
			}
		})
		c := s.client(t, Config{AttemptTimeout: 500 * time.Millisecond})
		if err := set(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		if asked := s.trail(); len(asked) != 1 {
			t.Errorf("asked %v, want one node", asked)
		}
	})
}
