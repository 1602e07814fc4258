// Package stream reads and writes the byte streams of connections: many messages with one
// system call, and no memory taken for bytes that have not come.
package stream

import (
	"errors"
	"os"
	"runtime"
	"sync"
	"time"
)

// keptBuffer is the greatest capacity, in bytes, that a buffer keeps between two
// bursts.
const keptBuffer = 256 << 10

// BurstWriter writes what gathers for a connection, all that is there in one write.
// Its owner keeps what gathers, and runs it on a goroutine that it waits for.
type BurstWriter struct {
	socket  *Socket
	timeout time.Duration // for a write that makes no progress
	take    Take
	wake    chan struct{} // holds one token, see Signal

	turn  sync.Mutex // held while bytes are taken and written
	left  []byte     // taken, and not yet written
	burst []byte     // what left is the end of
	err   error      // of the first write that failed
}

// Take returns what has gathered, and whether more may come. The bytes that it returned
// before are on the socket. It may use the empty spare for what gathers next.
type Take func(spare []byte) (burst []byte, more bool)

// NewBurstWriter returns a writer to socket of what take returns. A write fails of which
// nothing leaves within timeout.
func NewBurstWriter(socket *Socket, timeout time.Duration, take Take) *BurstWriter {
	return &BurstWriter{socket: socket, timeout: timeout, take: take, wake: make(chan struct{}, 1)}
}

// Signal tells the writer that there is something to take. It does not block.
func (w *BurstWriter) Signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// Run writes until there is nothing and no more will come, or a write fails. Yielding
// once before a take lets runnable goroutines add to the burst: it makes fewer and
// larger writes.
func (w *BurstWriter) Run() error {
	for {
		runtime.Gosched()
		n, more, err := w.once()
		switch {
		case err != nil:
			return err
		case n == 0 && !more:
			return nil
		case n == 0:
			<-w.wake
		}
	}
}

// Flush writes what the socket takes at once from the caller's goroutine, which saves
// waking that of Run, and leaves the rest to that. It does not block.
func (w *BurstWriter) Flush() {
	if !w.turn.TryLock() {
		w.Signal()
		return
	}
	defer w.turn.Unlock()
	if w.err == nil && len(w.left) == 0 {
		w.next()
		w.left = w.left[w.socket.WriteNow(w.left):]
	}
	if len(w.left) > 0 {
		w.Signal()
	}
}

// once takes, unless something is left, and writes. It returns how many bytes it wrote.
func (w *BurstWriter) once() (n int, more bool, err error) {
	w.turn.Lock()
	defer w.turn.Unlock()
	if w.err != nil {
		return 0, false, w.err
	}
	more = true
	if len(w.left) == 0 {
		more = w.next()
	}
	n = len(w.left)
	if n > 0 {
		w.err = w.send(w.left)
		w.left = nil
	}
	return n, more, w.err
}

// next takes the next burst. The memory of the last one, of which nothing is left, is
// used again.
func (w *BurstWriter) next() (more bool) {
	spare := w.burst[:0]
	if cap(spare) > keptBuffer {
		spare = nil
	}
	w.burst, more = w.take(spare)
	w.left = w.burst
	return more
}

// send writes b. As long as some bytes leave within each timeout it goes on. What the
// socket takes at once, which is most often all, costs no deadline.
func (w *BurstWriter) send(b []byte) error {
	b = b[w.socket.WriteNow(b):]
	for len(b) > 0 {
		if err := w.socket.SetWriteDeadline(time.Now().Add(w.timeout)); err != nil {
			return err
		}
		n, err := w.socket.Write(b)
		if err == nil || n == 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			return err
		}
		b = b[n:]
	}
	return nil
}
