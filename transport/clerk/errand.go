package clerk

import (
	"context"
	"errors"
	"time"

	"github.com/ringraft/ringraft/internal/session"
	"github.com/ringraft/ringraft/op"
)

// errand is a write on its way. Its first try is made where it came in, and the errand
// takes the answer; if that is none, it goes on from a goroutine of its own.
type errand struct {
	clerk *Clerk
	req   op.Request
	raw   []byte     // the memory of req.Raw
	reply op.Replier // nil: the caller of run gets the answer
	until time.Time  // when its time is over, with reply

	desk  *desk
	seat  session.Seat // the zero one before it has one, or while its group has none
	doubt *op.Error    // why an earlier try may have been done; nil: none may
}

// maxSpareRaw is the most memory that an errand keeps for the next one, in bytes.
const maxSpareRaw = 4 << 10

// errand returns one for a write. Its last user frees it.
func (c *Clerk) errand(req op.Request) *errand {
	e, ok := c.spare.Get().(*errand)
	if !ok {
		e = &errand{clerk: c}
	}
	e.req = req
	return e
}

// free gives the errand back, which nobody uses any more.
func (e *errand) free() {
	if cap(e.raw) > maxSpareRaw {
		e.raw = nil
	}
	*e = errand{clerk: e.clerk, raw: e.raw}
	e.clerk.spare.Put(e)
}

// answer ends an errand that has a reply.
func (e *errand) answer(res op.Result) {
	reply := e.reply
	e.leave()
	e.free()
	reply.Reply(res)
}

// slot returns one of the write's slots. All are of one group.
func (e *errand) slot() uint16 { return e.req.Op.(op.Routed).Slot(0) }

// sitAtOnce takes a seat if one is free.
func (e *errand) sitAtOnce() bool {
	d := e.clerk.desk(e.clerk.cfg.Node.GroupOf(e.slot()))
	place, ok := d.pool.Try()
	if ok {
		e.number(d, place)
	}
	return ok
}

// number puts the write at its place in a session; the zero one is none.
func (e *errand) number(d *desk, place session.Seat) {
	e.desk, e.seat = d, place
	e.req.Session, e.req.Sequence, e.req.Acknowledged = 0, 0, 0
	if place.Session != nil {
		e.req.Session, e.req.Sequence, e.req.Acknowledged = place.Session.ID, place.Sequence, place.Acknowledged
	}
	e.raw = op.AppendCommand(e.raw[:0], e.req.Command())
	e.req.Raw = e.raw
}

// Reply takes the answer to the first try.
func (e *errand) Reply(res op.Result) {
	if res.Err != nil && !e.final(res.Err) {
		e.goOn(kept(res.Err))
		return
	}
	e.answer(res)
}

// final reports whether a first try that failed so is the last one.
func (e *errand) final(err *op.Error) bool {
	switch err.Kind {
	case op.KindWrongNode, op.KindUnavailable, op.KindLocked, op.KindUnknown:
		return false
	}
	return !sessionFails(err)
}

// sessionFails reports whether a try has failed for its session alone, which has ended, or
// for whose answer the group has no memory: another one, or none, can do.
func sessionFails(err *op.Error) bool {
	return err.Kind == op.KindSessionEnded || err.Kind == op.KindOutOfMemory && err.Field == op.FieldSession
}

// goOn leaves the rest to a goroutine. reason is why there is no answer yet, and becomes
// the answer if there are too many of them.
func (e *errand) goOn(reason *op.Error) {
	e.learn(reason)
	if !e.clerk.start(e.until, func(ctx context.Context) { e.answer(e.run(ctx)) }) {
		e.answer(op.Fail(reason))
	}
}

// learn draws the lesson from a try that failed for reason. Where there is no memory for
// an answer the write goes without a number: it may be what makes room.
func (e *errand) learn(reason *op.Error) {
	d := e.desk
	switch {
	case reason.Kind == op.KindUnknown:
		e.doubt = reason
	case e.doubt != nil || !sessionFails(reason):
	case reason.Kind == op.KindSessionEnded:
		d.pool.Drop(e.seat.Session)
		e.leave()
	default:
		e.leave()
		e.number(d, session.Seat{})
	}
}

// run returns the outcome. A session that fails gives way to another one, or to none,
// unless an earlier try may have been done: nobody could tell any more.
func (e *errand) run(ctx context.Context) op.Result {
	defer e.leave()
	for try := 0; ; try++ {
		if err := e.sit(ctx); err != nil {
			return e.outcome(op.Fail(err))
		}
		res := e.clerk.cfg.Node.Do(ctx, e.req)
		switch {
		case res.Err != nil && sessionFails(res.Err) && e.doubt == nil:
			e.learn(res.Err)
		case e.doubt == nil || !res.OfThisTry():
			return e.outcome(res)
		}
		if pauses.Pause(ctx, try) != nil {
			return e.outcome(res)
		}
	}
}

// outcome is what the answer to the last try means for all of them: where an earlier one
// may have been done, a refusal of this one alone does not tell.
func (e *errand) outcome(res op.Result) op.Result {
	if e.doubt == nil || res.Err == nil {
		return res
	}
	if res.OfThisTry() || res.Err.Is(op.ErrUnavailable) || res.Err.Kind == op.KindSessionEnded {
		return op.Fail(e.doubt)
	}
	return res
}

// sit sees to it that the write has a seat with the group that it belongs to, or goes
// without: where its group takes no more sessions, it is done at most once, as it is.
func (e *errand) sit(ctx context.Context) *op.Error {
	for try := 0; ; try++ {
		d := e.clerk.desk(e.clerk.cfg.Node.GroupOf(e.slot()))
		switch {
		case e.desk == d:
			return nil
		case e.doubt != nil:
			return op.Unavailable("the keys have another group now, which cannot tell")
		}
		e.leave()
		place, err := d.take(ctx, e.slot())
		if err == nil || errors.Is(err, errNoSession) {
			e.number(d, place)
			return nil
		}
		if pauses.Pause(ctx, try) != nil {
			return op.Unavailable("%v", err)
		}
	}
}

// leave gives the seat up. Nobody will ask for the answer any more: a try that comes late
// finds its number acknowledged, and does nothing.
func (e *errand) leave() {
	if e.seat.Session != nil {
		e.seat.Session.Settle(e.seat.Sequence)
	}
	e.desk, e.seat = nil, session.Seat{}
}
