package client

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ringraft/ringraft/op"
)

// conn is what a pool needs of a connection; *transport.Conn in production.
type conn interface {
	Do(ctx context.Context, req *op.Request) (op.Result, error)
	DoUntil(ctx context.Context, until time.Time, req *op.Request) (op.Result, error)
	Pending() int // calls without an answer, given up or not
	Awaited() int // those not given up
	Done() <-chan struct{}
	Close() error
}

// probeEvery is how often a connection that has calls waiting is asked for a sign
// of life.
const probeEvery = time.Second

// poolConfig is what all pools of a client share.
type poolConfig struct {
	// connect opens a connection to the node that is expected at address and
	// greets it, within DialTimeout.
	connect func(ctx context.Context, address, node string) (conn, error)
	// probe asks the node behind c for a sign of life, within DialTimeout.
	probe   func(ctx context.Context, c conn) error
	failed  func() // told of every failed dial; does not block
	size    int    // the most connections
	backoff backoff
}

// pool holds the connections to one node. Each has a goroutine of the pool that
// dials it, keeps it, and removes it when it breaks.
type pool struct {
	poolConfig
	node string // id
	ctx  context.Context
	stop context.CancelFunc
	wg   sync.WaitGroup
	live atomic.Pointer[[]conn] // replaced as a whole, under mu

	mu       sync.Mutex
	address  string
	dial     *dial // under way; nil if none
	failures int   // dials and probes that failed since one succeeded
	retryAt  time.Time
	lastErr  error
	closed   bool
}

// dial is one attempt to add a connection. conn and err are set before done closes.
type dial struct {
	done chan struct{}
	conn conn
	err  error
}

func newPool(node, address string, cfg poolConfig) *pool {
	p := &pool{poolConfig: cfg, node: node, address: address}
	p.ctx, p.stop = context.WithCancel(context.Background())
	p.live.Store(new([]conn))
	return p
}

// takeUntil is take with a deadline, which costs no timer where there is nothing to wait
// for.
func (p *pool) takeUntil(ctx context.Context, until time.Time) (conn, error) {
	if best, enough := p.leastPending(); enough {
		return best, nil
	}
	ctx, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	return p.take(ctx)
}

// take returns the connection with the fewest calls waiting. If the node has
// failed, it does not wait for a new attempt but makes one in the background.
func (p *pool) take(ctx context.Context) (conn, error) {
	best, d, err := p.grow()
	if best != nil {
		return best, nil
	}
	if err != nil {
		return nil, err
	}
	select {
	case <-d.done:
		return d.conn, d.err
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: waiting for a connection to node %s: %w", op.ErrUnavailable, p.node, ctx.Err())
	}
}

// load returns the number of calls waiting for the node. Without a connection it
// is not ready, and an attempt to get one begins in the background.
func (p *pool) load() (waiting int, ready bool) {
	conns := *p.live.Load()
	for _, c := range conns {
		waiting += c.Pending()
	}
	if len(conns) == 0 {
		p.grow()
	}
	return waiting, len(conns) > 0
}

func (p *pool) connected() bool { return len(*p.live.Load()) > 0 }

// lost reports whether there is no connection and the last attempt to get one failed.
func (p *pool) lost() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.connected() && p.lastErr != nil
}

// leastPending returns the connection with the fewest calls waiting, nil without
// any. It is enough if nothing waits for it, or there may not be more.
func (p *pool) leastPending() (best conn, enough bool) {
	conns := *p.live.Load()
	least := 0
	for _, c := range conns {
		if n := c.Pending(); best == nil || n < least {
			best, least = c, n
		}
	}
	return best, best != nil && least == 0 || len(conns) >= p.size
}

// grow joins the attempt under way to add a connection, or begins one unless what
// there is is enough or it is too early after a failure. best is what there is. err is the
// last failure, if no attempt has succeeded since: do not wait for d then.
func (p *pool) grow() (best conn, d *dial, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	best, enough := p.leastPending()
	switch {
	case enough:
		return best, nil, nil
	case p.closed:
		return nil, nil, ErrClosed
	case p.dial == nil && !time.Now().Before(p.retryAt):
		p.dial = &dial{done: make(chan struct{})}
		d, address := p.dial, p.address
		p.wg.Go(func() { p.run(d, address) })
	}
	return best, p.dial, p.lastErr
}

// run dials and, if that succeeds, keeps the connection for its life.
func (p *pool) run(d *dial, address string) {
	conn, err := p.connect(p.ctx, address, p.node)
	p.mu.Lock()
	p.dial = nil
	if err != nil {
		d.err = err
		p.failLocked(err)
	} else {
		d.conn = conn
		p.addLocked(conn)
	}
	p.mu.Unlock()
	close(d.done)
	if err != nil {
		p.failed()
		return
	}
	p.keep(conn)
}

// keep keeps c until it breaks or the pool closes, and then closes it. While there
// are requests without an answer it probes the node: one that shows no sign of life
// gets no further calls over c, which is closed when the calls under way have ended.
// To close it at once would make their outcomes unknown, though the node may only
// be slow.
func (p *pool) keep(c conn) {
	defer c.Close()
	defer p.remove(c)
	tick := time.NewTicker(probeEvery)
	defer tick.Stop()
	for dying := false; ; {
		select {
		case <-c.Done():
			return
		case <-p.ctx.Done():
			return
		case <-tick.C:
		}
		if dying && c.Awaited() == 0 {
			return
		}
		if dying || c.Pending() == 0 {
			continue
		}
		if err := p.probe(p.ctx, c); err != nil {
			dying = true
			p.remove(c)
			p.fail(err)
		}
	}
}

// adopt takes over a connection that was dialled elsewhere; it is closed if there
// is no place for it.
func (p *pool) adopt(c conn) {
	if !p.tryAdopt(c) {
		c.Close()
	}
}

func (p *pool) tryAdopt(c conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || len(*p.live.Load()) >= p.size {
		return false
	}
	p.addLocked(c)
	p.wg.Go(func() { p.keep(c) })
	return true
}

func (p *pool) addLocked(c conn) {
	p.failures, p.retryAt, p.lastErr = 0, time.Time{}, nil
	conns := append(slices.Clone(*p.live.Load()), c)
	p.live.Store(&conns)
}

func (p *pool) fail(err error) {
	p.mu.Lock()
	p.failLocked(err)
	p.mu.Unlock()
}

func (p *pool) failLocked(err error) {
	p.lastErr = err
	p.retryAt = time.Now().Add(p.backoff.after(p.failures))
	p.failures++
}

func (p *pool) remove(c conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	conns := slices.DeleteFunc(slices.Clone(*p.live.Load()), func(o conn) bool { return o == c })
	p.live.Store(&conns)
}

// moveTo makes later dials go to address.
func (p *pool) moveTo(address string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.address != address {
		p.address, p.retryAt = address, time.Time{}
	}
}

// close closes the connections and waits for the pool's goroutines.
func (p *pool) close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.stop()
	p.wg.Wait()
}
