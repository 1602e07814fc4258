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

// watched answers every write, and collects what came with it.
type watched struct {
	mu       sync.Mutex
	commands []op.Command
}

func (w *watched) answer(_ context.Context, _ string, req *op.Request) (op.Result, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.commands = append(w.commands, req.Command())
	return op.Result{Found: true}, nil
}

func TestWritesAreNumberedAndAcknowledged(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := newStage(t)
		var w watched
		s.answer = w.answer
		c := s.client(t, Config{})
		for range 3 {
			if err := set(t.Context(), c); err != nil {
				t.Fatal(err)
			}
		}
		if err := get(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		for i, got := range w.commands {
			want := op.Command{Session: 1, Sequence: uint64(i + 1), Acknowledged: uint64(i + 1)}
			if i == 3 {
				want = op.Command{} // a read
			}
			if got.Op = nil; got.Session != want.Session || got.Sequence != want.Sequence || got.Acknowledged != want.Acknowledged {
				t.Errorf("request %d: %+v, want %+v", i, got, want)
			}
		}
		if s.opened != 1 {
			t.Errorf("%d sessions opened, want 1", s.opened)
		}
	})
}

// TestRepeatsCarryTheSameNumbers, whoever they go to.
func TestRepeatsCarryTheSameNumbers(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := newStage(t)
		var w watched
		script := []reply{lost, silence, unknown, busy, notSent, wrongNode("n1"), done}
		s.answer = func(ctx context.Context, node string, req *op.Request) (op.Result, error) {
			res, err := w.answer(ctx, node, req)
			if step := len(w.commands) - 1; step < len(script) {
				return script[step](ctx, req.Op)
			}
			return res, err
		}
		c := s.client(t, Config{RequestTimeout: time.Minute})
		if err := add(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		if len(w.commands) != len(script) {
			t.Errorf("%d attempts, want %d", len(w.commands), len(script))
		}
		for _, got := range w.commands {
			if got.Session != 1 || got.Sequence != 1 {
				t.Errorf("sent as %d in session %d, want 1 in session 1", got.Sequence, got.Session)
			}
		}
	})
}

// TestSilentNodeDoesNotEatTheDeadline: after AttemptTimeout another node is asked, which has
// as long, and then others, which have twice the time each.
func TestSilentNodeDoesNotEatTheDeadline(t *testing.T) {
	for name, call := range map[string]func(context.Context, *Client) error{"write": add, "read": get} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				s := newStage(t)
				s.follow(silence, silence, done)
				c := s.client(t, Config{RequestTimeout: time.Minute})
				start := time.Now()
				if err := call(t.Context(), c); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(start); took != time.Second {
					t.Errorf("it took %v, want twice 500 ms", took)
				}
			})
		})
	}
}

// TestGivenUpWritesDoNotStopAcknowledgementForEver: once the window is full of them,
// writes go on in another session.
func TestGivenUpWritesDoNotStopAcknowledgementForEver(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := newStage(t)
		var w watched
		c := s.client(t, Config{})
		s.follow(silence)
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if err := set(ctx, c); !errors.Is(err, ErrUnknownOutcome) {
			t.Fatalf("err = %v, want %v", err, ErrUnknownOutcome)
		}
		s.answer = w.answer
		for range op.MaxUnacknowledged + 10 {
			if err := set(t.Context(), c); err != nil {
				t.Fatal(err)
			}
		}
		for _, got := range w.commands {
			if got.Session == 1 && (got.Acknowledged != 1 || got.Sequence-got.Acknowledged >= op.MaxUnacknowledged) {
				t.Fatalf("%d is acknowledged by %d", got.Acknowledged, got.Sequence)
			}
		}
		if last := w.commands[len(w.commands)-1]; last.Session != 2 || last.Acknowledged != last.Sequence {
			t.Errorf("the last write went as %d in session %d, acknowledging %d", last.Sequence, last.Session, last.Acknowledged)
		}
		if s.opened != 2 {
			t.Errorf("%d sessions, want 2", s.opened)
		}
	})
}

// TestFullWindowWaitsForAnswers: writes that are under way give their seats back, so
// the session is kept.
func TestFullWindowWaitsForAnswers(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.answer = func(context.Context, string, *op.Request) (op.Result, error) {
			time.Sleep(100 * time.Millisecond)
			return op.Result{}, nil
		}
		c := s.client(t, Config{})
		var wg sync.WaitGroup
		for range op.MaxUnacknowledged + 100 {
			wg.Go(func() {
				if err := set(t.Context(), c); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if s.opened != 1 {
			t.Errorf("%d sessions, want 1", s.opened)
		}
	})
}

// TestRemovalNeedsNoSessionWhereThereIsNoRoom for one: it is what makes room. It is sent
// once.
func TestRemovalNeedsNoSessionWhereThereIsNoRoom(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.full = true
		c := s.client(t, Config{})
		if err := set(t.Context(), c); !errors.Is(err, ErrOutOfMemory) {
			t.Errorf("set: err = %v, want %v", err, ErrOutOfMemory)
		}
		if existed, err := c.Delete(t.Context(), "k"); err != nil || !existed {
			t.Errorf("delete: existed = %v, err = %v", existed, err)
		}
		s.follow(lost)
		if _, err := c.Delete(t.Context(), "k"); !errors.Is(err, ErrUnknownOutcome) {
			t.Errorf("delete without an answer: err = %v, want %v", err, ErrUnknownOutcome)
		}
		if got := len(s.trail()); got != 2 {
			t.Errorf("%d requests, want 2", got)
		}
	})
}
