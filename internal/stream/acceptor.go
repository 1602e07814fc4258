package stream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"syscall"
	"time"
)

// LingerTimeout is how long a client that was told goodbye has to close its end.
const LingerTimeout = time.Second

// Served is a connection that an [Acceptor] has taken.
type Served interface {
	// Run serves the connection until it ends, and closes it.
	Run()
	// Drain lets it end once it has answered what it has taken, GiveUp without the
	// answers that are missing, Close at once. They do not block.
	Drain()
	GiveUp()
	Close()
}

// Acceptor accepts connections and owns them: it starts each on a goroutine of its own,
// ends them all and waits for them. Its fields are set before Serve.
type Acceptor struct {
	Listener net.Listener // the acceptor closes it
	MaxConns int          // the most connections at a time
	Logger   *slog.Logger
	// New prepares a connection, without using it yet.
	New func(conn net.Conn) Served
	// Refuse tells a client that there are so many connections already. It has 100 ms.
	Refuse func(conn net.Conn, count int)

	wg sync.WaitGroup

	mu      sync.Mutex
	stop    chan struct{} // closed by the first Shutdown or Close; see stopping
	stopped bool
	full    bool // a connection was refused since the last one was taken
	conns   map[Served]struct{}
}

// Serve accepts connections. It returns nil after Shutdown or Close, or the error
// with which the listener failed; connections are served on until then.
func (a *Acceptor) Serve() error {
	const maxPause = time.Second
	pause := time.Duration(0)
	for {
		conn, err := a.Listener.Accept()
		switch {
		case err == nil:
			pause = 0
			a.start(conn)
			continue
		case a.isStopped():
			return nil
		case !isShortage(err):
			return fmt.Errorf("accept connections: %w", err)
		}
		pause = min(max(2*pause, 5*time.Millisecond), maxPause)
		a.Logger.Warn("cannot accept a connection", "err", err, "pause", pause)
		select {
		case <-time.After(pause):
		case <-a.stopping():
			return nil
		}
	}
}

// isShortage reports whether accepting failed for want of something that comes back.
func isShortage(err error) bool {
	for _, errno := range []syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.ECONNABORTED} {
		if errors.Is(err, errno) {
			return true
		}
	}
	return false
}

// start serves conn on goroutines of its own, or refuses it.
func (a *Acceptor) start(conn net.Conn) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.stopped:
		conn.Close()
	case len(a.conns) >= a.MaxConns:
		a.refuse(conn)
	default:
		a.full = false
		c := a.New(conn)
		if a.conns == nil {
			a.conns = map[Served]struct{}{}
		}
		a.conns[c] = struct{}{}
		a.wg.Go(func() {
			c.Run()
			a.forget(c)
		})
	}
}

// refuse tells a client that there is no room for it. A fresh socket takes the few
// bytes without blocking; the deadline is for listeners of another kind. A flood
// of clients makes one line in the log.
func (a *Acceptor) refuse(conn net.Conn) {
	defer conn.Close()
	if !a.full {
		a.full = true
		a.Logger.Warn("connections are refused", "max_conns", a.MaxConns, "remote", conn.RemoteAddr())
	}
	if conn.SetWriteDeadline(time.Now().Add(100*time.Millisecond)) == nil {
		a.Refuse(conn, len(a.conns))
	}
}

func (a *Acceptor) forget(c Served) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.conns, c)
}

func (a *Acceptor) isStopped() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.stopped
}

func (a *Acceptor) stopping() <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.stoppingLocked()
}

func (a *Acceptor) stoppingLocked() chan struct{} {
	if a.stop == nil {
		a.stop = make(chan struct{})
	}
	return a.stop
}

// Shutdown stops accepting connections, drains those that are there, and waits for
// them. When ctx ends first it gives up, waits a second more, closes what is left and
// returns ctx's error.
func (a *Acceptor) Shutdown(ctx context.Context) error {
	closing := a.halt()
	for _, c := range a.Open() {
		c.Drain()
	}
	gone := make(chan struct{})
	go func() {
		a.wg.Wait()
		close(gone)
	}()
	select {
	case <-gone:
		return closing
	case <-ctx.Done():
	}
	for _, c := range a.Open() {
		c.GiveUp()
	}
	select {
	case <-gone:
	case <-time.After(LingerTimeout):
	}
	return errors.Join(ctx.Err(), closing, a.Close())
}

// Close closes the listener and all connections, and waits until their goroutines
// have ended. It may be called again.
func (a *Acceptor) Close() error {
	err := a.halt()
	for _, c := range a.Open() {
		c.Close()
	}
	a.wg.Wait()
	return err
}

// halt stops accepting. After it no connection is added.
func (a *Acceptor) halt() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.stopped {
		return nil
	}
	a.stopped = true
	close(a.stoppingLocked())
	return a.Listener.Close()
}

// Open returns the connections that are there now.
func (a *Acceptor) Open() []Served {
	a.mu.Lock()
	defer a.mu.Unlock()
	conns := make([]Served, 0, len(a.conns))
	for c := range a.conns {
		conns = append(conns, c)
	}
	return conns
}

// Linger throws away what the client still sends until it closes its end. Closing the
// socket over unread bytes would reset it, and the last words to the client might be lost.
func Linger(conn net.Conn) {
	if half, ok := conn.(interface{ CloseWrite() error }); ok && half.CloseWrite() != nil {
		return
	}
	if conn.SetReadDeadline(time.Now().Add(LingerTimeout)) == nil {
		_, _ = io.Copy(io.Discard, conn) // ends by its deadline, if not by the client
	}
}
