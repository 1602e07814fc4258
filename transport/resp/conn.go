package resp

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/ringraft/ringraft/internal/stream"
)

// conn is a connection, and the session that it is. Its goroutine reads the commands and
// carries them out, one after another; a second one, which Run starts and waits for,
// writes what that leaves unwritten.
type conn struct {
	server *Server
	conn   *stream.Socket
	id     int64
	since  time.Time
	log    *slog.Logger
	in     requestReader
	out    *answers
	ctx    context.Context // ends with the connection
	stop   context.CancelFunc

	session session  // the reader's
	proto   int      // the reader's; answers has it too
	running running  // the reader's
	spare   *answer  // the reader's: a place to use again
	lookups *lookups // the reader's
	multi   multi    // the reader's
	working bool     // the reader's: it has told the answers that it works
	closing bool     // the reader's: nothing more is read

	mu       sync.Mutex
	label    label // for CLIENT LIST, which other connections ask for
	draining bool
}

func newConn(s *Server, c net.Conn) *conn {
	socket := stream.NewSocket(c)
	x := &conn{
		server: s, conn: socket, id: s.lastID.Add(1), since: time.Now(),
		out: newAnswers(socket, s.cfg.WriteTimeout, s.cfg.MaxPending, s.cfg.MaxUnsent), session: newSession(s.cfg.Node), proto: 2,
	}
	s.taken.Add(1)
	x.log = s.cfg.Logger.With("remote", c.RemoteAddr(), "conn", x.id)
	x.in.Reader = stream.Reader{Src: socket, Arm: x.arm}
	x.lookups = newLookups(s.cfg.Node)
	x.ctx, x.stop = context.WithCancel(s.ctx)
	return x
}

// Run serves the connection until it ends, and closes it.
func (c *conn) Run() {
	defer c.Close()
	var writer sync.WaitGroup
	writer.Go(func() {
		if err := c.out.writer.Run(); err != nil {
			c.log.Debug("connection lost", "err", err)
			c.out.seal() // nobody waits for room on a broken connection
			c.Close()
		}
	})
	c.read()
	c.finish()
	writer.Wait()
	if c.ctx.Err() == nil {
		stream.Linger(c.conn.Conn)
	}
}

// read carries out commands until no more come.
func (c *conn) read() {
	for !c.closing {
		args, err := c.next()
		if err != nil {
			c.judge(err)
			return
		}
		if !c.working {
			c.working = true
			c.out.work()
		}
		c.execute(args)
		c.out.makeRoom()
	}
}

// next returns the next command, after it has answered the GETs in front of it.
func (c *conn) next() ([][]byte, error) {
	for {
		if err := c.in.wait(); err != nil {
			return nil, err
		}
		if !c.lookUp() {
			return c.in.next()
		}
		c.out.makeRoom()
	}
}

// judge tells the client why nothing more is read from it.
func (c *conn) judge(err error) {
	var breach *protocolError
	switch {
	case errors.As(err, &breach):
		c.out.now(func(r *reply) { r.fail("ERR " + breach.Error()) })
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, net.ErrClosed):
	default:
		c.log.Debug("connection ended", "err", err)
	}
}

// arm sets the deadline of the next read, and sends what is to be read before it.
func (c *conn) arm(started bool) error {
	c.out.rest()
	c.working = false
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.draining {
		return os.ErrDeadlineExceeded
	}
	now := time.Now()
	c.label.last = now
	if started {
		return c.conn.SetReadDeadline(now.Add(c.server.cfg.RequestTimeout))
	}
	return c.conn.WaitAtMost(c.server.cfg.IdleTimeout, now)
}

// finish waits for the answers to what was taken, for DrainTimeout at most, and lets the
// writer end.
func (c *conn) finish() {
	late := time.AfterFunc(c.server.cfg.DrainTimeout, c.GiveUp)
	defer late.Stop()
	c.out.drain()
	c.out.seal()
}

// Drain lets the connection end once it has answered what it has taken.
func (c *conn) Drain() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.draining = true
	if err := c.conn.SetReadDeadline(time.Unix(1, 0)); err != nil {
		c.conn.Close()
	}
}

// GiveUp ends the wait for answers.
func (c *conn) GiveUp() { c.out.seal() }

// Close ends the connection now.
func (c *conn) Close() {
	c.stop()
	c.Drain()
	c.GiveUp()
	_ = c.conn.Close() // what is lost with it is the client's to find out
}

// execute carries out one command, or queues it in a transaction.
func (c *conn) execute(args [][]byte) {
	c.server.handled.Add(1)
	cmd := c.server.find(args[0])
	switch {
	case cmd == nil:
		c.refuse(errUnknownCommand(args))
		return
	case cmd.name == "exec" && !cmd.fits(len(args)):
		c.multi = multi{}
		c.fail("EXECABORT Transaction discarded because of: " + failure(strings.TrimPrefix(string(errArity("exec")), "ERR ")))
		return
	case !cmd.fits(len(args)):
		c.refuse(errArity(cmd.name))
		return
	}
	q := query{name: cmd.name, args: args[1:]}
	if cmd.timed {
		q.now = c.server.cfg.Node.Now()
	}
	if c.multi.open && !endsMulti(cmd) {
		c.queue(cmd, q)
		return
	}
	c.carryOut(cmd, q)
}

// refuse answers a command that cannot be. A transaction that it was to be part of is
// lost.
func (c *conn) refuse(why failure) {
	c.multi.spoiled = c.multi.open
	c.fail(why)
}

func (c *conn) fail(why failure) { c.out.now(func(r *reply) { r.fail(string(why)) }) }

// find returns the command of a name in any case, nil if there is none.
func (s *Server) find(name []byte) *command {
	var upper [32]byte
	if len(name) > len(upper) {
		return nil
	}
	for i, b := range name {
		if 'A' <= b && b <= 'Z' {
			b += 'a' - 'A'
		}
		upper[i] = b
	}
	return s.commands[string(upper[:len(name)])]
}

// errUnknownCommand names the command and how its arguments begin, as Redis does.
func errUnknownCommand(args [][]byte) failure {
	const shown = 128
	var b strings.Builder
	for _, a := range args[1:] {
		if b.Len() >= shown {
			break
		}
		b.WriteString("'")
		b.Write(a[:min(len(a), shown-b.Len())])
		b.WriteString("' ")
	}
	return failure("ERR unknown command '" + string(args[0][:min(len(args[0]), shown)]) + "', with args beginning with: " + b.String())
}
