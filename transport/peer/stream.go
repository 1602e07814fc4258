package peer

import (
	"net"
	"sync/atomic"
	"time"
)

// writePiece bounds, in bytes, what one write deadline covers, so that a large frame
// on a slow line is judged by its progress.
const writePiece = 1 << 20

// stream is a connection on which every read and every piece of a write must end in
// time. One goroutine reads, one writes.
type stream struct {
	net.Conn
	patience time.Duration // for a read or a piece of a write; set before it is shared
	until    time.Time     // if set, no deadline lies behind it; for the handshake
	opened   time.Time
	heard    atomic.Int64 // ns after opened at which something last arrived
}

func newStream(c net.Conn, patience time.Duration) *stream {
	return &stream{Conn: c, patience: patience, opened: time.Now()}
}

func (s *stream) deadline() time.Time {
	d := time.Now().Add(s.patience)
	if !s.until.IsZero() && s.until.Before(d) {
		return s.until
	}
	return d
}

func (s *stream) Read(b []byte) (int, error) {
	if err := s.SetReadDeadline(s.deadline()); err != nil {
		return 0, err
	}
	n, err := s.Conn.Read(b)
	if n > 0 {
		s.heard.Store(int64(time.Since(s.opened)))
	}
	return n, err
}

func (s *stream) Write(b []byte) (int, error) {
	written := 0
	for {
		if err := s.SetWriteDeadline(s.deadline()); err != nil {
			return written, err
		}
		n, err := s.Conn.Write(b[written:min(len(b), written+writePiece)])
		written += n
		if err != nil || written == len(b) {
			return written, err
		}
	}
}

// quiet returns for how long nothing has arrived.
func (s *stream) quiet() time.Duration {
	return time.Since(s.opened) - time.Duration(s.heard.Load())
}
