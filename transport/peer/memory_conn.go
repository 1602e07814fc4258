package peer

import (
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// memoryBuffer is how many bytes a sender may write before the receiver takes them.
const memoryBuffer = 256 << 10

// memoryPipe is one direction of a connection. The fabric's lock guards it.
type memoryPipe struct {
	fabric *Fabric
	route  route
	wake   *sync.Cond // something below, a deadline or a cut has changed
	sent   []byte     // and not read yet
	ended  bool       // the sender has closed
	unread bool       // the receiver has closed
	reset  bool
}

func newMemoryPipe(f *Fabric, r route) *memoryPipe {
	return &memoryPipe{fabric: f, route: r, wake: sync.NewCond(&f.mu)}
}

func (p *memoryPipe) openLocked() bool { return !p.fabric.cuts[p.route] }

// memoryConn is one end of a connection in memory. The fabric's lock guards it.
type memoryConn struct {
	fabric  *Fabric
	in, out *memoryPipe
	read    memoryDeadline
	write   memoryDeadline
	closed  bool
}

// memoryDeadline wakes a pipe when it passes.
type memoryDeadline struct {
	at    time.Time // zero: none
	timer *time.Timer
}

func (d *memoryDeadline) passed() bool { return !d.at.IsZero() && !time.Now().Before(d.at) }

func (d *memoryDeadline) setLocked(at time.Time, p *memoryPipe) {
	d.stop()
	d.at = at
	if !at.IsZero() {
		d.timer = time.AfterFunc(time.Until(at), func() {
			p.fabric.mu.Lock()
			defer p.fabric.mu.Unlock()
			p.wake.Broadcast()
		})
	}
	p.wake.Broadcast()
}

func (d *memoryDeadline) stop() {
	if d.timer != nil {
		d.timer.Stop()
	}
}

func (c *memoryConn) Read(b []byte) (int, error) {
	c.fabric.mu.Lock()
	defer c.fabric.mu.Unlock()
	for {
		switch arrives := c.in.openLocked(); {
		case c.closed:
			return 0, net.ErrClosed
		case c.in.reset:
			return 0, syscall.ECONNRESET
		case c.read.passed():
			return 0, os.ErrDeadlineExceeded
		case arrives && len(c.in.sent) > 0:
			n := copy(b, c.in.sent)
			c.in.sent = c.in.sent[n:]
			c.in.wake.Broadcast()
			return n, nil
		case arrives && c.in.ended:
			return 0, io.EOF
		}
		c.in.wake.Wait()
	}
}

func (c *memoryConn) Write(b []byte) (int, error) {
	c.fabric.mu.Lock()
	defer c.fabric.mu.Unlock()
	for written := 0; ; {
		room := min(memoryBuffer-len(c.out.sent), len(b)-written)
		switch {
		case c.closed:
			return written, net.ErrClosed
		case c.out.reset, c.out.unread && c.out.openLocked():
			return written, syscall.ECONNRESET
		case c.write.passed():
			return written, os.ErrDeadlineExceeded
		case room > 0:
			c.out.sent = append(c.out.sent, b[written:written+room]...)
			written += room
			c.out.wake.Broadcast()
		}
		if written == len(b) {
			return written, nil
		}
		if room <= 0 {
			c.out.wake.Wait()
		}
	}
}

// Close ends both directions. What was written before still arrives.
func (c *memoryConn) Close() error {
	c.fabric.mu.Lock()
	defer c.fabric.mu.Unlock()
	if c.closed {
		return net.ErrClosed
	}
	c.closeLocked()
	return nil
}

func (c *memoryConn) closeLocked() {
	c.closed = true
	c.out.ended, c.in.unread = true, true
	c.read.stop()
	c.write.stop()
	c.wakeLocked()
	delete(c.fabric.conns, c)
}

func (c *memoryConn) wakeLocked() {
	c.in.wake.Broadcast()
	c.out.wake.Broadcast()
}

func (c *memoryConn) LocalAddr() net.Addr  { return memoryAddr(c.out.route.from) }
func (c *memoryConn) RemoteAddr() net.Addr { return memoryAddr(c.out.route.to) }

func (c *memoryConn) SetDeadline(t time.Time) error {
	c.fabric.mu.Lock()
	defer c.fabric.mu.Unlock()
	return c.setLocked(t, true, true)
}

func (c *memoryConn) SetReadDeadline(t time.Time) error {
	c.fabric.mu.Lock()
	defer c.fabric.mu.Unlock()
	return c.setLocked(t, true, false)
}

func (c *memoryConn) SetWriteDeadline(t time.Time) error {
	c.fabric.mu.Lock()
	defer c.fabric.mu.Unlock()
	return c.setLocked(t, false, true)
}

func (c *memoryConn) setLocked(t time.Time, read, write bool) error {
	if c.closed {
		return net.ErrClosed
	}
	if read {
		c.read.setLocked(t, c.in)
	}
	if write {
		c.write.setLocked(t, c.out)
	}
	return nil
}
