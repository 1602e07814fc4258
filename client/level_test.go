package client

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringraft/ringraft/internal/bubble"
	"github.com/ringraft/ringraft/op"
)

func TestLevelsAreReadAsWritten(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Level{
		"local": Local, "session": Session, "linearizable": Linearizable,
		"bounded=2s": Bounded(2 * time.Second), "bounded=1ms": Bounded(time.Millisecond), "bounded=1h0m0s": Bounded(time.Hour),
	} {
		got, err := ParseLevel(text)
		if err != nil || got != want || got.String() != text {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "Local", "stale", "bounded", "bounded=", "bounded=2", "bounded=0s", "bounded=-1s", "bounded=999us", "bounded=1h1ms", "session=3"} {
		if l, err := ParseLevel(text); !errors.Is(err, ErrRefused) {
			t.Errorf("%q: %v, %v; want a refusal", text, l, err)
		}
	}
}

func TestReadsCarryTheirLevel(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := newStage(t)
		var got op.Request
		index := uint64(7)
		s.answer = func(_ context.Context, _ string, req *op.Request) (op.Result, error) {
			got = *req
			return op.Result{Found: true, Index: index}, nil
		}
		c := s.client(t, Config{})
		read := func(level Level, wire op.Level, bound uint64) {
			t.Helper()
			if _, err := c.Get(t.Context(), "k", At(level)); err != nil || got.Level != wire || got.Bound != bound {
				t.Errorf("%v: sent %v with bound %d (%v), want %v with %d", level, got.Level, got.Bound, err, wire, bound)
			}
		}
		read(Session, op.Session, 0) // nothing has been seen
		read(Session, op.Session, 7) // what a read has shown
		index = 9
		if err := set(t.Context(), c); err != nil || got.Level != op.Local || got.Bound != 0 {
			t.Errorf("a write: sent %v with bound %d (%v)", got.Level, got.Bound, err)
		}
		index = 3 // an older replica
		read(Local, op.Local, 0)
		read(Session, op.Session, 9) // what the write has shown, still
		read(Bounded(1500*time.Microsecond), op.Bounded, 1)
		read(Linearizable, op.Linearizable, 0)
	})
}

func TestLevelsOutOfBoundsAreRefused(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := newStage(t)
		c := s.client(t, Config{})
		for _, level := range []Level{Bounded(0), Bounded(-time.Second), Bounded(time.Millisecond - 1), Bounded(time.Hour + time.Millisecond)} {
			if _, err := c.Get(t.Context(), "k", At(level)); !errors.Is(err, ErrRefused) {
				t.Errorf("err = %v, want %v", err, ErrRefused)
			}
		}
		if got := s.trail(); len(got) > 0 {
			t.Errorf("sent all the same: %v", got)
		}
	})
}

// TestReplicaThatIsBehindSendsTheReadOn, to the leader or to another replica.
func TestReplicaThatIsBehindSendsTheReadOn(t *testing.T) {
	for _, level := range []Level{Session, Bounded(time.Second)} {
		for name, behind := range map[string]reply{"to the leader": wrongNode("n3"), "to anyone": busy} {
			t.Run(level.String()+" "+name, func(t *testing.T) {
				bubble.Test(t, func(t *testing.T) {
					s := newStage(t)
					s.answer = func(ctx context.Context, node string, req *op.Request) (op.Result, error) {
						if node == "n3" {
							return done(ctx, req.Op)
						}
						return behind(ctx, req.Op)
					}
					c := s.client(t, Config{})
					start := time.Now()
					for range 6 {
						if _, err := c.Get(t.Context(), "k", At(level)); err != nil {
							t.Fatal(err)
						}
						synctest.Wait() // connections that the reads found missing
					}
					asked := s.trail()
					if !slices.Contains(asked, "n1") || time.Since(start) > 0 {
						t.Errorf("asked %v in %v, want also n1, and no pause", asked, time.Since(start))
					}
					for i, node := range asked[1:] {
						if name == "to the leader" && node != "n3" && asked[i] != "n3" {
							t.Errorf("asked %v, want n3 as soon as it is named", asked)
						}
					}
				})
			})
		}
	}
}
