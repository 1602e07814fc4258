package stream

import (
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"
)

// sockets returns both ends of a connection, the near one as a socket.
func sockets(t *testing.T) (near *Socket, far net.Conn) {
	n, f := connect(t)
	return NewSocket(n), f
}

func TestSocketReadsWhatComesUntilTheEnd(t *testing.T) {
	t.Parallel()
	near, far := sockets(t)
	go func() {
		for range 3 {
			io.WriteString(far, "word")
		}
		far.Close()
	}()
	if b, err := io.ReadAll(near); err != nil || string(b) != "wordwordword" {
		t.Errorf("read %q, %v", b, err)
	}
}

func TestSocketReadEndsByItsDeadlineAndGoesOn(t *testing.T) {
	t.Parallel()
	near, far := sockets(t)
	if err := near.SetReadDeadline(time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	p := make([]byte, 9)
	if n, err := near.Read(p); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("read %d, %v; want %v", n, err, os.ErrDeadlineExceeded)
	}
	if err := near.WaitAtMost(time.Minute, time.Now()); err != nil {
		t.Fatal(err)
	}
	io.WriteString(far, "word")
	if n, err := near.Read(p); err != nil || string(p[:n]) != "word" {
		t.Errorf("read %q, %v", p[:n], err)
	}
}

func TestSocketReadEndsByClose(t *testing.T) {
	t.Parallel()
	near, _ := sockets(t)
	ended := make(chan error, 1)
	go func() { _, err := near.Read(make([]byte, 9)); ended <- err }()
	near.Close()
	if err := <-ended; !errors.Is(err, net.ErrClosed) {
		t.Errorf("a read of a closed socket ended with %v, want %v", err, net.ErrClosed)
	}
}

func TestAskWaitsForTheAnswer(t *testing.T) {
	t.Parallel()
	near, far := sockets(t)
	go func() {
		p := make([]byte, 8)
		for {
			if _, err := io.ReadFull(far, p); err != nil {
				return
			}
			far.Write(p)
		}
	}()
	p := make([]byte, 8)
	for _, word := range []string{"question", "and more"} {
		if n, err := near.Ask([]byte(word)); n != len(word) || err != nil {
			t.Fatalf("asked %d bytes, %v", n, err)
		}
		if _, err := io.ReadFull(near, p); err != nil || string(p) != word {
			t.Fatalf("read %q, %v", p, err)
		}
	}
}

// TestAskReturnsWhatTheSocketDoesNotTake: nobody reads, so to wait for an answer would
// last for ever.
func TestAskReturnsWhatTheSocketDoesNotTake(t *testing.T) {
	t.Parallel()
	near, _ := sockets(t)
	long := make([]byte, 64<<20)
	if n, err := near.Ask(long); n == len(long) || err != nil {
		t.Errorf("%d bytes of %d were taken, %v", n, len(long), err)
	}
	if err := near.SetReadDeadline(time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if _, err := near.Ask([]byte("more")); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("asked past the deadline: %v", err)
	}
}

// TestWaitAtMostLeavesADeadlineThatWillDo, and replaces one that is too early or too late.
func TestWaitAtMostLeavesADeadlineThatWillDo(t *testing.T) {
	t.Parallel()
	near, _ := sockets(t)
	start := time.Now()
	wait := func(timeout, after time.Duration) time.Duration {
		if err := near.WaitAtMost(timeout, start.Add(after)); err != nil {
			t.Fatal(err)
		}
		return near.until.Sub(start)
	}
	first := wait(32*time.Second, 0)
	for _, step := range []struct{ timeout, after, want time.Duration }{
		{32 * time.Second, 0, first},
		{32 * time.Second, time.Second, first},
		{32 * time.Second, 2 * time.Second, 35 * time.Second},
		{16 * time.Second, 3 * time.Second, 19*time.Second + 500*time.Millisecond},
		{64 * time.Second, 4 * time.Second, 70 * time.Second},
	} {
		if got := wait(step.timeout, step.after); got != step.want {
			t.Errorf("%v to wait from %v on: the deadline is at %v, want %v", step.timeout, step.after, got, step.want)
		}
	}
	if first != 33*time.Second {
		t.Errorf("the first deadline is at %v, want 33s", first)
	}
}
