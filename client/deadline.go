package client

import (
	"context"
	"sync"
	"time"
)

// deadlineContext is a context that ends at a deadline, as that of
// context.WithDeadline does, but costs no timer unless somebody waits for its end: most
// calls are over long before.
type deadlineContext struct {
	context.Context // the caller's
	deadline        time.Time

	mu     sync.Mutex
	armed  context.Context // nil until Done is called
	disarm context.CancelFunc
}

func (c *deadlineContext) Deadline() (time.Time, bool) { return c.deadline, true }

func (c *deadlineContext) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.armed == nil {
		c.armed, c.disarm = context.WithDeadline(c.Context, c.deadline)
	}
	return c.armed.Done()
}

func (c *deadlineContext) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	ended := c.Context
	if c.armed != nil {
		ended = c.armed
	}
	if err := ended.Err(); err != nil {
		return err
	}
	if !time.Now().Before(c.deadline) {
		return context.DeadlineExceeded
	}
	return nil
}

// free ends what Done began.
func (c *deadlineContext) free() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.armed != nil {
		c.disarm()
	}
}

// limited gives ctx a deadline if it has none. What it returns is for one goroutine's
// call; free ends it.
func (c *Client) limited(ctx context.Context) (limited context.Context, free func()) {
	if _, limited := ctx.Deadline(); limited {
		return ctx, func() {}
	}
	d := &deadlineContext{Context: ctx, deadline: time.Now().Add(c.cfg.RequestTimeout)}
	return d, d.free
}

// callersOwn returns the context from which limited has made ctx.
func callersOwn(ctx context.Context) context.Context {
	if d, ok := ctx.(*deadlineContext); ok {
		return d.Context
	}
	return ctx
}
