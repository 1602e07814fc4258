package transport

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringraft/ringraft/internal/bubble"
	"github.com/ringraft/ringraft/op"
)

// burst is how many requests the tests send at once.
const burst = 50

// wantWrite reads what the other end of a pipe writes at once, which is to be so many frames.
func wantWrite(t *testing.T, conn net.Conn, want int) {
	t.Helper()
	synctest.Wait()
	b := make([]byte, 1<<16)
	n, err := conn.Read(b)
	if err != nil {
		t.Fatal(err)
	}
	frames := newClientReader(bytes.NewReader(b[:n]))
	frames.least = kindRequest
	for got := 0; ; got++ {
		switch _, err := frames.next(); {
		case errors.Is(err, io.EOF) && got == want:
			return
		case err != nil:
			t.Fatalf("a write has %d frames and then %v, want %d", got, err, want)
		}
	}
}

func TestCallsThatWaitShareAWrite(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		near, server := net.Pipe()
		defer server.Close()
		c := dialConn(t, "", ConnConfig{Dial: func(context.Context, string, string) (net.Conn, error) { return near, nil }})
		doAsync(c, set("k", "v"))
		synctest.Wait() // it is being written
		for range burst {
			doAsync(c, set("k", "v"))
		}
		wantWrite(t, server, 1)
		wantWrite(t, server, burst)
	})
}

func TestRepliesToABurstShareAWrite(t *testing.T) {
	t.Parallel()
	t.Run("of writes", func(t *testing.T) {
		t.Parallel()
		bubble.Test(t, func(t *testing.T) {
			_, l := servePipe(t, ServerConfig{Handler: handlerFunc(func(req op.Request, reply op.Replier) {
				echo(req, reply)
				time.Sleep(time.Millisecond) // whoever may write now does
			})})
			c := rawPipe(t, l)
			synctest.Wait() // the writer has nothing to do
			c.send(requests(burst, set("k", "v")))
			time.Sleep(burst * time.Millisecond)
			wantWrite(t, c.conn, burst)
		})
	})
	t.Run("of lookups", func(t *testing.T) {
		t.Parallel()
		bubble.Test(t, func(t *testing.T) {
			h := &looker{}
			_, l := servePipe(t, ServerConfig{Handler: h})
			c := rawPipe(t, l)
			c.send(requests(burst, get("k")))
			wantWrite(t, c.conn, burst)
			if n, looked := h.bursts.Load(), h.looked.Load(); n != 1 || looked != burst {
				t.Errorf("%d lookups at %d times, want %d together", looked, n, burst)
			}
		})
	})
	t.Run("answered later", func(t *testing.T) {
		t.Parallel()
		bubble.Test(t, func(t *testing.T) {
			h := &holder{}
			_, l := servePipe(t, ServerConfig{Handler: h})
			c := rawPipe(t, l)
			c.send(requests(1+burst, set("k", "v")))
			synctest.Wait()
			h.answer(1, op.Result{})
			synctest.Wait() // it is being written
			h.answer(burst, op.Result{})
			wantWrite(t, c.conn, 1)
			wantWrite(t, c.conn, burst)
		})
	})
}
