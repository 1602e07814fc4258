package clerk

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/ringraft/ringraft/internal/backoff"
	"github.com/ringraft/ringraft/internal/session"
	"github.com/ringraft/ringraft/op"
)

const (
	// maxSessions bounds the sessions with a group, each of which has room for
	// op.MaxUnacknowledged writes without an answer.
	maxSessions = 4
	// sessionTTL is how long a group keeps a session without a write.
	sessionTTL = 5 * time.Minute
	// refusedFor is how long no session is asked for after a group had no room for one.
	refusedFor = time.Second
)

// errNoSession is why a write goes without a number: its group has as many sessions as it
// can have, or no memory for another one.
var errNoSession = errors.New("the group takes no more sessions")

// desk is where the writes to a group get their numbers.
type desk struct {
	clerk   *Clerk
	group   uint64
	pool    session.Pool
	refused atomic.Int64 // until when no session is asked for, ms since the Unix epoch
}

// desk returns that of a group.
func (c *Clerk) desk(group uint64) *desk {
	c.desksMu.RLock()
	d := c.desks[group]
	c.desksMu.RUnlock()
	if d != nil {
		return d
	}
	c.desksMu.Lock()
	defer c.desksMu.Unlock()
	if d = c.desks[group]; d == nil {
		d = &desk{clerk: c, group: group, pool: session.Pool{Most: maxSessions}}
		c.desks[group] = d
	}
	return d
}

// take returns a seat, or why there is none now. slot is one of the group's.
func (d *desk) take(ctx context.Context, slot uint16) (session.Seat, error) {
	switch place, ok := d.pool.Try(); {
	case ok:
		return place, nil
	case d.group == 0:
		return session.Seat{}, op.Unavailable("the cluster has no map yet")
	case time.Now().UnixMilli() < d.refused.Load():
		return session.Seat{}, errNoSession
	}
	place, err := d.pool.Take(ctx, func(ctx context.Context) (uint64, error) { return d.open(ctx, slot) })
	switch {
	case errors.Is(err, errNoSession):
		d.refused.Store(time.Now().Add(refusedFor).UnixMilli())
	case err == nil && place.Session == nil:
		err = op.Unavailable("%d writes to group %d wait for their answers; that is the most", maxSessions*op.MaxUnacknowledged, d.group)
	}
	return place, err
}

// open opens a session. An opening without an answer is repeated: a session that nobody
// uses ends.
func (d *desk) open(ctx context.Context, slot uint16) (id uint64, err error) {
	o := op.OpenSession{OnSlot: slot, TTL: sessionTTL.Milliseconds()}
	for try := 0; ; try++ {
		res := d.clerk.cfg.Node.Do(ctx, op.Request{Op: o})
		switch {
		case d.clerk.cfg.Node.GroupOf(slot) != d.group:
			return 0, op.Unavailable("slot %d has another group now", slot)
		case res.Err == nil:
			return uint64(res.Number), nil
		case res.Index != 0: // the group's own answer
			return 0, errNoSession
		case res.Err.Kind != op.KindUnknown || pauses.Pause(ctx, try) != nil:
			return 0, op.Unavailable("opening a session: %v", res.Err)
		}
	}
}

// pauses are those between tries.
var pauses = backoff.Backoff{Min: 5 * time.Millisecond, Max: 200 * time.Millisecond}
