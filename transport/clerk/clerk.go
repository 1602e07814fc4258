// Package clerk writes for the fronts of a node, whose clients number nothing themselves.
// It has sessions of its own with each group, a few for all connections together, and
// numbers the writes within them. So a write whose leader is lost is sent again under its
// number, and is answered as it was the first time, whether it had happened or not. Its
// outcome is unknown only if no answer comes in its time.
package clerk

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/ringraft/ringraft/internal/defaults"
	"github.com/ringraft/ringraft/op"
)

// maxErrands bounds the requests that are under way on goroutines of their own, since they
// were not served where they came to at once.
const maxErrands = 16384

// Node is what a clerk needs of its node.
type Node interface {
	// Serve answers a request here, and must not block. A write's Raw must be set, and is
	// not used any more once the answer has come.
	Serve(req op.Request, reply op.Replier)
	// Do answers a request from wherever that can be done, until ctx ends, and repeats a
	// write in a session that has no answer. The caller owns the result's memory.
	Do(ctx context.Context, req op.Request) op.Result
	// GroupOf returns the group that owns a slot, 0 while the cluster has no map.
	GroupOf(slot uint16) uint64
}

// Config says how a [Clerk] works. All but Node may be zero.
type Config struct {
	Node Node
	// Timeout is how long a request may take that comes without a context. 0: 5 s.
	Timeout time.Duration
}

// Clerk serves requests as its node does, and their writes once. Close ends it.
type Clerk struct {
	cfg     Config
	ctx     context.Context // ends with Close
	stop    context.CancelFunc
	errands chan struct{} // a token for each goroutine
	spare   sync.Pool     // of errands that have ended

	desksMu sync.RWMutex
	desks   map[uint64]*desk // by group

	mu     sync.Mutex
	wg     sync.WaitGroup // of the goroutines; added to under mu, until closed
	closed bool
}

// New returns a clerk that writes through cfg.Node.
func New(cfg Config) (*Clerk, error) {
	if cfg.Node == nil {
		return nil, errors.New("clerk: Node must be set")
	}
	if err := defaults.Set("Timeout", &cfg.Timeout, 5*time.Second); err != nil {
		return nil, err
	}
	c := &Clerk{cfg: cfg, errands: make(chan struct{}, maxErrands), desks: map[uint64]*desk{}}
	c.ctx, c.stop = context.WithCancel(context.Background())
	return c, nil
}

// Serve answers a request through reply, and does not block. A write's answer is final: it
// comes from wherever that can be done. Anything else is served here or refused; Again is
// for what was refused.
func (c *Clerk) Serve(req op.Request, reply op.Replier) {
	if !numbered(req.Op) {
		c.cfg.Node.Serve(req, reply)
		return
	}
	e := c.errand(req)
	e.reply, e.until = reply, time.Now().Add(c.cfg.Timeout)
	if e.sitAtOnce() {
		c.cfg.Node.Serve(e.req, e)
		return
	}
	e.goOn(op.Unavailable("%d requests are under way already", maxErrands))
}

// Do answers a request from wherever that can be done, until ctx ends. The caller owns the
// result's memory.
func (c *Clerk) Do(ctx context.Context, req op.Request) op.Result {
	if !numbered(req.Op) {
		return c.cfg.Node.Do(ctx, req)
	}
	e := c.errand(req)
	defer e.free()
	return e.run(ctx)
}

// Again serves a request that Serve has refused, from wherever that can be done, and gives
// its answer to reply. It does not block; without room for another one it gives back
// refusal, which it may keep.
func (c *Clerk) Again(req op.Request, refusal *op.Error, reply func(op.Result)) {
	refusal = kept(refusal)
	until := time.Now().Add(c.cfg.Timeout)
	if !c.start(until, func(ctx context.Context) { reply(c.cfg.Node.Do(ctx, req)) }) {
		reply(op.Fail(refusal))
	}
}

// numbered reports whether o needs a session to happen once. Without a slot, it is refused
// anyway.
func numbered(o op.Op) bool { return op.Numbered(o) && o.(op.Routed).NumSlots() > 0 }

// start runs f on a goroutine, unless there are too many or the clerk is closed.
func (c *Clerk) start(until time.Time, f func(context.Context)) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	select {
	case c.errands <- struct{}{}:
	default:
		return false
	}
	c.wg.Go(func() {
		defer func() { <-c.errands }()
		ctx, cancel := context.WithDeadline(c.ctx, until)
		defer cancel()
		f(ctx)
	})
	return true
}

// Close answers what is under way, as it stands, and waits until all goroutines have ended.
// It may be called again.
func (c *Clerk) Close() error {
	c.stop()
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.wg.Wait()
	return nil
}

// kept returns a copy of an error whose memory is somebody else's.
func kept(err *op.Error) *op.Error {
	copied := *err
	return &copied
}
