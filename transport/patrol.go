package transport

import (
	"context"
	"slices"
	"time"

	"github.com/ringraft/ringraft/op"
)

// patrolPause is the least time between two looks for calls that are overdue.
const patrolPause = 5 * time.Millisecond

// watch sees to it that the patrol comes once until has passed. The caller holds mu.
func (c *Conn) watch(until time.Time) {
	if until.IsZero() || !c.patrolAt.IsZero() && !until.Before(c.patrolAt) {
		return
	}
	c.patrolAt = until
	c.patrol.Reset(time.Until(until))
}

// patrolNow gives up the calls that are overdue: one timer serves all calls of a
// connection. What abandon says of ids holds here too.
func (c *Conn) patrolNow() {
	now := time.Now()
	var next time.Time // when the next call is due
	overdue := func(cl *call) bool {
		if cl == nil || cl.until.IsZero() {
			return false
		}
		late := !now.Before(cl.until)
		if !late && (next.IsZero() || cl.until.Before(next)) {
			next = cl.until
		}
		return late
	}
	var waiting, sent []*call

	c.mu.Lock()
	c.queue = slices.DeleteFunc(c.queue, func(cl *call) bool {
		late := overdue(cl)
		if late {
			waiting = append(waiting, cl)
		}
		return late
	})
	for id, cl := range c.sent {
		if overdue(cl) {
			c.sent[id] = nil
			sent = append(sent, cl)
		}
	}
	c.patrolAt = time.Time{}
	if earliest := now.Add(patrolPause); !next.IsZero() && next.Before(earliest) {
		next = earliest
	}
	c.watch(next)
	c.unlock()

	for _, cl := range waiting {
		cl.complete(op.Result{}, notTaken(cl.code, context.DeadlineExceeded))
	}
	for _, cl := range sent {
		cl.complete(op.Result{}, unanswered(cl.code, context.DeadlineExceeded))
	}
}
