package client

import (
	"context"
	"time"
)

// end returns when a call of ctx that begins now is given up.
func (c *Client) end(ctx context.Context, now time.Time) time.Time {
	if end, limited := ctx.Deadline(); limited {
		return end
	}
	return now.Add(c.cfg.RequestTimeout)
}

// limited gives ctx the end of a call that begins now, which costs a timer.
func (c *Client) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithDeadline(ctx, c.end(ctx, time.Now()))
}
