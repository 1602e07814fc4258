package transport

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringraft/ringraft/internal/bubble"
	"github.com/ringraft/ringraft/internal/stream"
	"github.com/ringraft/ringraft/op"
)

func TestDoCarriesRequestsAndResults(t *testing.T) {
	t.Parallel()
	want := op.Result{
		Version: 5, Found: true, Value: []byte("v"), TTL: 9, Number: -3, Next: []byte("n"), Detail: []byte("d"),
		Items: []op.Item{{Key: []byte("k"), Version: 1, Found: true, Value: []byte("v"), TTL: 2}},
	}
	refusal := op.Fail(op.Invalid("key", "is odd"))
	_, addr := serveTCP(t, ServerConfig{Handler: handlerFunc(func(req op.Request, reply op.Replier) {
		switch o := req.Op.(type) {
		case op.Set:
			reply.Reply(op.Result{Version: uint64(len(o.Value))})
		case op.Delete:
			reply.Reply(refusal)
		default:
			if req.Epoch != 11 || req.Level != op.Linearizable {
				t.Errorf("epoch %d, level %v; want 11, %v", req.Epoch, req.Level, op.Linearizable)
			}
			reply.Reply(want)
		}
	})})
	c := dialConn(t, addr, ConnConfig{})

	got, err := c.Do(t.Context(), &op.Request{Epoch: 11, Level: op.Linearizable, Op: get("k")})
	if g, w := fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want); err != nil || g != w {
		t.Errorf("Do(get) = %s, %v\nwant %s", g, err, w)
	}
	for _, size := range []int{0, 1, stream.BlockSize, 1 << 20, op.MaxValueLimit} {
		res, err := c.Do(t.Context(), &op.Request{Op: op.Set{Key: []byte("k"), Value: make([]byte, size)}})
		if err != nil || res.Version != uint64(size) {
			t.Errorf("Do(set %d bytes) = version %d, %v", size, res.Version, err)
		}
	}
	res, err := c.Do(t.Context(), &op.Request{Op: op.Delete{Key: []byte("k")}})
	if err != nil || res.Err == nil || *res.Err != *refusal.Err {
		t.Errorf("Do(delete) = %+v, %v; want the server's error in the result", res.Err, err)
	}
	if n := c.Pending(); n != 0 {
		t.Errorf("Pending() = %d, want 0", n)
	}
}

func TestResultsOwnTheirMemory(t *testing.T) {
	t.Parallel()
	for name, part := range map[string]struct {
		with func(b []byte) op.Result
		of   func(res op.Result) []byte
	}{
		"value":  {func(b []byte) op.Result { return op.Result{Value: b} }, func(res op.Result) []byte { return res.Value }},
		"next":   {func(b []byte) op.Result { return op.Result{Next: b} }, func(res op.Result) []byte { return res.Next }},
		"detail": {func(b []byte) op.Result { return op.Result{Detail: b} }, func(res op.Result) []byte { return res.Detail }},
		"item": {
			func(b []byte) op.Result { return op.Result{Items: []op.Item{{Key: []byte("k"), Value: b}}} },
			func(res op.Result) []byte { return res.Items[0].Value },
		},
		"result of a transaction": {
			func(b []byte) op.Result { return op.Result{Results: []op.Result{{Value: b}}} },
			func(res op.Result) []byte { return res.Results[0].Value },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, addr := serveTCP(t, ServerConfig{Handler: handlerFunc(func(req op.Request, reply op.Replier) {
				reply.Reply(part.with(req.Op.(op.Get).Key))
			})})
			c := dialConn(t, addr, ConnConfig{})
			key := func(i int) string { return fmt.Sprintf("%0*d", 1+i%50, i) }
			var kept [2000][]byte
			for i := range kept {
				res, err := c.Do(t.Context(), &op.Request{Op: get(key(i))})
				if err != nil {
					t.Fatal(err)
				}
				kept[i] = part.of(res)
			}
			for i, got := range kept {
				if string(got) != key(i) {
					t.Fatalf("what answer %d said has become %q, want %q", i, got, key(i))
				}
			}
		})
	}
}

func TestRequestThatNoFrameHoldsIsRefused(t *testing.T) {
	t.Parallel()
	_, addr := serveTCP(t, ServerConfig{Handler: echo})
	c := dialConn(t, addr, ConnConfig{})
	for name, o := range map[string]op.Op{
		"too long": op.Set{Key: []byte("k"), Value: make([]byte, op.MaxMessage)},
		"missing":  nil,
	} {
		if _, err := c.Do(t.Context(), &op.Request{Op: o}); !errors.Is(err, op.ErrRefused) {
			t.Errorf("an operation that is %s: err = %v, want %v", name, err, op.ErrRefused)
		}
	}
	wantEcho(t, c, "the connection lives on")
}

// shuffler answers requests from another goroutine, in another order.
type shuffler struct {
	in      chan taken
	cancels sync.Map // by key: a context.CancelFunc to call when the request comes
	wg      sync.WaitGroup
}

func newShuffler(t *testing.T) *shuffler {
	s := &shuffler{in: make(chan taken, 1024)}
	s.wg.Go(s.run)
	t.Cleanup(func() { close(s.in); s.wg.Wait() })
	return s
}

func (s *shuffler) Serve(req op.Request, reply op.Replier) { s.in <- taken{req, reply} }

func (s *shuffler) run() {
	var held []taken
	for next := range s.in {
		if cancel, ok := s.cancels.Load(string(next.req.Op.(op.Get).Key)); ok {
			cancel.(context.CancelFunc)()
		}
		held = append(held, next)
		for len(held) > 0 && (len(s.in) == 0 || len(held) > 32) {
			i := rand.IntN(len(held))
			held[i].reply.Reply(echoed(held[i].req))
			held[i] = held[len(held)-1]
			held = held[:len(held)-1]
		}
	}
}

// Callers leave at random moments, or just when their answer is under way: whoever
// gets an answer gets their own, and who stays gets it always.
func TestCancelledCallsLeaveNoAnswerForOthers(t *testing.T) {
	t.Parallel()
	s := newShuffler(t) // is closed after the server
	_, addr := serveTCP(t, ServerConfig{Handler: s})
	c := dialConn(t, addr, ConnConfig{MaxInFlight: 16})
	call := func(key string, stays bool, leave func(context.CancelFunc)) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		var leaving sync.WaitGroup
		defer leaving.Wait()
		leaving.Go(func() { leave(cancel) })
		res, err := c.Do(ctx, &op.Request{Op: get(key)})
		switch {
		case err == nil && string(res.Value) == key:
		case err != nil && !stays && errors.Is(err, context.Canceled) && errors.Is(err, op.ErrUnavailable):
		default:
			t.Errorf("Do(get %s) = %q, %v", key, res.Value, err)
		}
	}
	var wg sync.WaitGroup
	for g := range 20 {
		wg.Go(func() {
			for i := range 50 {
				call(fmt.Sprintf("%d/%d stays", g, i), true, func(context.CancelFunc) {})
				call(fmt.Sprintf("%d/%d leaves at random", g, i), false, func(cancel context.CancelFunc) {
					for range rand.IntN(60) {
						runtime.Gosched()
					}
					cancel()
				})
				key := fmt.Sprintf("%d/%d leaves at the server", g, i)
				call(key, false, func(cancel context.CancelFunc) { s.cancels.Store(key, cancel) })
			}
		})
	}
	wg.Wait()
	wantEcho(t, c, "the connection lives on")
}

// How a call ends when it gets no answer, by what it does and how far it came.
func TestOutcomeOfCallsWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	operations := []struct {
		op      op.Op
		changes bool
	}{
		{get("k"), false},
		{op.Stat{Key: []byte("k")}, false},
		{op.MGet{Keys: [][]byte{[]byte("k")}}, false},
		{op.Scan{Cursor: op.ScanCursor(0, nil), Limit: 1}, false},
		{op.GetTxn{}, false},
		{op.Hello{}, false},
		{op.ClusterMap{}, false},
		{op.Status{}, false},
		{set("k", "v"), true},
		{op.Delete{Key: []byte("k")}, true},
		{op.Expire{Key: []byte("k")}, true},
		{op.Add{Key: []byte("k")}, true},
		{op.MSet{}, true},
		{op.MDelete{Keys: [][]byte{[]byte("k")}}, true},
		{op.Txn{}, true},
		{op.OpenSession{}, true},
		{op.AbortTxn{}, true},
		{op.CloseSession{}, true},
		{op.Once{}, true},
		{op.Transfer{}, true},
		{op.SetConfig{}, true},
		{op.Sweep{Limit: 1}, true},
		{op.Configure{}, true},
		{op.Prepare{}, true},
		{op.Decide{}, true},
		{op.Finish{}, true},
		{op.Forget{}, true},
	}
	if got, want := len(operations), len(op.Specs()); got != want {
		t.Errorf("the table has %d operations, there are %d", got, want)
	}
	goodbye := func(k op.Kind) func(context.CancelFunc, *Conn, net.Conn) {
		return func(_ context.CancelFunc, _ *Conn, server net.Conn) {
			server.Write(appendResult(nil, kindGoodbye, 0, &op.Result{Err: &op.Error{Kind: k, Message: "so be it"}}))
		}
	}
	const overdue = "overdue"
	for _, tc := range []struct {
		name    string
		end     func(context.CancelFunc, *Conn, net.Conn)
		unknown bool  // whether a sent call's outcome is, if it changes something
		also    error // what the error matches besides
	}{
		{"cancelled", func(cancel context.CancelFunc, _ *Conn, _ net.Conn) { cancel() }, true, context.Canceled},
		{"deadline", func(context.CancelFunc, *Conn, net.Conn) { time.Sleep(time.Hour) }, true, context.DeadlineExceeded},
		{overdue, func(context.CancelFunc, *Conn, net.Conn) { time.Sleep(time.Second + patrolPause) }, true, context.DeadlineExceeded},
		{"server gone", func(_ context.CancelFunc, _ *Conn, server net.Conn) { server.Close() }, true, nil},
		{"closed here", func(_ context.CancelFunc, c *Conn, _ net.Conn) { c.Close() }, true, net.ErrClosed},
		{"garbage", func(_ context.CancelFunc, _ *Conn, server net.Conn) { server.Write(make([]byte, 99)) }, true, nil},
		{"answer to nobody", func(_ context.CancelFunc, _ *Conn, server net.Conn) {
			server.Write(appendResult(nil, kindResponse, 4711, &op.Result{}))
		}, true, nil},
		{"goodbye, all answered", goodbye(op.KindUnavailable), false, nil},
		{"goodbye for a bad frame", goodbye(op.KindInvalid), false, nil},
		{"goodbye, answers given up", goodbye(op.KindUnknown), true, nil},
	} {
		for _, o := range operations {
			t.Run(tc.name+"/"+o.op.Code().String(), func(t *testing.T) {
				bubble.Test(t, func(t *testing.T) {
					near, server := net.Pipe()
					cfg, err := ConnConfig{MaxInFlight: 1}.withDefaults()
					if err != nil {
						t.Fatal(err)
					}
					c := newConn(near, cfg)
					defer c.Close()
					defer server.Close()
					ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
					defer cancel()
					var until time.Time
					if tc.name == overdue {
						until = time.Now().Add(time.Second)
					}
					do := func() <-chan error {
						ch := make(chan error, 1)
						go func() { _, err := c.DoUntil(ctx, until, &op.Request{Op: o.op}); ch <- err }()
						synctest.Wait()
						return ch
					}
					sent := do()
					if n, err := server.Read(make([]byte, 1000)); n == 0 || err != nil {
						t.Fatalf("the server read %d bytes, err %v", n, err)
					}
					queued := do()
					tc.end(cancel, c, server)
					check := func(which string, err error, unknown bool) {
						t.Helper()
						if got := errors.Is(err, op.ErrUnknownOutcome); got != unknown {
							t.Errorf("%s: %v; outcome unknown = %v, want %v", which, err, got, unknown)
						}
						if got := errors.Is(err, op.ErrUnavailable); got == unknown {
							t.Errorf("%s: %v; unavailable = %v, want %v", which, err, got, !unknown)
						}
						if errors.Is(err, op.ErrRefused) || (tc.also != nil && !errors.Is(err, tc.also)) {
							t.Errorf("%s: %v; want it to match %v, and not %v", which, err, tc.also, op.ErrRefused)
						}
					}
					check("sent", <-sent, tc.unknown && o.changes)
					check("queued", <-queued, false)
				})
			})
		}
	}
}

func TestAnswerToACancelledCallIsDropped(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		h := &holder{}
		_, l := servePipe(t, ServerConfig{Handler: h})
		c := dialConn(t, "", ConnConfig{Dial: l.dial})
		if _, err := c.DoUntil(t.Context(), time.Now().Add(time.Second), &op.Request{Op: get("late")}); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("DoUntil = %v, want %v", err, context.DeadlineExceeded)
		}
		if n, awaited := c.Pending(), c.Awaited(); n != 1 || awaited != 0 {
			t.Errorf("Pending() = %d, want 1: the answer is still to come; Awaited() = %d, want 0", n, awaited)
		}
		next := doAsync(c, get("next"))
		synctest.Wait()
		h.answer(1, op.Result{Value: []byte("late")})
		h.answer(1, op.Result{Value: []byte("next")})
		if got := <-next; got.err != nil || string(got.res.Value) != "next" {
			t.Errorf("the next call got %q, %v", got.res.Value, got.err)
		}
		if n := c.Pending(); n != 0 {
			t.Errorf("Pending() = %d, want 0", n)
		}
	})
}

// TestOneTimerEndsEveryCallInItsTime: the deadlines come in any order, some closer
// together than the patrol's pause.
func TestOneTimerEndsEveryCallInItsTime(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		_, l := servePipe(t, ServerConfig{Handler: &holder{}})
		c := dialConn(t, "", ConnConfig{Dial: l.dial, MaxInFlight: 2})
		var wg sync.WaitGroup
		defer wg.Wait()
		for _, ms := range []time.Duration{500, 100, 101, 102, 700, 300, 301} {
			patience := ms * time.Millisecond
			wg.Go(func() {
				start := time.Now()
				_, err := c.DoUntil(t.Context(), start.Add(patience), &op.Request{Op: get("k")})
				took := time.Since(start)
				if !errors.Is(err, context.DeadlineExceeded) || took < patience || took > patience+patrolPause {
					t.Errorf("a call of %v ended after %v with %v", patience, took, err)
				}
			})
			synctest.Wait()
		}
	})
}

func TestCallCancelledInTheQueueIsNeverSent(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		h := &holder{}
		_, l := servePipe(t, ServerConfig{Handler: h})
		c := dialConn(t, "", ConnConfig{Dial: l.dial, MaxInFlight: 1})
		first := doAsync(c, set("first", "1"))
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := c.Do(ctx, &op.Request{Op: set("cancelled", "2")}); !errors.Is(err, op.ErrUnavailable) {
			t.Fatalf("Do = %v, want %v", err, op.ErrUnavailable)
		}
		last := doAsync(c, set("last", "3"))
		synctest.Wait()
		h.answer(1, op.Result{Version: 1})
		<-first
		synctest.Wait()
		if got := h.held[0].req.Op.(op.Set).Key; string(got) != "last" {
			t.Errorf("the server got %q, want the call that was not cancelled", got)
		}
		h.answer(1, op.Result{Version: 3})
		if got := <-last; got.err != nil || got.res.Version != 3 {
			t.Errorf("the last call: %+v", got)
		}
	})
}

func TestIdsInUseAreNotGivenAgain(t *testing.T) {
	t.Parallel()
	c := &Conn{lastID: 1<<32 - 2, sent: map[uint32]*call{1: nil, 2: {}}}
	for _, want := range []uint32{1<<32 - 1, 3} {
		if got := c.nextID(); got != want {
			t.Errorf("nextID() = %d, want %d", got, want)
		}
	}
}

func TestBoundsOfAConnection(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		h := &holder{}
		_, l := servePipe(t, ServerConfig{Handler: h})
		c := dialConn(t, "", ConnConfig{Dial: l.dial, MaxInFlight: 2, MaxQueued: 3})
		var calls []<-chan outcome
		for range 5 {
			calls = append(calls, doAsync(c, set("k", "v")))
			synctest.Wait()
		}
		if got := h.count(); got != 2 {
			t.Errorf("%d requests are in flight, want 2", got)
		}
		if n, awaited := c.Pending(), c.Awaited(); n != 5 || awaited != 5 {
			t.Errorf("Pending() = %d and Awaited() = %d, want 5", n, awaited)
		}
		if _, err := c.Do(t.Context(), &op.Request{Op: set("k", "v")}); !errors.Is(err, op.ErrUnavailable) || !strings.Contains(err.Error(), "limit is 3") {
			t.Errorf("one call too many: %v, want unavailable and the limit", err)
		}
		for range calls {
			synctest.Wait()
			h.answer(1, op.Result{Version: 6})
		}
		for i, call := range calls {
			if got := <-call; got.err != nil || got.res.Version != 6 {
				t.Errorf("call %d: %+v", i, got)
			}
		}
	})
}

func TestServerThatStallsWithinAFrameIsLeft(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		near, server := net.Pipe()
		defer server.Close()
		c := dialConn(t, "", ConnConfig{
			FrameTimeout: time.Second,
			Dial:         func(context.Context, string, string) (net.Conn, error) { return near, nil },
		})
		call := doAsync(c, get("k"))
		if _, err := server.Read(make([]byte, 1000)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour) // no frame has begun: the caller's context alone bounds this
		if err := c.Err(); err != nil {
			t.Fatalf("Err() = %v before a frame began", err)
		}
		answer := appendResult(nil, kindResponse, 1, &op.Result{Version: 1})
		server.Write(answer[:5])
		time.Sleep(2 * time.Second)
		<-c.Done()
		if got := <-call; !errors.Is(got.err, op.ErrUnavailable) {
			t.Errorf("the call: %v, want %v", got.err, op.ErrUnavailable)
		}
	})
}

func TestServerThatReadsNothingIsLeft(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		near, server := net.Pipe()
		defer server.Close()
		c := dialConn(t, "", ConnConfig{
			WriteTimeout: time.Second,
			Dial:         func(context.Context, string, string) (net.Conn, error) { return near, nil },
		})
		start, call := time.Now(), doAsync(c, set("k", "v"))
		if got := <-call; !errors.Is(got.err, op.ErrUnknownOutcome) {
			t.Errorf("the call: %v, want %v", got.err, op.ErrUnknownOutcome)
		}
		if took := time.Since(start); took != time.Second {
			t.Errorf("it took %v, want 1s", took)
		}
	})
}

func TestMalformedAnswerFailsItsCallOnly(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		near, server := net.Pipe()
		defer server.Close()
		c := dialConn(t, "", ConnConfig{Dial: func(context.Context, string, string) (net.Conn, error) { return near, nil }})
		answer := func(f []byte) outcome {
			call := doAsync(c, set("k", "v"))
			if _, err := server.Read(make([]byte, 1000)); err != nil {
				t.Fatal(err)
			}
			server.Write(f)
			return <-call
		}
		bad := append(begin(nil), 0xc1)
		seal(bad, kindResponse, 1)
		if got := answer(bad); !errors.Is(got.err, op.ErrUnknownOutcome) {
			t.Errorf("a write with a malformed answer: %v, want %v", got.err, op.ErrUnknownOutcome)
		}
		if got := answer(appendResult(nil, kindResponse, 2, &op.Result{Version: 2})); got.err != nil || got.res.Version != 2 {
			t.Errorf("the next call: %+v", got)
		}
	})
}

func TestConnCloses(t *testing.T) {
	t.Parallel()
	_, addr := serveTCP(t, ServerConfig{Handler: echo})
	c := dialConn(t, addr, ConnConfig{})
	if err := c.Err(); err != nil {
		t.Errorf("Err() = %v while it lives", err)
	}
	for range 2 {
		if err := c.Close(); err != nil {
			t.Errorf("Close() = %v", err)
		}
	}
	<-c.Done()
	if err := c.Err(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Err() = %v, want %v", err, net.ErrClosed)
	}
	if _, err := c.Do(t.Context(), &op.Request{Op: set("k", "v")}); !errors.Is(err, op.ErrUnavailable) {
		t.Errorf("Do after Close: %v, want %v", err, op.ErrUnavailable)
	}
}

func TestDialFails(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	if _, err := Dial(t.Context(), l.Addr().String(), ConnConfig{}); !errors.Is(err, op.ErrUnavailable) {
		t.Errorf("Dial of a closed port: %v, want %v", err, op.ErrUnavailable)
	}
	if _, err := Dial(t.Context(), "", ConnConfig{MaxInFlight: -1}); err == nil || !strings.Contains(err.Error(), "MaxInFlight") {
		t.Errorf("Dial with MaxInFlight -1: %v, want an error that names it", err)
	}
	bubble.Test(t, func(t *testing.T) {
		hang := func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		_, err := Dial(t.Context(), "", ConnConfig{Dial: hang, DialTimeout: time.Second})
		if !errors.Is(err, op.ErrUnavailable) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Dial that hangs: %v, want %v and %v", err, op.ErrUnavailable, context.DeadlineExceeded)
		}
	})
}
