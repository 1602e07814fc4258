package transport

import (
	"context"
	"errors"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringraft/ringraft/internal/bubble"
	"github.com/ringraft/ringraft/internal/stream"
	"github.com/ringraft/ringraft/op"
)

func TestConnectionOverTheLimitIsToldSo(t *testing.T) {
	t.Parallel()
	_, addr := serveTCP(t, ServerConfig{Handler: echo, MaxConns: 1})
	first := dialConn(t, addr, ConnConfig{})
	wantEcho(t, first, "first")
	second := rawTCP(t, addr)
	_, res := second.receive(kindGoodbye)
	if !errors.Is(res.Err, op.ErrUnavailable) || !strings.Contains(res.Err.Message, "limit is 1") {
		t.Errorf("goodbye = %+v, want unavailable and the limit", res.Err)
	}
	second.wantEnd()
	wantEcho(t, first, "first")
}

// outcome is what a Do under way came to.
type outcome struct {
	res op.Result
	err error
}

func doAsync(c *Conn, o op.Op) <-chan outcome {
	ch := make(chan outcome, 1)
	go func() {
		res, err := c.Do(context.Background(), &op.Request{Op: o})
		ch <- outcome{res, err}
	}()
	return ch
}

func TestShutdownAnswersWhatItHasTaken(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		h := &holder{}
		s, l := servePipe(t, ServerConfig{Handler: h})
		c := dialConn(t, "", ConnConfig{Dial: l.dial})
		before := doAsync(c, set("a", "1"))
		synctest.Wait()

		down := make(chan error, 1)
		go func() { down <- s.Shutdown(context.Background()) }()
		synctest.Wait()
		after := doAsync(c, set("b", "2"))
		if _, err := l.dial(t.Context(), "", ""); err == nil {
			t.Error("a connection is accepted after Shutdown began")
		}
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if h.count() != 1 {
			t.Fatalf("the handler holds %d requests, want 1: none taken after Shutdown began", h.count())
		}

		h.answer(1, op.Result{Version: 8})
		if got := <-before; got.err != nil || got.res.Version != 8 {
			t.Errorf("the write taken before: %+v, want version 8", got)
		}
		if got := <-after; !errors.Is(got.err, op.ErrUnavailable) || errors.Is(got.err, op.ErrUnknownOutcome) {
			t.Errorf("the write that came after: %v, want %v", got.err, op.ErrUnavailable)
		}
		if err := <-down; err != nil {
			t.Errorf("Shutdown() = %v", err)
		}
		if err := c.Err(); err == nil || !strings.Contains(err.Error(), "shutting down") {
			t.Errorf("the connection ended with %v, want the server's reason", err)
		}
	})
}

func TestShutdownTakesNoRequestThatWaitsForRoom(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		h := &holder{}
		s, l := servePipe(t, ServerConfig{Handler: h, MaxPending: 2})
		c, start := rawPipe(t, l), time.Now()
		c.send(requests(5, get("k")))
		synctest.Wait()
		down := make(chan error, 1)
		go func() { down <- s.Shutdown(context.Background()) }()
		synctest.Wait()
		h.answer(2, op.Result{Version: 1})
		for range 2 {
			c.receive(kindResponse)
		}
		if _, res := c.receive(kindGoodbye); res.Err == nil || res.Err.Kind != op.KindUnavailable {
			t.Errorf("goodbye = %+v, want one of kind %d: all that was taken is answered", res.Err, op.KindUnavailable)
		}
		c.conn.Close()
		if err := <-down; err != nil || time.Since(start) != 0 {
			t.Errorf("Shutdown() = %v after %v, want nil at once", err, time.Since(start))
		}
	})
}

func TestShutdownEndsWithItsContext(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		h := &holder{}
		s, l := servePipe(t, ServerConfig{Handler: h, DrainTimeout: time.Hour})
		c := dialConn(t, "", ConnConfig{Dial: l.dial})
		write, read := doAsync(c, set("a", "1")), doAsync(c, get("a"))
		silent := rawPipe(t, l)
		silent.send(request(1, get("k")))
		synctest.Wait()

		start := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		if err := s.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Shutdown() = %v, want %v", err, context.DeadlineExceeded)
		}
		if took := time.Since(start); took != 3*time.Second+stream.LingerTimeout {
			t.Errorf("Shutdown took %v, want %v", took, 3*time.Second+stream.LingerTimeout)
		}
		if got := <-write; !errors.Is(got.err, op.ErrUnknownOutcome) {
			t.Errorf("the write: %v, want %v", got.err, op.ErrUnknownOutcome)
		}
		if got := <-read; !errors.Is(got.err, op.ErrUnavailable) || errors.Is(got.err, op.ErrUnknownOutcome) {
			t.Errorf("the read: %v, want %v", got.err, op.ErrUnavailable)
		}
		h.answer(3, op.Result{}) // too late, and harmless
	})
}

func TestServerCloseEndsConnectionsAtOnce(t *testing.T) {
	t.Parallel()
	h := &holder{}
	entered := make(chan struct{}, 1)
	s, addr := serveTCP(t, ServerConfig{Handler: handlerFunc(func(req op.Request, reply op.Replier) {
		h.Serve(req, reply)
		entered <- struct{}{}
	})})
	c := dialConn(t, addr, ConnConfig{})
	write := doAsync(c, set("a", "1"))
	<-entered
	for range 2 {
		if err := s.Close(); err != nil {
			t.Errorf("Close() = %v", err)
		}
	}
	if got := <-write; !errors.Is(got.err, op.ErrUnknownOutcome) {
		t.Errorf("the write under way: %v, want %v", got.err, op.ErrUnknownOutcome)
	}
	if err := s.Shutdown(t.Context()); err != nil {
		t.Errorf("Shutdown after Close = %v", err)
	}
	h.answer(1, op.Result{}) // harmless
}

func TestServerConfigIsChecked(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]ServerConfig{
		"Listener":     {Handler: echo},
		"Handler":      {Listener: newPipeListener()},
		"MaxConns":     {Listener: newPipeListener(), Handler: echo, MaxConns: -1},
		"WriteTimeout": {Listener: newPipeListener(), Handler: echo, WriteTimeout: -1},
	} {
		if _, err := NewServer(cfg); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("NewServer without a good %s: err = %v, want one that names it", name, err)
		}
	}
}

// failingListener fails with each of errs before it accepts.
type failingListener struct {
	*pipeListener
	errs chan error
}

func (l *failingListener) Accept() (net.Conn, error) {
	select {
	case err := <-l.errs:
		return nil, err
	default:
		return l.pipeListener.Accept()
	}
}

func TestShortageOfDescriptorsPassesOver(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		const failures = 20
		l := &failingListener{newPipeListener(), make(chan error, failures)}
		for range failures {
			l.errs <- &net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", syscall.EMFILE)}
		}
		start := time.Now()
		serve(t, ServerConfig{Listener: l, Handler: echo})
		wantEcho(t, dialConn(t, "", ConnConfig{Dial: l.dial}), "at last")
		if took := time.Since(start); took < 10*time.Second || took > failures*time.Second {
			t.Errorf("%d failures took %v, want pauses that grow to a second", failures, took)
		}
	})
}

func TestListenerThatFailsEndsServe(t *testing.T) {
	t.Parallel()
	broken := errors.New("out of order")
	l := &failingListener{newPipeListener(), make(chan error, 1)}
	l.errs <- broken
	s, err := NewServer(ServerConfig{Listener: l, Handler: echo})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Serve(); !errors.Is(err, broken) {
		t.Errorf("Serve() = %v, want %v", err, broken)
	}
	if err := s.Close(); err != nil {
		t.Errorf("Close() = %v", err)
	}
}
