package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/ringraft/ringraft/internal/stream"
	"github.com/ringraft/ringraft/op"
)

// readBuffer is the size of a connection's buffer of answers, in bytes.
const readBuffer = 64 << 10

// dialect is how requests and answers look on a connection. It belongs to one.
type dialect interface {
	// append appends the requests to b.
	append(b []byte, batch []Request) []byte
	// readAll reads their answers and sets each Err. An error is why the connection
	// cannot be used on; requests whose answer had not come then keep their Err.
	readAll(r *bufio.Reader, batch []Request) error
}

// Sockets is a store whose callers have a connection each, to the nodes in turn. A
// batch is one write; the next is sent when all of its answers have come, as by
// redis-benchmark. A write is sent once, whatever comes of it.
type Sockets struct {
	nodes   []string
	timeout time.Duration // for connecting, and, but for an eighth more, for a batch
	speak   func() dialect
}

// Caller returns a caller with a connection of its own, which it dials at its first
// batch, and again after a failure.
func (s *Sockets) Caller(n int) Caller {
	return &socket{node: s.nodes[n%len(s.nodes)], timeout: s.timeout, dialect: s.speak()}
}

// Groups is 1: nobody tells a connection which part serves it.
func (s *Sockets) Groups() int { return 1 }

// Group is 0.
func (s *Sockets) Group([]byte) int { return 0 }

type socket struct {
	dialect
	node    string
	timeout time.Duration

	conn     *stream.Socket // nil before the first batch, and after a failure
	deadline time.Time      // the connection's
	in       *bufio.Reader
	out      []byte
}

// errUnanswered marks a request whose answer has not come.
var errUnanswered = errors.New("no answer yet")

func (s *socket) Do(ctx context.Context, batch []Request) {
	if err := s.connect(ctx); err != nil {
		for i := range batch {
			batch[i].Err = err
		}
		return
	}
	for i := range batch {
		batch[i].Err = errUnanswered
	}
	if err := s.exchange(batch); err != nil {
		_ = s.Close() // the reason at hand says more
		s.fail(batch, err)
	}
}

func (s *socket) connect(ctx context.Context) error {
	if s.conn != nil {
		return nil
	}
	dialer := net.Dialer{Timeout: s.timeout}
	conn, err := dialer.DialContext(ctx, "tcp", s.node)
	if err != nil {
		return fmt.Errorf("%w: %w", op.Unavailable("connecting to %s", s.node), err)
	}
	s.conn = stream.NewSocket(conn)
	s.deadline, s.in = time.Time{}, bufio.NewReaderSize(s.conn, readBuffer)
	return nil
}

func (s *socket) exchange(batch []Request) error {
	if err := s.setDeadline(); err != nil {
		return err
	}
	s.out = s.append(s.out[:0], batch)
	n, err := s.conn.Ask(s.out)
	if err == nil && n < len(s.out) {
		_, err = s.conn.Write(s.out[n:])
	}
	if err != nil {
		return err
	}
	return s.readAll(s.in, batch)
}

// setDeadline gives a batch its time. It may be an eighth longer: to change the deadline
// for every batch would cost more than to write it.
func (s *socket) setDeadline() error {
	least := time.Now().Add(s.timeout)
	if !s.deadline.Before(least) {
		return nil
	}
	s.deadline = least.Add(s.timeout / 8)
	return s.conn.SetDeadline(s.deadline)
}

// fail gives those without an answer their outcome.
func (s *socket) fail(batch []Request, reason error) {
	for i := range batch {
		switch r := &batch[i]; {
		case r.Err != errUnanswered:
		case r.Read:
			r.Err = fmt.Errorf("%w: %w", op.Unavailable("reading from %s", s.node), reason)
		default:
			r.Err = fmt.Errorf("%w: %w", op.UnknownOutcome("writing to %s", s.node), reason)
		}
	}
}

// Close ends the connection.
func (s *socket) Close() error {
	if s.conn == nil {
		return nil
	}
	err := s.conn.Close()
	s.conn = nil
	return err
}
