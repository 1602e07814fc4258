package peer

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"sync"
	"time"
)

// Pauses between attempts to connect: from 20–50 ms, doubling, to at most 500 ms. A
// session that lasted as long as steadyAfter starts the row again.
const (
	minPause    = 20 * time.Millisecond
	maxPause    = 500 * time.Millisecond
	steadyAfter = time.Second
)

// link keeps a connection to one node, for as long as the Network lives.
type link struct {
	net  *Network
	node string

	mu      sync.Mutex
	session *session      // nil while there is no connection
	changed chan struct{} // closed, and replaced, when an attempt to connect has ended
	lastErr error         // why there is no connection; nil before the first attempt has ended
}

func newLink(n *Network, node string) *link {
	return &link{net: n, node: node, changed: make(chan struct{})}
}

// run connects, serves the connection until it ends, and begins again.
func (l *link) run() {
	ctx := l.net.ctx
	pause := minPause
	for {
		s, err := l.connect(ctx)
		if err != nil {
			l.down(err)
		} else {
			l.up(s)
			started := time.Now()
			l.down(s.run())
			if time.Since(started) >= steadyAfter {
				pause = minPause
			}
		}
		select {
		case <-ctx.Done():
			l.down(ErrClosed)
			return
		case <-time.After(pause + rand.N(pause*3/2)):
		}
		pause = min(2*pause, maxPause*2/5)
	}
}

func (l *link) connect(ctx context.Context) (*session, error) {
	s, r, member, err := l.net.open(ctx, l.node, forTraffic)
	if err != nil {
		return nil, err
	}
	return newSession(l, s, r, member), nil
}

// open dials a node and shakes hands. The caller must drop the connection.
func (n *Network) open(ctx context.Context, node string, p purpose) (*stream, *bufio.Reader, bool, error) {
	addr, ok := n.cfg.Address(node)
	if !ok {
		return nil, nil, false, fmt.Errorf("the address of node %q is not known", node)
	}
	ctx, cancel := context.WithTimeout(ctx, n.cfg.DialTimeout)
	defer cancel()
	conn, err := n.cfg.Dial(ctx, addr)
	if err != nil {
		return nil, nil, false, fmt.Errorf("dialling node %q: %w", node, err)
	}
	s, r, err := n.begin(conn)
	if err != nil {
		return nil, nil, false, err
	}
	member, err := n.greet(s, r, node, p)
	if err != nil {
		n.drop(s)
		return nil, nil, false, err
	}
	return s, r, member, nil
}

// begin takes a new connection into the Network's care.
func (n *Network) begin(conn net.Conn) (*stream, *bufio.Reader, error) {
	s := newStream(conn, n.cfg.SilenceTimeout)
	if err := n.track(s); err != nil {
		return nil, nil, err
	}
	return s, bufio.NewReaderSize(s, readStep), nil
}

func (l *link) current() *session {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.session
}

// await returns the connection. If there is none it waits for one as long as
// patience, at most until ctx ends. While the link's first attempt to connect is
// under way it waits for that in any case, so that a node's first vote is not lost.
func (l *link) await(ctx context.Context, patience time.Duration) (*session, error) {
	var expired <-chan time.Time // nil, which never comes, during the first attempt
	for {
		l.mu.Lock()
		s, err, changed := l.session, l.lastErr, l.changed
		l.mu.Unlock()
		if s != nil {
			return s, nil
		}
		if err != nil && expired == nil {
			if patience == 0 || errors.Is(err, ErrClosed) {
				return nil, l.unreachable(err)
			}
			timer := time.NewTimer(patience)
			defer timer.Stop()
			expired = timer.C
		}
		select {
		case <-changed:
		case <-expired:
			return nil, l.unreachable(err)
		case <-l.net.ctx.Done():
			return nil, l.unreachable(ErrClosed)
		case <-ctx.Done():
			return nil, l.unreachable(context.Cause(ctx))
		}
	}
}

func (l *link) unreachable(reason error) error {
	return fmt.Errorf("%w: node %q: %w", ErrUnreachable, l.node, reason)
}

func (l *link) up(s *session) {
	l.set(s, nil)
	l.net.log.Debug("connected to peer", "node", l.node, "member", s.member)
}

// down notes that there is no connection. It logs the first failure after each
// success, and each new reason for which the peer refuses us.
func (l *link) down(err error) {
	before := l.set(nil, err)
	if l.net.ctx.Err() != nil {
		return
	}
	level := slog.LevelDebug
	var refused *refusedError
	switch {
	case errors.As(err, &refused) && (before == nil || before.Error() != err.Error()):
		level = slog.LevelError
	case before == nil:
		level = slog.LevelInfo
	}
	l.net.log.Log(context.Background(), level, "no connection to peer", "node", l.node, "error", err)
}

// set returns the error that stood before.
func (l *link) set(s *session, err error) (before error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before = l.lastErr
	l.session, l.lastErr = s, err
	close(l.changed)
	l.changed = make(chan struct{})
	return before
}
