package bench

import (
	"context"
	"sync/atomic"
	"time"
)

// pace says when requests are sent. All callers share one.
type pace interface {
	// take waits until at least one request is to be sent, notes the starts of as many
	// as may go together, at most all of batch, and returns how many; 0: it is over.
	take(ctx context.Context, clock func() time.Duration, batch []Request) int
	// unsent is how many requests were due by now, a time since the measurement's start, and never
	// sent. Call it when all callers have ended.
	unsent(now time.Duration) int64
}

// closedLoop lets every caller send at once what it has, until a number of requests is used up.
type closedLoop struct{ left atomic.Int64 }

func newClosedLoop(requests int64) *closedLoop {
	c := &closedLoop{}
	c.left.Store(requests)
	return c
}

func (c *closedLoop) take(_ context.Context, clock func() time.Duration, batch []Request) int {
	n := int64(len(batch))
	if after := c.left.Add(-n); after < 0 {
		n = max(0, n+after)
	}
	start := int64(clock())
	for i := range batch[:n] {
		batch[i].start = start
	}
	return int(n)
}

func (c *closedLoop) unsent(time.Duration) int64 { return 0 }

// openLoop makes request i, from 0, due i intervals after the start. The caller that is
// free next takes the next one, however late it is: its latency counts from when it was
// due. Of those that wait the oldest are given up when there are more than backlog.
type openLoop struct {
	interval float64 // ns
	backlog  int64   // requests
	total    int64   // requests
	limit    time.Duration

	next    atomic.Int64 // the request to take
	skipped atomic.Int64
}

func newOpenLoop(rate float64, backlog int, limit time.Duration, requests int64) *openLoop {
	o := &openLoop{interval: float64(time.Second) / rate, backlog: int64(backlog), limit: limit}
	o.total = min(requests, o.dueBy(limit-1))
	return o
}

// dueBy returns how many requests are due up to that time.
func (o *openLoop) dueBy(now time.Duration) int64 { return int64(float64(now)/o.interval) + 1 }

func (o *openLoop) dueAt(i int64) time.Duration { return time.Duration(float64(i) * o.interval) }

func (o *openLoop) take(ctx context.Context, clock func() time.Duration, batch []Request) int {
	now := clock()
	if now >= o.limit {
		return 0
	}
	first, ok := o.claim(now, o.total)
	if !ok {
		return 0
	}
	batch[0].start = int64(o.dueAt(first))
	if wait := o.dueAt(first) - now; wait > 0 {
		if !pause(ctx, wait) {
			return 0
		}
		now = clock()
	}
	n := 1
	for ; n < len(batch); n++ {
		i, ok := o.claim(now, min(o.total, o.dueBy(now)))
		if !ok {
			break
		}
		batch[n].start = int64(o.dueAt(i))
	}
	return n
}

// claim takes the next request before end, after giving up what is too old.
func (o *openLoop) claim(now time.Duration, end int64) (i int64, ok bool) {
	for {
		next := o.next.Load()
		i := max(next, min(o.dueBy(now), o.total)-o.backlog)
		if i >= end {
			return 0, false
		}
		if o.next.CompareAndSwap(next, i+1) {
			o.skipped.Add(i - next)
			return i, true
		}
	}
}

func (o *openLoop) unsent(now time.Duration) int64 {
	due := min(o.total, o.dueBy(now))
	return o.skipped.Load() + max(0, due-o.next.Load())
}

// pause waits for d and reports whether ctx goes on.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
