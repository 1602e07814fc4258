package client

import (
	"context"
	"math/rand/v2"
	"time"
)

// backoff gives pauses that grow exponentially, with full jitter: clients that
// failed together do not come back together.
type backoff struct{ min, max time.Duration }

// after returns the pause after the failure that follows n others.
func (b backoff) after(n int) time.Duration {
	bound := b.max
	if n < 32 && b.min<<n < b.max && b.min<<n > 0 {
		bound = b.min << n
	}
	return rand.N(bound + 1)
}

// sleep pauses for d, or until ctx or the client ends.
func (c *Client) sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	case <-c.ctx.Done():
	}
}
