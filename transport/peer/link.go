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
	"syscall"
	"time"
)

// Pauses between attempts to connect: from 5–12 ms, doubling, to at most 500 ms. A
// session that lasted as long as steadyAfter starts the row again, with no pause.
const (
	minPause    = 5 * time.Millisecond
	maxPause    = 500 * time.Millisecond
	steadyAfter = time.Second
	// seekFor is how long after a session the node is looked for where it was, rather
	// than where its address says: a name can have several places, of which one may
	// refuse while another is only silent.
	seekFor = 500 * time.Millisecond
)

// link keeps a connection to one node, for as long as the Network lives.
type link struct {
	net      *Network
	node     string
	presence presence

	mu      sync.Mutex
	session *session      // nil while there is no connection
	changed chan struct{} // closed, and replaced, when an attempt to connect has ended
	lastErr error         // why there is no connection; nil before the first attempt has ended
}

func newLink(n *Network, node string) *link {
	l := &link{net: n, node: node, changed: make(chan struct{})}
	l.presence.tell = func(gone bool) { n.tellDeparture(node, gone) }
	return l
}

// run connects, serves the connection until it ends, and begins again.
func (l *link) run() {
	ctx := l.net.ctx
	pause := minPause
	var ended place
	for {
		s, err := l.connect(ctx, ended)
		switch {
		case err == nil:
			l.up(s)
			started := time.Now()
			l.down(s.run())
			ended = place{s.stream.RemoteAddr().String(), time.Now()}
			if time.Since(started) >= steadyAfter {
				pause = 0
			}
		case errors.Is(err, errRefused):
			l.presence.refuse()
			ended = place{}
			l.down(err)
		default:
			l.down(err)
		}
		select {
		case <-ctx.Done():
			l.down(ErrClosed)
			return
		case <-time.After(pause + rand.N(pause*3/2+1)):
		}
		pause = min(max(2*pause, minPause), maxPause*2/5)
	}
}

// place is where a session led to until it ended. The zero place is nowhere.
type place struct {
	addr string
	at   time.Time
}

// errRefused means that the place where a session has just ended refuses another. It
// says that nobody listens there, and so that the process has ended.
var errRefused = errors.New("nobody listens there any more")

// connect opens a session, at first where the one before has ended.
func (l *link) connect(ctx context.Context, ended place) (*session, error) {
	var at string
	if time.Since(ended.at) < seekFor {
		at = ended.addr
	}
	s, r, member, err := l.net.open(ctx, l.node, at, forTraffic)
	if at != "" && errors.Is(err, syscall.ECONNREFUSED) {
		return nil, fmt.Errorf("%w: %w", errRefused, err)
	}
	if err != nil {
		return nil, err
	}
	return newSession(l, s, r, member), nil
}

// open dials a node, at its address unless another is given, and shakes hands. The
// caller must drop the connection.
func (n *Network) open(ctx context.Context, node, addr string, p purpose) (*stream, *bufio.Reader, bool, error) {
	if addr == "" {
		var ok bool
		if addr, ok = n.cfg.Address(node); !ok {
			return nil, nil, false, fmt.Errorf("the address of node %q is not known", node)
		}
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
// patience, at most until ctx ends; for a node that is gone only if evenGone. While the
// link's first attempt to connect is under way it waits for that in any case, so that a
// node's first vote is not lost.
func (l *link) await(ctx context.Context, patience time.Duration, evenGone bool) (*session, error) {
	var expired <-chan time.Time // nil, which never comes, during the first attempt
	for {
		l.mu.Lock()
		s, err, changed := l.session, l.lastErr, l.changed
		l.mu.Unlock()
		if s != nil {
			return s, nil
		}
		if err != nil && !evenGone && l.presence.isGone() {
			return nil, l.unreachable(err)
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
	l.presence.reached()
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
