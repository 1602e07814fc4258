package stream

import (
	"io"
	"net"
	"syscall"
	"time"
)

// Socket is a connection that is read and written with as little as the system asks for,
// where the system is one whose sockets can be had. One goroutine reads at a time, and
// one writes. What a connection can do beside that, as closing one half, its Conn can.
type Socket struct {
	net.Conn
	raw   syscall.RawConn // nil: there is only Conn
	until time.Time       // the read deadline

	reading, writing, asking transfer
}

// transfer is a way to carry bytes. Its function is made once: taking memory for it would
// cost as much as what it does.
type transfer struct {
	p   []byte
	n   int
	err error
	try func(fd uintptr) (done bool)
}

// NewSocket returns conn as a socket.
func NewSocket(conn net.Conn) *Socket {
	s := &Socket{Conn: conn}
	if c, ok := conn.(syscall.Conn); ok && direct {
		if raw, err := c.SyscallConn(); err == nil {
			s.raw = raw
		}
	}
	s.reading.try = func(fd uintptr) bool {
		s.reading.n, s.reading.err = read(fd, s.reading.p)
		return s.reading.err != syscall.EAGAIN
	}
	s.writing.try = func(fd uintptr) bool {
		s.writing.n, s.writing.err = write(fd, s.writing.p)
		return true
	}
	s.asking.try = func(fd uintptr) bool {
		x := &s.asking
		if x.p == nil {
			return true // what came is there
		}
		x.n, x.err = write(fd, x.p)
		wrote := x.err == nil && x.n == len(x.p)
		x.p = nil
		return !wrote
	}
	return s
}

// Ask writes as WriteNow does, and if that was all of p, it waits until something has come,
// or the read deadline: then err tells. Nothing must be on its way before the peer has p. So
// an answer costs no read that comes too early.
func (s *Socket) Ask(p []byte) (n int, err error) {
	if s.raw == nil || len(p) == 0 {
		return 0, nil
	}
	x := &s.asking
	x.p, x.n, x.err = p, 0, nil
	err = s.raw.Read(x.try)
	x.p = nil
	return max(x.n, 0), err
}

// WaitAtMost sets the read deadline to timeout from now, or up to a part in 32 later: it
// leaves one that will do, since a deadline costs much beside a read.
func (s *Socket) WaitAtMost(timeout time.Duration, now time.Time) error {
	slack := timeout / 32
	if left := s.until.Sub(now); timeout <= left && left <= timeout+slack {
		return nil
	}
	return s.SetReadDeadline(now.Add(timeout + slack))
}

// SetReadDeadline sets the read deadline. No other call may do so at the same time.
func (s *Socket) SetReadDeadline(t time.Time) error {
	s.until = t
	return s.Conn.SetReadDeadline(t)
}

// Read reads what has come, at least a byte, and waits for it until the read deadline.
func (s *Socket) Read(p []byte) (int, error) {
	if s.raw == nil || len(p) == 0 {
		return s.Conn.Read(p)
	}
	x := &s.reading
	x.p = p
	err := s.raw.Read(x.try)
	x.p = nil
	switch {
	case err != nil:
		return 0, err
	case x.err != nil:
		return 0, &net.OpError{Op: "read", Net: "tcp", Source: s.LocalAddr(), Addr: s.RemoteAddr(), Err: x.err}
	case x.n == 0:
		return 0, io.EOF
	}
	return x.n, nil
}

// WriteNow writes what the socket takes without blocking, perhaps nothing, and returns
// how many bytes that were. An error shows at the next write.
func (s *Socket) WriteNow(p []byte) int {
	if s.raw == nil || len(p) == 0 {
		return 0
	}
	x := &s.writing
	x.p = p
	err := s.raw.Write(x.try)
	x.p = nil
	if err != nil || x.err != nil {
		return 0
	}
	return x.n
}
