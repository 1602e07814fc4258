package client

import (
	"context"
	"errors"
	"time"

	"github.com/ringraft/ringraft/internal/session"
	"github.com/ringraft/ringraft/op"
)

// sit takes a seat in a session with the group, or pauses if there is none for now.
func (a *attempts) sit(ctx context.Context) error {
	place, err := a.place(ctx)
	switch {
	case errors.Is(err, op.ErrOutOfMemory) && onlyRemoves(a.req.Op):
		// It is to make the room that a session would need: done at most once, without.
		a.numbered, a.repeatable = false, false
		return nil
	case err != nil:
		return err
	case place.Session == nil:
		a.reason = op.Unavailable("%d writes to group %d wait for their answers; that is the most", op.MaxUnacknowledged, a.group.id)
		a.pause(ctx)
		return a.ended(ctx)
	}
	a.seat, a.account = place, a.group.account
	a.req.Session, a.req.Sequence, a.req.Acknowledged = place.Session.ID, place.Sequence, place.Acknowledged
	return nil
}

// place takes a seat in a session, which may have to be opened. If all are taken, it
// returns the zero one.
func (a *attempts) place(ctx context.Context) (session.Seat, error) {
	sessions := &a.group.account.sessions
	if place, ok := sessions.Try(); ok {
		return place, nil
	}
	ctx, cancel := context.WithDeadline(ctx, a.end)
	defer cancel()
	place, err := sessions.Take(ctx, func(ctx context.Context) (uint64, error) {
		return a.client.openSession(ctx, a.req.Op.(op.Routed).Slot(0), a.group.id)
	})
	a.now = time.Now()
	return place, err
}

func onlyRemoves(o op.Op) bool { return o.Code() == op.CodeDelete || o.Code() == op.CodeMDelete }

// resit gives up the seat in a session that has ended. If an earlier attempt may have
// been applied, nobody can tell any more: a second seat could be a second execution.
func (a *attempts) resit(ended *op.Error) error {
	if a.doubtful {
		return a.outcome(ended)
	}
	a.account.sessions.Drop(a.seat.Session)
	a.leave()
	a.walk.named = a.node
	return nil
}

// leave gives the seat up. Unless there is doubt, nobody will ever ask for its answer.
func (a *attempts) leave() {
	switch {
	case a.seat.Session == nil:
	case a.doubtful:
		a.seat.Session.Lose()
	default:
		a.seat.Session.Settle(a.seat.Sequence)
	}
	a.seat, a.account = session.Seat{}, nil
	a.req.Session, a.req.Sequence, a.req.Acknowledged = 0, 0, 0
}

// openSession opens a session with the group, on one of its slots.
func (c *Client) openSession(ctx context.Context, slot uint16, group uint64) (id uint64, err error) {
	a := c.attempts(op.OpenSession{OnSlot: slot, TTL: c.cfg.SessionTTL.Milliseconds()}, Local)
	res, err := a.run(ctx)
	if err == nil && a.group.id != group {
		err = op.Unavailable("slot %d has moved from group %d to %d meanwhile", slot, group, a.group.id)
	}
	return uint64(res.Number), err
}

// EndSessions ends the sessions in which this client writes, for which the cluster would
// keep memory for SessionTTL more. It is for a client that is soon closed; later writes
// open sessions anew. A session with a write that is under way, or of unknown outcome,
// goes on, so that its ticket can be resolved.
func (c *Client) EndSessions(ctx context.Context) error {
	var errs []error
	for slot, account := range c.accountsBySlot() {
		for _, id := range account.sessions.Retire() {
			_, err := c.do(ctx, op.CloseSession{OnSlot: slot, Session: id}, Local)
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// accountsBySlot returns the accounts with all groups, each by one of the group's slots.
func (c *Client) accountsBySlot() map[uint16]*account {
	bySlot, known := map[uint16]*account{}, map[*account]bool{}
	for slot, group := range c.table.Load().slots {
		if a := group.account; !known[a] {
			known[a] = true
			bySlot[uint16(slot)] = a
		}
	}
	return bySlot
}

// outcome returns err, why the call ends, as what it means for its effect.
func (a *attempts) outcome(err error) error {
	if !a.doubtful {
		return err
	}
	return &UnknownOutcomeError{Ticket: a.ticket(), reason: err}
}

func (a *attempts) ticket() Ticket {
	return Ticket{
		Cluster: a.client.cluster, Group: a.account.group, Session: a.req.Session, Sequence: a.req.Sequence,
		Operation: op.Append(nil, a.req.Op),
	}
}
