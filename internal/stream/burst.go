// Package stream reads and writes the byte streams of connections: many messages with one
// system call, and no memory taken for bytes that have not come.
package stream

import (
	"errors"
	"net"
	"os"
	"runtime"
	"time"
)

// keptBuffer is the greatest capacity, in bytes, that a buffer keeps between two
// bursts.
const keptBuffer = 256 << 10

// BurstWriter writes what gathers for a connection, all that is there in one write.
// Its owner keeps the frames, and runs it on a goroutine that it waits for.
type BurstWriter struct {
	conn    net.Conn
	timeout time.Duration // for a write that makes no progress
	wake    chan struct{} // holds one token, see Signal
}

// NewBurstWriter returns a writer of conn. A write fails of which nothing leaves within
// timeout.
func NewBurstWriter(conn net.Conn, timeout time.Duration) BurstWriter {
	return BurstWriter{conn: conn, timeout: timeout, wake: make(chan struct{}, 1)}
}

// Signal tells the writer that there is something to take. It does not block.
func (w *BurstWriter) Signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// Run writes what take returns until that is empty and take says that no more
// will come, or a write fails. The bytes before are on the socket when take is
// called; spare is empty memory for it to use. Yielding once before a take lets
// runnable goroutines add to the burst: it makes fewer and larger writes.
func (w *BurstWriter) Run(take func(spare []byte) (burst []byte, more bool)) error {
	var spare []byte
	for {
		runtime.Gosched()
		burst, more := take(spare[:0])
		switch {
		case len(burst) > 0:
			if err := w.write(burst); err != nil {
				return err
			}
		case !more:
			return nil
		default:
			<-w.wake
		}
		if spare = burst; cap(spare) > keptBuffer {
			spare = nil
		}
	}
}

// write writes b. As long as some bytes leave within each timeout it goes on.
func (w *BurstWriter) write(b []byte) error {
	for {
		if err := w.conn.SetWriteDeadline(time.Now().Add(w.timeout)); err != nil {
			return err
		}
		n, err := w.conn.Write(b)
		if err == nil || n == 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			return err
		}
		b = b[n:]
	}
}
