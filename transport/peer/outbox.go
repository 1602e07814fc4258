package peer

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"sync"
)

// keptBuffer bounds, in bytes, the buffers that an outbox keeps for reuse.
const keptBuffer = 1 << 20

// outbox gathers the frames for one connection. Senders append, one goroutine
// writes, so that what many groups have to say shares a system call.
type outbox struct {
	limit    int           // bytes that may be pending before put waits
	maxFrame int           // bytes of a frame's body
	kick     chan struct{} // capacity 1: something is pending
	done     chan struct{} // closed by close

	mu      sync.Mutex
	pending []byte
	spare   []byte
	room    chan struct{} // not nil while a sender waits; closed when pending is taken
	err     error         // why it was closed
}

func newOutbox(limit, maxFrame int) *outbox {
	return &outbox{limit: limit, maxFrame: maxFrame, kick: make(chan struct{}, 1), done: make(chan struct{})}
}

// put appends a frame, and waits for room until ctx ends. After an error nothing of
// the frame will be sent.
func (o *outbox) put(ctx context.Context, k kind, id uint64, target string, encode func([]byte) []byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.err == nil && len(o.pending) >= o.limit {
		if err := o.waitLocked(ctx); err != nil {
			return err
		}
	}
	return o.appendLocked(k, id, target, encode)
}

// post appends a small frame without waiting, for answers that nobody can wait for.
// What a peer may let pile up is bounded by the deadline of the writer that it stops.
func (o *outbox) post(k kind, id uint64, encode func([]byte) []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	_ = o.appendLocked(k, id, "", encode) // closed: whoever waits for it is told so by the connection's end
}

func (o *outbox) waitLocked(ctx context.Context) error {
	if o.room == nil {
		o.room = make(chan struct{})
	}
	room := o.room
	o.mu.Unlock()
	defer o.mu.Lock()
	select {
	case <-room:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("the peer takes nothing: %w", context.Cause(ctx))
	}
}

func (o *outbox) appendLocked(k kind, id uint64, target string, encode func([]byte) []byte) error {
	if o.err != nil {
		return o.err
	}
	before := len(o.pending)
	o.pending = appendFrame(o.pending, k, id, target, encode)
	if size := len(o.pending) - before - headSize; size > o.maxFrame {
		o.pending = o.pending[:before]
		return fmt.Errorf("message of %d bytes, at most %d can be sent", size, o.maxFrame)
	}
	select {
	case o.kick <- struct{}{}:
	default:
	}
	return nil
}

// run writes what is pending until close is called or a write fails.
func (o *outbox) run(w io.Writer) error {
	for {
		select {
		case <-o.kick:
		case <-o.done:
			return nil
		}
		runtime.Gosched() // lets those that are about to append do so: far fewer, larger writes
		b := o.take()
		if len(b) == 0 {
			continue
		}
		if _, err := w.Write(b); err != nil {
			return err
		}
		o.giveBack(b)
	}
}

// take returns what is pending. That may be nothing: what woke run can have gone with
// what it took before.
func (o *outbox) take() []byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.pending) == 0 {
		return nil
	}
	b := o.pending
	o.pending, o.spare = o.spare[:0], nil
	o.wakeLocked()
	return b
}

func (o *outbox) giveBack(b []byte) {
	if cap(b) > keptBuffer {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.spare = b
}

func (o *outbox) wakeLocked() {
	if o.room != nil {
		close(o.room)
		o.room = nil
	}
}

// close ends run and all that wait, who get err. It may be called again.
func (o *outbox) close(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil {
		return
	}
	o.err, o.pending, o.spare = err, nil, nil
	close(o.done)
	o.wakeLocked()
}
