package transport

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"

	"github.com/ringraft/ringraft/internal/stream"
	"github.com/ringraft/ringraft/op"
)

// unsentFactor times MaxUnsent is the bound on unsent replies that also holds for
// requests already taken.
const unsentFactor = 16

// serverConn is the server's end of a connection. The goroutine of Run reads and
// calls the handler; a second one, which Run starts and waits for, writes.
type serverConn struct {
	cfg     *ServerConfig
	conn    *stream.Socket
	log     *slog.Logger
	frames  frameReader // the reader's
	speaks  bool        // the reader's: a frame has come
	answers []answer    // the reader's: not yet handed out
	lookups *lookups    // the reader's; nil: the handler takes none
	writer  *stream.BurstWriter

	mu         sync.Mutex
	busy       bool      // the reader works on what has come, and flushes the replies at its end
	ready      sync.Cond // the reader waits here: for room, or for the last answers
	waiting    bool      // the reader waits for room
	unanswered int       // requests
	out        []byte    // encoded replies that the writer has not taken
	writing    int       // bytes that it has taken and perhaps not written
	ending     *op.Error // why no more requests are taken; nil: they are
	gaveUp     bool      // on answers: those that still come are dropped
	sealed     bool      // nothing is added to out any more
}

func newServerConn(cfg *ServerConfig, conn net.Conn) *serverConn {
	c := &serverConn{
		cfg:  cfg,
		conn: stream.NewSocket(conn),
		log:  cfg.Logger.With("remote", conn.RemoteAddr()),
	}
	c.writer = stream.NewBurstWriter(c.conn, cfg.WriteTimeout, c.take)
	c.ready.L = &c.mu
	c.frames = frameReader{stream.Reader{Src: c.conn, Arm: c.arm}, kindRequest, kindRequest}
	if looker, ok := cfg.Handler.(Looker); ok {
		c.lookups = newLookups(looker)
	}
	return c
}

// Run serves the connection until it ends, and closes it.
func (c *serverConn) Run() {
	defer c.conn.Close()
	var writer sync.WaitGroup
	writer.Go(c.write)
	reason := c.read()
	c.finish(reason)
	writer.Wait()
	if reason != nil {
		stream.Linger(c.conn.Conn)
	}
}

// read hands requests to the handler until no more can or may be read. It returns
// the reason to tell the client, nil if it is gone.
func (c *serverConn) read() *op.Error {
	for {
		f, err := c.next()
		if err != nil {
			if c.isBusy(err) {
				continue
			}
			return c.judge(err)
		}
		c.speaks = true
		if ending := c.admit(); ending != nil {
			return ending
		}
		c.frames.Keep()
		c.serve(f)
	}
}

// lookUp answers the lookups that have come, and reports whether there were any.
func (c *serverConn) lookUp() bool {
	if c.lookups == nil || !c.lookups.gather(c.frames.Unread()) || !c.hasTime() {
		return false
	}
	size := c.lookups.run()
	c.frames.Skip(size)
	c.speaks = c.speaks || size > 0
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.gaveUp && !c.sealed {
		c.out = append(c.out, c.lookups.out...)
	}
	return size > 0
}

// hasTime reports whether the reader may work on at once, and notes that it does.
func (c *serverConn) hasTime() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ending != nil || c.unanswered >= c.cfg.MaxPending || c.unsent() >= c.cfg.MaxUnsent {
		return false
	}
	c.busy = true
	return true
}

// next returns the next frame, after it has answered the lookups in front of it.
func (c *serverConn) next() (frame, error) {
	for {
		if err := c.frames.wait(); err != nil {
			return frame{}, err
		}
		if !c.lookUp() {
			return c.frames.next()
		}
	}
}

// serve decodes one request and hands it over, or answers it with what is wrong.
func (c *serverConn) serve(f frame) {
	req, err := op.DecodeRequest(f.body)
	if err != nil {
		c.answer(f.id, 0).Reply(op.Fail(badRequest(err)))
		return
	}
	c.cfg.Handler.Serve(req, c.answer(f.id, req.Op.Code()))
}

func badRequest(err error) *op.Error {
	var unknown *op.UnknownCodeError
	if errors.As(err, &unknown) {
		return op.Invalid("code", "%v", err)
	}
	return op.Invalid("request", "%v", err)
}

// arm sets the deadline of the next read, and sends what is to be read before it.
func (c *serverConn) arm(started bool) error {
	unsent, err := c.pause(started)
	if unsent {
		c.writer.Flush()
	}
	return err
}

// pause prepares for a wait, and reports whether replies are to be flushed before it.
func (c *serverConn) pause(started bool) (unsent bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	unsent = c.rest()
	switch now := time.Now(); {
	case c.ending != nil:
		return unsent, c.ending // drain has set a deadline that must stand
	case started:
		return unsent, c.conn.SetReadDeadline(now.Add(c.cfg.FrameTimeout))
	default:
		return unsent, c.conn.WaitAtMost(c.cfg.IdleTimeout, now)
	}
}

// isBusy reports whether a read failed only because the client waits for answers.
func (c *serverConn) isBusy(err error) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return errors.Is(err, os.ErrDeadlineExceeded) && !c.frames.Started() && c.ending == nil && c.unanswered > 0
}

// judge turns the error of a read into the reason to tell the client.
func (c *serverConn) judge(err error) *op.Error {
	c.mu.Lock()
	ending := c.ending
	c.mu.Unlock()
	if ending != nil {
		return ending
	}
	var bad *frameError
	switch {
	case errors.As(err, &bad):
		looks := lookalike(c.frames.Unread())
		if !c.speaks && looks != "" {
			c.log.Warn("a foreign protocol on the native port", "looks_like", looks)
			return op.Invalid("protocol", "this port speaks Ringraft's native protocol; what came looks like %s", looks)
		}
		c.log.Warn("malformed frame", "err", err)
		return op.Invalid(bad.field, "%s", bad.message)
	case errors.Is(err, os.ErrDeadlineExceeded) && c.frames.Started():
		return op.Invalid("frame", "was not complete within %v", c.cfg.FrameTimeout)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return op.Unavailable("no request came for %v", c.cfg.IdleTimeout)
	case !errors.Is(err, io.EOF):
		c.log.Debug("connection lost", "err", err)
	}
	return nil
}

// admit waits for room for one more request and counts it, or returns why there
// will be none.
func (c *serverConn) admit() *op.Error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.busy = true
	if c.unanswered >= c.cfg.MaxPending || c.unsent() >= c.cfg.MaxUnsent {
		c.rest()
		c.writer.Signal() // its next take tells what is written
		c.waiting = true
		for c.ending == nil && !c.hasRoom() {
			c.ready.Wait()
		}
		c.waiting = false
		c.busy = true
	}
	if c.ending == nil {
		c.unanswered++
	}
	return c.ending
}

// rest notes that the reader is about to wait, and reports whether it leaves replies
// behind that nobody has been told to write.
func (c *serverConn) rest() bool {
	unsent := c.busy && len(c.out) > 0
	c.busy = false
	return unsent
}

// hasRoom reports whether a connection that was full has drained far enough.
func (c *serverConn) hasRoom() bool {
	return c.unanswered <= c.cfg.MaxPending/2 && c.unsent() <= c.cfg.MaxUnsent/2
}

func (c *serverConn) unsent() int { return len(c.out) + c.writing }

// reply adds an answer to what the writer takes next.
func (c *serverConn) reply(a *answer, res *op.Result) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if a.given {
		c.log.Error("a request was answered twice; the second answer is dropped", "op", a.code)
		return
	}
	a.given = true
	c.unanswered--
	if !c.gaveUp && !c.sealed {
		c.appendReply(a, res)
		if !c.busy {
			c.writer.Signal()
		}
	}
	c.wakeReader()
}

// appendReply encodes res, or what takes its place if it breaks a bound.
func (c *serverConn) appendReply(a *answer, res *op.Result) {
	if limit := unsentFactor * c.cfg.MaxUnsent; c.unsent() > limit {
		short := op.Fail(unansweredError(a.code, "more than %d bytes of replies wait for the client to read them", limit))
		res = &short
	}
	start := len(c.out)
	c.out = appendResult(c.out, kindResponse, a.id, res)
	if size := len(c.out) - start - headerSize; size > op.MaxMessage {
		tooLong := op.Invalid("result", "has %d bytes; the limit is %d", size, op.MaxMessage)
		if changes(a.code) {
			tooLong.Kind = op.KindUnknown
		}
		c.out = appendResult(c.out[:start], kindResponse, a.id, &op.Result{Err: tooLong})
	}
}

// wakeReader wakes the reader if what it waits for is there.
func (c *serverConn) wakeReader() {
	if (c.waiting && c.hasRoom()) || c.unanswered == 0 {
		c.ready.Signal()
	}
}

// write is the writer's goroutine.
func (c *serverConn) write() {
	err := c.writer.Run()
	if err == nil {
		return
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		c.log.Warn("connection closed: the client does not read", "write_timeout", c.cfg.WriteTimeout)
	} else {
		c.log.Debug("connection lost", "err", err)
	}
	c.Close()
}

// take gives the writer what has gathered. What it took before is written.
func (c *serverConn) take(spare []byte) (burst []byte, more bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	burst, c.out = c.out, spare
	c.writing = len(burst)
	c.wakeReader()
	return burst, !c.sealed
}

// finish waits for the answers to the requests taken, for DrainTimeout at most,
// adds the goodbye, and lets the writer end.
func (c *serverConn) finish(reason *op.Error) {
	timer := time.AfterFunc(c.cfg.DrainTimeout, c.GiveUp)
	defer timer.Stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.unanswered > 0 && !c.gaveUp {
		c.ready.Wait()
	}
	if reason != nil {
		goodbye := *reason
		if c.unanswered > 0 {
			goodbye.Kind = op.KindUnknown
		}
		c.out = appendResult(c.out, kindGoodbye, 0, &op.Result{Err: &goodbye})
	}
	c.sealed = true
	c.writer.Signal()
}

// Drain lets the connection end once it has answered what it has taken.
func (c *serverConn) Drain() { c.drain(op.Unavailable("the node is shutting down")) }

// drain is Drain for a reason, which the client is told.
func (c *serverConn) drain(reason *op.Error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ending != nil {
		return
	}
	c.ending = reason
	c.ready.Signal()
	if err := c.conn.SetReadDeadline(time.Unix(1, 0)); err != nil {
		c.conn.Close()
	}
}

// GiveUp ends the wait for answers.
func (c *serverConn) GiveUp() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gaveUp = true
	c.ready.Signal()
}

// Close ends the connection now.
func (c *serverConn) Close() {
	c.drain(op.Unavailable("the connection is closed"))
	c.GiveUp()
	c.conn.Close()
}
