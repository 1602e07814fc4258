package peer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringraft/ringraft/internal/bubble"
)

func TestCall(t *testing.T) {
	t.Parallel()
	w := newTown()
	w.node(t, Config{Self: in("b"), Handle: func(_ context.Context, from From, request []byte) ([]byte, error) {
		if len(request) == 0 {
			return nil, fmt.Errorf("nothing asked by %s", from.Node)
		}
		return bytes.ToUpper(request), nil
	}})
	a := w.node(t, Config{Self: in("a")})
	for _, request := range []string{"x", strings.Repeat("large ", 1<<20)} {
		got, err := a.Call(t.Context(), "b", []byte(request))
		if err != nil || string(got) != strings.ToUpper(request) {
			t.Errorf("%d bytes answered, %v, want %d", len(got), err, len(request))
		}
	}
	_, err := a.Call(t.Context(), "b", nil)
	var remote *RemoteError
	if !errors.As(err, &remote) || remote.Text != "nothing asked by a" || errors.Is(err, ErrUnreachable) {
		t.Errorf("the handler's error arrives as %v", err)
	}
}

func TestANodeCanCallItself(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		a := newFabricTown().node(t, Config{Self: in("a"), Handle: echo})
		if got, err := a.Call(t.Context(), "a", []byte("x")); err != nil || string(got) != "x" {
			t.Errorf("got %q, %v", got, err)
		}
	})
}

func TestCallDeadlines(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newFabricTown()
		left := make(chan time.Duration, 1)
		w.node(t, Config{Self: in("b"), Handle: func(ctx context.Context, _ From, _ []byte) ([]byte, error) {
			deadline, _ := ctx.Deadline()
			left <- time.Until(deadline)
			<-ctx.Done()
			return nil, ctx.Err()
		}})
		a := w.node(t, Config{Self: in("a")})
		for _, test := range []struct{ allow, want time.Duration }{
			{time.Second, time.Second},
			{time.Hour, 30 * time.Second},
		} {
			ctx, cancel := context.WithTimeout(t.Context(), test.allow)
			start := time.Now()
			_, err := a.Call(ctx, "b", nil)
			took := time.Since(start)
			cancel()
			if err == nil || errors.Is(err, ErrUnreachable) || took != test.want {
				t.Errorf("%v allowed: %v after %v", test.allow, err, took)
			}
			if there := <-left; there != test.want {
				t.Errorf("%v allowed: the handler has %v", test.allow, there)
			}
		}
	})
}

func TestCancelledCallLeavesItsAnswerToNobody(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newFabricTown()
		w.node(t, Config{Self: in("b"), Handle: func(ctx context.Context, _ From, request []byte) ([]byte, error) {
			if string(request) == "slow" {
				time.Sleep(time.Second)
			}
			return request, nil
		}})
		a := w.node(t, Config{Self: in("a")})
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(500*time.Millisecond, cancel)
		if _, err := a.Call(ctx, "b", []byte("slow")); !errors.Is(err, context.Canceled) {
			t.Errorf("err = %v, want it cancelled", err)
		}
		for range 10 {
			if got, err := a.Call(t.Context(), "b", []byte("quick")); err != nil || string(got) != "quick" {
				t.Errorf("the next call got %q, %v", got, err)
			}
			time.Sleep(100 * time.Millisecond)
		}
	})
}

func TestCallsAreBounded(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newFabricTown()
		release := make(chan struct{})
		w.node(t, Config{Self: in("b"), MaxCalls: 2, Handle: func(context.Context, From, []byte) ([]byte, error) {
			<-release
			return nil, nil
		}})
		a := w.node(t, Config{Self: in("a")})
		errs := make(chan error, 2)
		for range cap(errs) {
			go func() { _, err := a.Call(t.Context(), "b", nil); errs <- err }()
		}
		synctest.Wait()
		if _, err := a.Call(t.Context(), "b", nil); !errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), "busy") {
			t.Errorf("a call too many: %v", err)
		}
		close(release)
		for range cap(errs) {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
		if _, err := a.Call(t.Context(), "b", nil); err != nil {
			t.Errorf("afterwards: %v", err)
		}
	})
}

func TestBrokenConnectionFailsWhatIsUnderWayAtOnce(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newFabricTown()
		cancelled := make(chan struct{})
		w.node(t, Config{Self: in("b"), Handle: func(ctx context.Context, _ From, _ []byte) ([]byte, error) {
			<-ctx.Done()
			close(cancelled)
			return nil, ctx.Err()
		}})
		a := w.node(t, Config{Self: in("a")})
		errs := make(chan error, 1)
		go func() { _, err := a.Call(t.Context(), "b", nil); errs <- err }()
		synctest.Wait()
		within(t, 0, func() {
			w.fabric.Reset("a", "b")
			if err := <-errs; err == nil || errors.Is(err, ErrUnreachable) {
				t.Errorf("err = %v, want one that leaves the outcome open", err)
			}
			<-cancelled
		})
	})
}

func TestCloseFailsCallsOnBothSides(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newFabricTown()
		wait := func(ctx context.Context, _ From, _ []byte) ([]byte, error) { <-ctx.Done(); return nil, ctx.Err() }
		nodes := map[string]*Network{"a": w.node(t, Config{Self: in("a"), Handle: wait}), "b": w.node(t, Config{Self: in("b"), Handle: wait})}
		errs := make(chan error, 2)
		go func() { _, err := nodes["a"].Call(t.Context(), "b", nil); errs <- err }()
		go func() { _, err := nodes["b"].Call(t.Context(), "a", nil); errs <- err }()
		synctest.Wait()
		within(t, 0, func() {
			if err := nodes["b"].Close(); err != nil {
				t.Error(err)
			}
			for range 2 {
				if err := <-errs; err == nil {
					t.Error("a call ended without an error")
				}
			}
			if _, err := nodes["b"].Call(t.Context(), "a", nil); !errors.Is(err, ErrUnreachable) || !errors.Is(err, ErrClosed) {
				t.Errorf("a call after Close: %v", err)
			}
		})
	})
}

func TestCallTooLargeToSend(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newFabricTown()
		bound := func(c Config) Config { c.MaxFrame, c.MaxAppendBytes, c.Handle = 1000, 500, echo; return c }
		a, b := w.node(t, bound(Config{Self: in("a")})), w.node(t, Config{Self: in("b"), Handle: func(context.Context, From, []byte) ([]byte, error) {
			return make([]byte, 2000), nil
		}})
		_, err := a.Call(t.Context(), "b", make([]byte, 1000))
		if !errors.Is(err, ErrUnreachable) {
			t.Errorf("err = %v, want %v", err, ErrUnreachable)
		}
		var said interface{ NotHandled() bool }
		if !errors.As(err, &said) || !said.NotHandled() {
			t.Errorf("%v does not say that the request was not handled", err)
		}
		if _, err := b.Call(t.Context(), "a", []byte("x")); err != nil {
			t.Errorf("the way back: %v", err)
		}
	})
}

func TestAnswerTooLargeToSendIsAnError(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newFabricTown()
		w.node(t, Config{Self: in("b"), MaxFrame: 1000, MaxAppendBytes: 500, Handle: func(context.Context, From, []byte) ([]byte, error) {
			return make([]byte, 2000), nil
		}})
		a := w.node(t, Config{Self: in("a")})
		var remote *RemoteError
		if _, err := a.Call(t.Context(), "b", nil); !errors.As(err, &remote) || !strings.Contains(remote.Text, "at most 1000") {
			t.Errorf("err = %v", err)
		}
	})
}

func TestConfigIsValidated(t *testing.T) {
	t.Parallel()
	tests := map[string]func(*Config){
		"no node":       func(c *Config) { c.Self.Node = "" },
		"slash in node": func(c *Config) { c.Self.Node = "a/b" },
		"long cluster":  func(c *Config) { c.Self.Cluster = strings.Repeat("c", 256) },
		"timeout":       func(c *Config) { c.VoteTimeout = -1 },
		"bound":         func(c *Config) { c.MaxQueue = -1 },
		"tiny frames":   func(c *Config) { c.MaxFrame = 10 },
		"large appends": func(c *Config) { c.MaxAppendBytes = c.MaxFrame + 1<<30 },
		"silence":       func(c *Config) { c.SilenceTimeout = time.Millisecond },
	}
	for name, spoil := range tests {
		cfg := Config{Self: in("a")}
		spoil(&cfg)
		if n, err := newTown().start(cfg); err == nil {
			t.Errorf("%s: no error", name)
			_ = n.Close()
		}
	}
	if _, err := New(Config{Self: in("a")}); err == nil {
		t.Error("no listener: no error")
	}
}
