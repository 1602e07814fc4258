package peer

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"runtime"
	"slices"
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
	long    [][]byte // frames that leave in parts, the first one's bytes that have not left
	behind  int      // bytes of long
	spare   []byte
	room    chan struct{} // not nil while a sender waits; closed when something is taken
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
	for o.err == nil && len(o.pending)+o.behind >= o.limit {
		if err := o.waitLocked(ctx); err != nil {
			return err
		}
	}
	return o.appendLocked(k, id, target, encode)
}

// post appends a small frame without waiting, for answers that nobody can wait for, and for
// heartbeats, of which a replica has one under way. What a peer may let pile up is bounded by the
// deadline of the writer that it stops.
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
	switch size := len(o.pending) - before - headSize; {
	case size > o.maxFrame:
		o.pending = o.pending[:before]
		return fmt.Errorf("message of %d bytes, at most %d can be sent", size, o.maxFrame)
	case isLong(size):
		o.setAsideLocked(before)
	}
	o.wake()
	return nil
}

// setAsideLocked moves a long frame, which is what is pending from an offset on.
func (o *outbox) setAsideLocked(from int) {
	frame := o.pending[from:]
	if from > 0 {
		frame = bytes.Clone(frame)
		o.pending = o.pending[:from]
	} else {
		o.pending = nil
	}
	o.long = append(o.long, frame)
	o.behind += len(frame)
}

// wake has run look for what is to be written.
func (o *outbox) wake() {
	select {
	case o.kick <- struct{}{}:
	default:
	}
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

// take returns what is pending and a part of a long frame. That may be nothing: what woke run
// can have gone with what it took before.
func (o *outbox) take() []byte {
	b, part, left := o.next()
	if len(part) > 0 {
		b = appendPart(b, part, left)
	}
	return b
}

// next takes what is pending, and the next part of a long frame, of which left bytes are left.
func (o *outbox) next() (pending, part []byte, left int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.pending) == 0 && len(o.long) == 0 {
		return nil, nil, 0
	}
	pending = o.pending
	o.pending, o.spare = o.spare[:0], nil
	if len(o.long) > 0 {
		part, left = o.cutLocked()
	}
	o.wakeLocked()
	return pending, part, left
}

func (o *outbox) cutLocked() (part []byte, left int) {
	frame := o.long[0]
	part, o.long[0] = frame[:min(len(frame), partSize)], frame[min(len(frame), partSize):]
	o.behind -= len(part)
	if left = len(o.long[0]); left == 0 {
		o.long = slices.Delete(o.long, 0, 1)
	}
	if len(o.long) > 0 {
		o.wake()
	}
	return part, left
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
	o.err, o.pending, o.long, o.spare = err, nil, nil, nil
	close(o.done)
	o.wakeLocked()
}
