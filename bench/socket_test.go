package bench

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ringraft/ringraft/op"
)

// serve answers each connection, in its order, by one of the scripts, and returns the
// address. A script reads commands of lines and is given the connection.
func serve(t *testing.T, scripts ...func(net.Conn, *bufio.Reader)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for _, script := range scripts {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			script(conn, bufio.NewReader(conn))
			conn.Close()
		}
	})
	t.Cleanup(func() { l.Close(); wg.Wait() })
	return l.Addr().String()
}

// take reads n lines.
func take(r *bufio.Reader, n int) {
	for range n {
		if _, err := r.ReadString('\n'); err != nil {
			return
		}
	}
}

const linesOfGet, linesOfSet = 5, 7

func TestSocketsGoOnAfterAFailure(t *testing.T) {
	t.Parallel()
	address := serve(t,
		func(conn net.Conn, r *bufio.Reader) { // answers the first of three
			take(r, linesOfGet+linesOfSet+linesOfGet)
			_, _ = conn.Write([]byte("$1\r\na\r\n"))
		},
		func(conn net.Conn, r *bufio.Reader) {
			take(r, linesOfGet+linesOfSet+linesOfGet)
			_, _ = conn.Write([]byte("$1\r\na\r\n+OK\r\n$-1\r\n"))
			take(r, 1) // until the other end closes
		},
	)
	caller := NewRESP(RESP{Nodes: []string{address}, Timeout: 10 * time.Second}).Caller(0)
	defer caller.Close()
	batch := []Request{{Read: true, Key: []byte("a")}, {Key: []byte("b")}, {Read: true, Key: []byte("c")}}
	for attempt, want := range [][]error{{nil, op.ErrUnknownOutcome, op.ErrUnavailable}, {nil, nil, nil}} {
		caller.Do(t.Context(), batch)
		for i := range batch {
			if !errors.Is(batch[i].Err, want[i]) || want[i] == nil && batch[i].Err != nil {
				t.Errorf("attempt %d, request %d: err = %v, want %v", attempt, i, batch[i].Err, want[i])
			}
		}
	}
	for range 2 {
		if err := caller.Close(); err != nil {
			t.Errorf("closing, perhaps again: %v", err)
		}
	}
}

func TestSocketsDoNotWaitForEver(t *testing.T) {
	t.Parallel()
	address := serve(t, func(_ net.Conn, r *bufio.Reader) { take(r, linesOfSet+1) }) // no answer
	caller := NewRESP(RESP{Nodes: []string{address}, Timeout: 50 * time.Millisecond}).Caller(0)
	defer caller.Close()
	batch := []Request{{Key: []byte("b")}}
	caller.Do(t.Context(), batch)
	var late net.Error
	if !errors.Is(batch[0].Err, op.ErrUnknownOutcome) || !errors.As(batch[0].Err, &late) || !late.Timeout() {
		t.Errorf("err = %v, want an unknown outcome after the time is up", batch[0].Err)
	}
}

func TestSocketsThatCannotConnectDoNothing(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for name, ctx := range map[string]context.Context{"nobody listens": t.Context(), "called off": ended} {
		batch := []Request{{Key: []byte("b")}, {Read: true}}
		NewRESP(RESP{Nodes: []string{address}, Timeout: time.Second}).Caller(0).Do(ctx, batch)
		for _, r := range batch {
			if !errors.Is(r.Err, op.ErrUnavailable) || !strings.Contains(r.Err.Error(), address) {
				t.Errorf("%s: err = %v, want unavailable at %s", name, r.Err, address)
			}
		}
	}
}

func TestSocketsTakeTheNodesInTurn(t *testing.T) {
	t.Parallel()
	s := NewRESP(RESP{Nodes: []string{"a:1", "b:2"}})
	for n, want := range []string{"a:1", "b:2", "a:1"} {
		if got := s.Caller(n).(*socket).node; got != want {
			t.Errorf("caller %d talks to %s, want %s", n, got, want)
		}
	}
	if s.Groups() != 1 || s.Group([]byte("k")) != 0 {
		t.Errorf("%d groups, want 1", s.Groups())
	}
}

// TestSocketsTakeNoMemory, but for the connection.
func TestSocketsTakeNoMemory(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	batch := make([]Request, 16)
	for i := range batch {
		batch[i] = Request{Read: true, Key: []byte("bench:12345")}
	}
	asked := new(respDialect).append(nil, batch)
	answers := []byte(strings.Repeat("$5\r\nvalue\r\n", len(batch)))
	ended := make(chan error, 1)
	go func() {
		conn, err := l.Accept()
		for err == nil {
			if _, err = io.ReadFull(conn, asked); err == nil {
				_, err = conn.Write(answers)
			}
		}
		ended <- err
	}()
	caller := NewRESP(RESP{Nodes: []string{l.Addr().String()}, Timeout: time.Minute}).Caller(0)
	ctx := t.Context()
	if n := testing.AllocsPerRun(100, func() {
		caller.Do(ctx, batch)
		if batch[0].Err != nil {
			t.Error(batch[0].Err)
		}
	}); n > 0 {
		t.Errorf("%v allocations for 16 reads, want none", n)
	}
	caller.Close()
	l.Close()
	<-ended
}
