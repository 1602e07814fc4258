package peer

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"syscall"
)

// Fabric is a network in memory, for simulations: the code of [Network] runs on it
// as it does on TCP, also under testing/synctest. Connections between nodes can be
// cut, healed and reset.
//
// A cut is a black hole, as a network that loses packets is to TCP: writes succeed
// until the sender's buffer is full, nothing arrives, dialling hangs, and nobody is
// told. What was written arrives once the cut is healed, if the connection still
// lives.
type Fabric struct {
	mu        sync.Mutex
	nodes     map[string]bool // all that ever were
	listeners map[string]*memoryListener
	conns     map[*memoryConn]struct{}
	cuts      map[route]bool
	refusals  map[route]bool // dialling is refused
	changed   chan struct{}  // closed, and replaced, when listeners or cuts change
}

// route is one direction between two nodes.
type route struct{ from, to string }

// NewFabric returns a Fabric without nodes.
func NewFabric() *Fabric {
	return &Fabric{
		nodes:     make(map[string]bool),
		listeners: make(map[string]*memoryListener),
		conns:     make(map[*memoryConn]struct{}),
		cuts:      make(map[route]bool),
		refusals:  make(map[route]bool),
		changed:   make(chan struct{}),
	}
}

// Network starts the node cfg.Self.Node on the fabric: it sets Listener, Dial and
// Address, by which a node's address is its id.
func (f *Fabric) Network(cfg Config) (*Network, error) {
	node := cfg.Self.Node
	l, err := f.listen(node)
	if err != nil {
		return nil, err
	}
	cfg.Listener = l
	cfg.Address = func(node string) (string, bool) { return node, true }
	cfg.Dial = func(ctx context.Context, addr string) (net.Conn, error) { return f.dial(ctx, node, addr) }
	n, err := New(cfg)
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return n, nil
}

// Cut cuts two nodes off from each other.
func (f *Fabric) Cut(a, b string) { f.setCuts(true, route{a, b}, route{b, a}) }

// CutOneWay keeps what from sends from arriving at to.
func (f *Fabric) CutOneWay(from, to string) { f.setCuts(true, route{from, to}) }

// Refuse has all refused that from dials at to, as a firewall does or a host on which
// nobody listens. Connections stay as they are.
func (f *Fabric) Refuse(from, to string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refusals[route{from, to}] = true
}

// Isolate cuts a node off from all the others that exist.
func (f *Fabric) Isolate(node string) {
	f.mu.Lock()
	var routes []route
	for other := range f.nodes {
		if other != node {
			routes = append(routes, route{node, other}, route{other, node})
		}
	}
	f.mu.Unlock()
	f.setCuts(true, routes...)
}

// Heal ends what Cut, CutOneWay and Refuse did between two nodes.
func (f *Fabric) Heal(a, b string) { f.setCuts(false, route{a, b}, route{b, a}) }

// HealAll ends all cuts and refusals.
func (f *Fabric) HealAll() {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.cuts)
	clear(f.refusals)
	f.changeLocked()
}

// Reset breaks all connections between two nodes; both ends get an error at once.
// Cuts stay as they are.
func (f *Fabric) Reset(a, b string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for c := range f.conns {
		if c.in.route == (route{a, b}) || c.in.route == (route{b, a}) {
			c.in.reset, c.out.reset = true, true
			c.wakeLocked()
		}
	}
}

func (f *Fabric) setCuts(cut bool, routes ...route) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range routes {
		if cut {
			f.cuts[r] = true
		} else {
			delete(f.cuts, r)
			delete(f.refusals, r)
		}
	}
	f.changeLocked()
}

func (f *Fabric) changeLocked() {
	close(f.changed)
	f.changed = make(chan struct{})
	for c := range f.conns {
		c.wakeLocked()
	}
}

func (f *Fabric) listen(node string) (*memoryListener, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.listeners[node] != nil {
		return nil, fmt.Errorf("listening as node %q: %w", node, syscall.EADDRINUSE)
	}
	l := &memoryListener{fabric: f, node: node, wake: sync.NewCond(&f.mu)}
	f.nodes[node], f.listeners[node] = true, l
	f.changeLocked()
	return l, nil
}

// dial connects two nodes. Across a cut it hangs until ctx ends.
func (f *Fabric) dial(ctx context.Context, from, to string) (net.Conn, error) {
	for {
		f.mu.Lock()
		if !f.cuts[route{from, to}] && !f.cuts[route{to, from}] {
			defer f.mu.Unlock()
			l := f.listeners[to]
			if l == nil || f.refusals[route{from, to}] {
				return nil, fmt.Errorf("dialling %q: %w", to, syscall.ECONNREFUSED)
			}
			return l.connectLocked(from), nil
		}
		changed := f.changed
		f.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, fmt.Errorf("dialling %q: %w", to, context.Cause(ctx))
		}
	}
}

// memoryListener accepts a node's connections.
type memoryListener struct {
	fabric  *Fabric
	node    string
	wake    *sync.Cond // on fabric.mu
	backlog []*memoryConn
	closed  bool
}

func (l *memoryListener) connectLocked(from string) *memoryConn {
	there, back := newMemoryPipe(l.fabric, route{from, l.node}), newMemoryPipe(l.fabric, route{l.node, from})
	dialled := &memoryConn{fabric: l.fabric, in: back, out: there}
	accepted := &memoryConn{fabric: l.fabric, in: there, out: back}
	l.fabric.conns[dialled], l.fabric.conns[accepted] = struct{}{}, struct{}{}
	l.backlog = append(l.backlog, accepted)
	l.wake.Signal()
	return dialled
}

func (l *memoryListener) Accept() (net.Conn, error) {
	l.fabric.mu.Lock()
	defer l.fabric.mu.Unlock()
	for len(l.backlog) == 0 && !l.closed {
		l.wake.Wait()
	}
	if l.closed {
		return nil, net.ErrClosed
	}
	c := l.backlog[0]
	l.backlog = l.backlog[1:]
	return c, nil
}

func (l *memoryListener) Close() error {
	l.fabric.mu.Lock()
	defer l.fabric.mu.Unlock()
	if l.closed {
		return net.ErrClosed
	}
	l.closed = true
	for _, c := range l.backlog {
		c.closeLocked()
	}
	l.backlog = nil
	delete(l.fabric.listeners, l.node)
	l.fabric.changeLocked()
	l.wake.Broadcast()
	return nil
}

func (l *memoryListener) Addr() net.Addr { return memoryAddr(l.node) }

// memoryAddr is a node's id.
type memoryAddr string

func (a memoryAddr) Network() string { return "memory" }
func (a memoryAddr) String() string  { return string(a) }
