package transport

import (
	"bytes"
	"encoding/binary"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringraft/ringraft/internal/bubble"
	"github.com/ringraft/ringraft/op"
)

func TestSilenceEndsAConnection(t *testing.T) {
	t.Parallel()
	frame := request(1, get("k"))
	for _, tc := range []struct {
		name  string
		sent  []byte
		after time.Duration
		field string
	}{
		{"nothing sent", nil, time.Minute, ""},
		{"one byte", frame[:1], time.Second, "frame"},
		{"half a header", frame[:9], time.Second, "frame"},
		{"half a body", frame[:headerSize+2], time.Second, "frame"},
		{"half a long body", append(binary.BigEndian.AppendUint32(nil, maxLength), append(bytes.Clone(frame[4:16]), make([]byte, 50_000)...)...), time.Second, "frame"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				_, l := servePipe(t, ServerConfig{Handler: echo, IdleTimeout: time.Minute, FrameTimeout: time.Second})
				c, start := rawPipe(t, l), time.Now()
				c.send(tc.sent)
				_, res := c.receive(kindGoodbye)
				if res.Err == nil || res.Err.Field != tc.field {
					t.Errorf("goodbye = %+v, want one that names %q", res.Err, tc.field)
				}
				late := tc.after / 32
				if tc.field != "" {
					late = 0 // only an idle connection may last longer
				}
				if took := time.Since(start); took < tc.after || took > tc.after+late {
					t.Errorf("it came after %v, want %v, or %v more", took, tc.after, late)
				}
				c.wantEnd()
			})
		})
	}
}

func TestDripIsNotSilenceButEndsToo(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		_, l := servePipe(t, ServerConfig{Handler: echo, FrameTimeout: time.Second})
		c, start := rawPipe(t, l), time.Now()
		var dripping sync.WaitGroup
		dripping.Go(func() {
			for _, b := range request(1, get("a key that is longer than the patience")) {
				time.Sleep(100 * time.Millisecond)
				if _, err := c.conn.Write([]byte{b}); err != nil {
					return
				}
			}
		})
		if _, res := c.receive(kindGoodbye); res.Err.Field != "frame" {
			t.Errorf("goodbye = %+v, want one that names frame", res.Err)
		}
		if took := time.Since(start); took != 1100*time.Millisecond {
			t.Errorf("a dripping frame ended after %v, want 1.1s: FrameTimeout from its first byte", took)
		}
		c.conn.Close()
		dripping.Wait()
	})
}

func TestStreamOfFramesOutlivesTheFrameTimeout(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		_, l := servePipe(t, ServerConfig{Handler: echo, FrameTimeout: time.Second})
		c := rawPipe(t, l)
		stream := requests(20, get("k"))
		size := len(stream) / 20
		c.send(stream[:size/2])
		for i := range 19 { // each read ends one frame and begins the next
			time.Sleep(900 * time.Millisecond)
			c.send(stream[i*size+size/2 : (i+1)*size+size/2])
			if id, _ := c.receive(kindResponse); id != uint32(i+1) {
				t.Fatalf("answer %d is to request %d", i+1, id)
			}
		}
	})
}

func TestWaitingForAnswersIsNotIdle(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		h := &holder{}
		_, l := servePipe(t, ServerConfig{Handler: h, IdleTimeout: time.Second})
		c := rawPipe(t, l)
		c.send(request(1, get("k")))
		time.Sleep(time.Minute)
		h.answer(1, op.Result{Version: 5})
		if id, res := c.receive(kindResponse); id != 1 || res.Version != 5 {
			t.Errorf("answer after a minute: id %d, result %+v", id, res)
		}
	})
}

func TestMaxPendingStopsReading(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		h := &holder{}
		_, l := servePipe(t, ServerConfig{Handler: h, MaxPending: 4})
		c := rawPipe(t, l)
		c.send(requests(10, get("k")))
		wantHeld := func(when string, want int) {
			t.Helper()
			synctest.Wait()
			if got := h.count(); got != want {
				t.Errorf("%s the handler holds %d requests, want %d", when, got, want)
			}
		}
		answer := func() { h.answer(1, op.Result{}); c.receive(kindResponse) }
		wantHeld("at first", 4)
		go c.conn.Write(make([]byte, 1)) // not read, so it blocks until the end
		answer()
		wantHeld("after one answer", 3)
		answer()
		wantHeld("after half are answered", 4)
	})
}

func TestMaxUnsentStopsReading(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		const all = 100
		served := 0
		h := handlerFunc(func(_ op.Request, reply op.Replier) {
			served++
			reply.Reply(op.Result{Value: make([]byte, 1000)})
		})
		_, l := servePipe(t, ServerConfig{Handler: h, MaxUnsent: 4000, WriteTimeout: time.Hour})
		c := rawPipe(t, l)
		c.send(requests(all, get("k")))
		synctest.Wait()
		if served != 4 {
			t.Errorf("%d requests are served while the client reads nothing, want 4: MaxUnsent is full", served)
		}
		for range all {
			if _, res := c.receive(kindResponse); len(res.Value) != 1000 {
				t.Fatalf("result %+v, want a value of 1000 bytes", res)
			}
		}
	})
}

func TestUnsentRepliesAreBoundedForRequestsTakenToo(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		op   op.Op
		want error
	}{
		{"read", get("k"), op.ErrUnavailable},
		{"write", op.MDelete{Keys: [][]byte{[]byte("k")}}, op.ErrUnknownOutcome},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				h := &holder{}
				_, l := servePipe(t, ServerConfig{Handler: h, MaxUnsent: 1000})
				c := rawPipe(t, l)
				c.send(requests(100, tc.op))
				synctest.Wait()
				h.answer(100, op.Result{Value: make([]byte, 1000)})
				whole, short := 0, 0
				for range 100 {
					switch _, res := c.receive(kindResponse); {
					case len(res.Value) == 1000:
						whole++
					case errors.Is(res.Err, tc.want):
						short++
					default:
						t.Fatalf("result %+v, want a value or %v", res, tc.want)
					}
				}
				if whole < unsentFactor-1 || whole > unsentFactor+1 {
					t.Errorf("%d replies are whole and %d short, want about %d whole", whole, short, unsentFactor)
				}
			})
		})
	}
}

func TestClientThatReadsNothingIsDropped(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		_, l := servePipe(t, ServerConfig{Handler: echo, WriteTimeout: time.Second})
		c := rawPipe(t, l)
		c.send(request(1, get("k")))
		time.Sleep(time.Second)
		synctest.Wait()
		c.wantEnd()
	})
}

func TestClientThatReadsSlowlyIsKept(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		_, l := servePipe(t, ServerConfig{Handler: echo, WriteTimeout: time.Second})
		c := rawPipe(t, l)
		c.send(request(1, get("a key")))
		want := len(appendResult(nil, kindResponse, 1, &op.Result{Found: true, Value: []byte("a key")}))
		for i := range want {
			time.Sleep(900 * time.Millisecond)
			if _, err := c.conn.Read(make([]byte, 1)); err != nil {
				t.Fatalf("byte %d of the answer: %v", i, err)
			}
		}
	})
}
