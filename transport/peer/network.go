package peer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"

	"github.com/hashicorp/raft"
)

var (
	// ErrClosed is the answer of a [Network], or of a replica's transport, that has been closed.
	ErrClosed = errors.New("peer: closed")

	// ErrUnreachable means that a request was certainly not handled: there is no
	// connection to the node, or the node refused to look at the request.
	// Its method NotHandled says so to those who do not know this package.
	ErrUnreachable error = notHandledError("peer: unreachable")

	errNotMember    = errors.New("not both are members of one cluster")
	errSelfChanged  = errors.New("this node has joined a cluster and introduces itself anew")
	errTooManyConns = errors.New("too many connections")
)

type notHandledError string

func (e notHandledError) Error() string { return string(e) }

// NotHandled reports that nothing has come of the request.
func (e notHandledError) NotHandled() bool { return true }

// Network is a node's end of all traffic between nodes. Its methods may be called
// from any goroutine.
type Network struct {
	cfg    Config
	log    *slog.Logger
	ctx    context.Context // ended by Close
	stop   context.CancelCauseFunc
	wg     sync.WaitGroup // all goroutines but those of inbound calls, which their connection owns
	noise  *limiter       // log lines that strangers cause
	alarms *limiter       // log lines about members that are not who they were

	calls    chan struct{} // a token per running call
	accepted chan struct{} // per accepted connection
	sending  chan struct{} // per outgoing snapshot
	taking   chan struct{} // per incoming snapshot

	mu       sync.RWMutex
	self     Identity
	closed   bool
	conns    map[net.Conn]struct{} // all that are open, in either direction
	links    map[string]*link      // by node
	replicas map[raft.ServerID]*replica
}

// New starts to listen. The caller must call Close, also to close cfg.Listener,
// unless New returns an error.
func New(cfg Config) (*Network, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	n := &Network{
		cfg:      cfg,
		log:      cfg.Logger,
		noise:    newLimiter(),
		alarms:   newLimiter(),
		calls:    make(chan struct{}, cfg.MaxCalls),
		accepted: make(chan struct{}, cfg.MaxConns),
		sending:  make(chan struct{}, cfg.MaxSnapshots),
		taking:   make(chan struct{}, cfg.MaxSnapshots),
		self:     cfg.Self,
		conns:    make(map[net.Conn]struct{}),
		links:    make(map[string]*link),
		replicas: make(map[raft.ServerID]*replica),
	}
	n.ctx, n.stop = context.WithCancelCause(context.Background())
	n.wg.Go(n.accept)
	return n, nil
}

// Close drops all connections, fails what is under way and waits for all goroutines,
// calls being handled among them. It may be called again.
func (n *Network) Close() error {
	n.mu.Lock()
	n.closed = true
	n.mu.Unlock()
	n.stop(ErrClosed)
	err := n.cfg.Listener.Close()
	n.dropAll()
	n.wg.Wait()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// SetSelf changes who this node says it is, once it belongs to a cluster. All
// connections are dropped, so that they shake hands anew; what is under way fails.
func (n *Network) SetSelf(self Identity) error {
	if err := self.validate(); err != nil {
		return err
	}
	n.mu.Lock()
	n.self = self
	n.mu.Unlock()
	n.log.Info("peer connections start anew", "reason", errSelfChanged)
	n.dropAll()
	return nil
}

// Transport returns the transport of a replica of this node, whose id, also its
// address, is node/group/generation. Messages for the replica are accepted from now
// on. Raft closes the transport when it is shut down, which ends this replica's
// traffic only. Asked again for one id, it closes the transport that it gave before.
func (n *Network) Transport(id raft.ServerID) raft.Transport {
	r := newReplica(n, id)
	n.mu.Lock()
	before, closed := n.replicas[id], n.closed
	if !closed {
		n.replicas[id] = r
		n.wg.Go(r.answer)
	}
	n.mu.Unlock()
	if before != nil {
		before.stop(ErrClosed)
	}
	if closed {
		r.stop(ErrClosed)
	}
	return r
}

// Reachable reports whether there is a connection to the node on which something
// arrived within the last half of SilenceTimeout.
func (n *Network) Reachable(node string) bool {
	n.mu.RLock()
	l := n.links[node]
	n.mu.RUnlock()
	if l == nil {
		return false
	}
	s := l.current()
	return s != nil && s.stream.quiet() < n.cfg.SilenceTimeout/2
}

// tellDeparture hands on what a node's connections tell. Once the Network is closed
// they end for no fault of the node.
func (n *Network) tellDeparture(node string, gone bool) {
	if n.ctx.Err() == nil {
		n.cfg.Departed(node, gone)
	}
}

// Stand makes the replica id of this node stand for election at once, as if its leader
// had asked it to: without a pre-vote, and with the votes of those who still believe in
// a leader. Raft does so even with a replica that leads.
func (n *Network) Stand(id raft.ServerID) error {
	r, err := n.own(id)
	if err != nil {
		return err
	}
	return r.stand()
}

// Settle returns once raft has handled all that had arrived for the replica id of this
// node, or with ctx's error. The replica must have had a leader.
func (n *Network) Settle(ctx context.Context, id raft.ServerID) error {
	r, err := n.own(id)
	if err != nil {
		return err
	}
	return r.settle(ctx)
}

// Base says that the replica id of this node goes on from a snapshot that ends with an
// entry. Raft is told of appends behind that entry as if they began the log: it would look
// for the entry in a log that need not have it, or has another there.
func (n *Network) Base(id raft.ServerID, index, term uint64) {
	if r, err := n.own(id); err == nil {
		r.rebase(index, term)
	}
}

func (n *Network) own(id raft.ServerID) (*replica, error) {
	if r := n.replica([]byte(id)); r != nil {
		return r, nil
	}
	return nil, fmt.Errorf("peer: no replica %q here", id)
}

func (n *Network) identity() Identity {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return n.self
}

// link returns the link to a node, which it starts when it is first asked for.
func (n *Network) link(node string) (*link, error) {
	n.mu.RLock()
	l, closed := n.links[node], n.closed
	n.mu.RUnlock()
	if closed {
		return nil, ErrClosed
	}
	if l != nil {
		return l, nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return nil, ErrClosed
	}
	if l = n.links[node]; l == nil {
		l = newLink(n, node)
		n.links[node] = l
		n.wg.Go(l.run)
	}
	return l, nil
}

// replica returns the replica with this id, nil if it is not here.
func (n *Network) replica(id []byte) *replica {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return n.replicas[raft.ServerID(id)]
}

func (n *Network) removeReplica(r *replica) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.replicas[r.id] == r {
		delete(n.replicas, r.id)
	}
}

// track makes Close and SetSelf drop the connection; it must precede the handshake,
// so that none survives which was made under another identity.
func (n *Network) track(c net.Conn) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		_ = c.Close()
		return ErrClosed
	}
	n.conns[c] = struct{}{}
	return nil
}

// drop closes a connection that track was told of.
func (n *Network) drop(c net.Conn) {
	n.mu.Lock()
	delete(n.conns, c)
	n.mu.Unlock()
	_ = c.Close() // its end is what was wanted
}

func (n *Network) dropAll() {
	n.mu.RLock()
	defer n.mu.RUnlock()
	for c := range n.conns {
		_ = c.Close() // its owner sees the end and drops it
	}
}
