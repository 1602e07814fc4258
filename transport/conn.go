package transport

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ringraft/ringraft/internal/defaults"
	"github.com/ringraft/ringraft/internal/stream"
	"github.com/ringraft/ringraft/op"
)

// burstBytes is the size of a client's burst past which no further request is added.
const burstBytes = 64 << 10

// errClosed is why a connection ended that its owner closed.
var errClosed = fmt.Errorf("the connection was closed here: %w", net.ErrClosed)

// ConnConfig says how a [Conn] works. The zero value is complete.
type ConnConfig struct {
	// Dial opens the socket. nil: a net.Dialer's DialContext.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// MaxInFlight is how many requests may be sent and unanswered; others wait in
	// the queue, where a context that ends leaves no doubt about the outcome. It
	// should be under the server's MaxPending. 0: 512.
	MaxInFlight int
	// MaxQueued is how many requests may wait; Do refuses another one. 0: 16,384.
	MaxQueued int

	DialTimeout  time.Duration // 0: 5 s
	FrameTimeout time.Duration // from the first to the last byte of a frame; 0: 30 s
	WriteTimeout time.Duration // for a write of which nothing leaves; 0: 10 s
}

func (cfg ConnConfig) withDefaults() (ConnConfig, error) {
	if cfg.Dial == nil {
		cfg.Dial = new(net.Dialer).DialContext
	}
	return cfg, errors.Join(
		defaults.Set("MaxInFlight", &cfg.MaxInFlight, 512),
		defaults.Set("MaxQueued", &cfg.MaxQueued, 16384),
		defaults.Set("DialTimeout", &cfg.DialTimeout, 5*time.Second),
		defaults.Set("FrameTimeout", &cfg.FrameTimeout, 30*time.Second),
		defaults.Set("WriteTimeout", &cfg.WriteTimeout, 10*time.Second),
	)
}

// Conn is a client's end of a connection. Any number of goroutines may call Do at
// once: their requests share writes, their answers reads. Once it has failed it
// stays so; dial another one.
type Conn struct {
	cfg    ConnConfig
	conn   *stream.Socket
	frames frameReader // the reader's
	armed  bool        // the reader's: conn has a read deadline
	writer *stream.BurstWriter
	calls  sync.Pool // of *call, in no list and without a token
	done   chan struct{}
	wg     sync.WaitGroup // the reader and the writer

	mu     sync.Mutex
	queue  []*call
	sent   map[uint32]*call // by id; nil: the caller left, and the answer will be dropped
	lastID uint32
	err    error // why the connection ended
	// pending is what Pending returns, which callers ask often. unlock keeps it.
	pending atomic.Int64

	patrol   *time.Timer // calls patrolNow, see patrol.go
	patrolAt time.Time   // when; zero if it is not set
}

// Dial connects to addr, a host and port. An error matches op.ErrUnavailable,
// unless it is one of the configuration.
func Dial(ctx context.Context, addr string, cfg ConnConfig) (*Conn, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("transport connection: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, cfg.DialTimeout)
	defer cancel()
	conn, err := cfg.Dial(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", op.Unavailable("connect to %s", addr), err)
	}
	return newConn(conn, cfg), nil
}

func newConn(conn net.Conn, cfg ConnConfig) *Conn {
	socket := stream.NewSocket(conn)
	c := &Conn{
		cfg:  cfg,
		conn: socket,
		done: make(chan struct{}),
		sent: make(map[uint32]*call),
	}
	c.patrol = time.AfterFunc(time.Hour, c.patrolNow)
	c.patrol.Stop()
	c.writer = stream.NewBurstWriter(socket, cfg.WriteTimeout, c.take)
	c.calls.New = func() any { return &call{done: make(chan struct{}, 1)} }
	c.frames = frameReader{stream.Reader{Src: socket, Arm: c.arm}, kindResponse, kindGoodbye}
	c.wg.Go(func() { c.fail(c.read()) })
	c.wg.Go(func() {
		if err := c.writer.Run(); err != nil {
			c.fail(fmt.Errorf("write: %w", err))
		}
	})
	return c
}

// Do sends req and waits for the answer, as long as ctx allows; give it a deadline.
// req is not used after Do returns; the result's memory is the caller's.
//
// The error is about the way only; what the server made of the request is in the
// result's Err. It matches op.ErrUnavailable if nothing happened or req only reads,
// op.ErrUnknownOutcome if req was sent and may have changed something, and
// op.ErrRefused if it is too long to send. Where ctx ended, the error matches ctx's
// error as well.
func (c *Conn) Do(ctx context.Context, req *op.Request) (op.Result, error) {
	return c.DoUntil(ctx, time.Time{}, req)
}

// DoUntil is Do with a deadline that costs no timer of its own: past until, unless that
// is zero, it fails as if ctx had ended with context.DeadlineExceeded, some milliseconds
// later at most.
func (c *Conn) DoUntil(ctx context.Context, until time.Time, req *op.Request) (op.Result, error) {
	if req.Op == nil {
		return op.Result{}, op.Invalid("operation", "is missing")
	}
	code := req.Op.Code()
	if err := ctx.Err(); err != nil {
		return op.Result{}, notTaken(code, err)
	}
	cl := c.calls.Get().(*call)
	cl.req, cl.code, cl.until = req, code, until
	if err := c.enqueue(cl); err != nil {
		return op.Result{}, err
	}
	if !cl.wait(ctx.Done()) {
		if err := c.abandon(cl, ctx.Err()); err != nil {
			return op.Result{}, err
		}
		<-cl.done // somebody is completing it at this moment
	}
	res, err := cl.res, cl.err
	*cl = call{done: cl.done}
	c.calls.Put(cl)
	return res, err
}

// unlock unlocks mu where calls may have come or gone.
func (c *Conn) unlock() {
	c.pending.Store(int64(len(c.queue) + len(c.sent)))
	c.mu.Unlock()
}

// enqueue gives the writer a call.
func (c *Conn) enqueue(cl *call) error {
	c.mu.Lock()
	defer c.unlock()
	if c.err != nil {
		return notTaken(cl.code, c.err)
	}
	if len(c.queue) >= c.cfg.MaxQueued {
		return op.Unavailable("%d requests wait for the connection already; the limit is %d", len(c.queue), c.cfg.MaxQueued)
	}
	c.queue = append(c.queue, cl)
	c.watch(cl.until)
	c.writer.Signal()
	return nil
}

// abandon takes back a call whose context ended with cause. It returns nil if the
// call is being completed. An id that was sent stays taken until its answer has
// come, so that no later call can get that answer.
func (c *Conn) abandon(cl *call, cause error) error {
	c.mu.Lock()
	defer c.unlock()
	if cl.id != 0 && c.sent[cl.id] == cl {
		c.sent[cl.id] = nil
		return unanswered(cl.code, cause)
	}
	if i := slices.Index(c.queue, cl); i >= 0 {
		c.queue = slices.Delete(c.queue, i, i+1)
		return notTaken(cl.code, cause)
	}
	return nil
}

// take encodes waiting calls for the writer. From here on they count as sent.
func (c *Conn) take(b []byte) (burst []byte, more bool) {
	c.mu.Lock()
	defer c.unlock()
	n := 0
	for n < len(c.queue) && len(b) < burstBytes && len(c.sent) < c.cfg.MaxInFlight {
		b = c.send(b, c.queue[n])
		n++
	}
	c.queue = slices.Delete(c.queue, 0, n)
	return b, c.err == nil
}

// send appends a call's frame, or completes the call if no frame can hold it.
func (c *Conn) send(b []byte, cl *call) []byte {
	start := len(b)
	b = cl.req.AppendTo(begin(b))
	if size := len(b) - start - headerSize; size > op.MaxMessage {
		cl.complete(op.Result{}, op.Invalid("request", "has %d bytes; the limit is %d", size, op.MaxMessage))
		return b[:start]
	}
	cl.id = c.nextID()
	c.sent[cl.id] = cl
	seal(b[start:], kindRequest, cl.id)
	return b
}

// nextID returns an id that no sent call has, and never 0.
func (c *Conn) nextID() uint32 {
	for {
		c.lastID++
		if _, taken := c.sent[c.lastID]; c.lastID != 0 && !taken {
			return c.lastID
		}
	}
}

// read is the reader's goroutine. It returns why the connection ended.
func (c *Conn) read() error {
	for {
		f, err := c.frames.next()
		if err != nil {
			return fmt.Errorf("read: %w", err)
		}
		if f.kind == kindGoodbye {
			return readGoodbye(f.body)
		}
		if err := c.deliver(f); err != nil {
			return err
		}
	}
}

// arm bounds the time of a frame whose first bytes have come. How long an answer
// may take is the caller's context to say.
func (c *Conn) arm(started bool) error {
	if !started && !c.armed {
		return nil
	}
	c.armed = started
	if !started {
		return c.conn.SetReadDeadline(time.Time{})
	}
	return c.conn.SetReadDeadline(time.Now().Add(c.cfg.FrameTimeout))
}

// deliver completes the call that f answers.
func (c *Conn) deliver(f frame) error {
	c.mu.Lock()
	cl, ok := c.sent[f.id]
	delete(c.sent, f.id)
	if len(c.queue) > 0 {
		c.writer.Signal()
	}
	c.unlock()
	if !ok {
		return fmt.Errorf("the server answered request %d, which is not pending", f.id)
	}
	if cl == nil {
		return nil
	}
	res, err := decodeResult(f.body)
	if err != nil {
		err = unanswered(cl.code, fmt.Errorf("decode the answer: %w", err))
	}
	cl.complete(res, err)
	return nil
}

// goodbyeError is the reason that a server gave for ending the connection. It is
// no op.Error: what it means to a call depends on the call.
type goodbyeError struct{ reason *op.Error }

func (e *goodbyeError) Error() string { return "the server ended the connection: " + e.reason.Error() }

func readGoodbye(body []byte) error {
	res, err := op.DecodeResult(body)
	if err != nil {
		return fmt.Errorf("decode the server's goodbye: %w", err)
	}
	if res.Err == nil {
		res.Err = op.UnknownOutcome("no reason given")
	}
	return &goodbyeError{reason: res.Err}
}

// fail ends the connection and all its calls. The first reason stands.
func (c *Conn) fail(reason error) {
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return
	}
	c.err = reason
	queue, sent := c.queue, c.sent
	c.queue, c.sent = nil, nil
	c.unlock()

	c.patrol.Stop()
	// The socket's error says nothing that the reason does not.
	_ = c.conn.Close()
	c.writer.Signal()
	close(c.done)
	for _, cl := range queue {
		cl.complete(op.Result{}, notTaken(cl.code, reason))
	}
	var goodbye *goodbyeError
	taken := !errors.As(reason, &goodbye) || goodbye.reason.Kind == op.KindUnknown
	for _, cl := range sent {
		switch {
		case cl == nil:
		case taken:
			cl.complete(op.Result{}, unanswered(cl.code, reason))
		default:
			cl.complete(op.Result{}, notTaken(cl.code, reason))
		}
	}
}

// Done is closed when the connection has ended, for whatever reason.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Err returns why the connection has ended, nil while it has not.
func (c *Conn) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Pending returns how many requests are queued, or sent and unanswered. Those
// that their callers gave up on count until the answer has come.
func (c *Conn) Pending() int { return int(c.pending.Load()) }

// Awaited returns how many of those their callers still wait for.
func (c *Conn) Awaited() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := len(c.queue)
	for _, cl := range c.sent {
		if cl != nil {
			n++
		}
	}
	return n
}

// Close ends the connection and its calls, and waits for its goroutines. It may be
// called again.
func (c *Conn) Close() error {
	c.fail(errClosed)
	c.wg.Wait()
	return nil
}
