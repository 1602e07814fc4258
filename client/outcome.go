package client

import (
	"context"
	"errors"
	"fmt"

	"github.com/ringraft/ringraft/internal/sealed"
	"github.com/ringraft/ringraft/op"
)

// UnknownOutcomeError is how a write ends that may or may not have been applied, when
// the time to find out is over. It matches ErrUnknownOutcome and, if a context ended,
// that context's error.
type UnknownOutcomeError struct {
	Ticket Ticket // for Client.Resolve
	reason error
}

func (e *UnknownOutcomeError) Error() string {
	if id, ok := e.Ticket.Txn(); ok {
		return fmt.Sprintf("%v of transaction %v: %v", ErrUnknownOutcome, id, e.reason)
	}
	return fmt.Sprintf("%v of write %d in session %d of group %d: %v",
		ErrUnknownOutcome, e.Ticket.Sequence, e.Ticket.Session, e.Ticket.Group, e.reason)
}

// Is reports whether target is ErrUnknownOutcome, or of the reason a context's error or
// ErrSessionEnded. That the last attempt found nobody does not make the write ErrUnavailable.
func (e *UnknownOutcomeError) Is(target error) bool {
	switch target {
	case ErrUnknownOutcome:
		return true
	case context.Canceled, context.DeadlineExceeded, ErrSessionEnded, ErrClosed:
		return errors.Is(e.reason, target)
	}
	return false
}

// Ticket names a write of which the outcome is unknown, so that any client of the
// cluster can ask again, in whatever process.
type Ticket struct {
	Cluster   string `codec:"cluster"`
	Group     uint64 `codec:"group"`
	Session   uint64 `codec:"session"`
	Sequence  uint64 `codec:"sequence"`
	Operation []byte `codec:"operation"` // encoded
}

// TicketPrefix is what the text of every ticket starts with.
const TicketPrefix = "ringraft-ticket."

// maxTicket bounds the text of a ticket, in bytes: base64 of the longest request.
const maxTicket = op.MaxMessage/3*4 + 4<<10

// String returns the ticket as text, which starts with TicketPrefix, for ParseTicket. It holds the write's key
// and value.
func (t Ticket) String() string { return sealed.Seal(TicketPrefix, t) }

// ParseTicket returns the ticket that text stands for, and refuses any other text.
func ParseTicket(text string) (t Ticket, err error) {
	if err := sealed.Unseal("ticket", TicketPrefix, text, maxTicket, &t); err != nil {
		return Ticket{}, err
	}
	return t, nil
}

// Resolution is what a write came to; which field tells depends on the call.
type Resolution struct {
	Answer           // Set, Delete, Expire, Persist, Add
	Keys   []Result  // SetMany, DeleteMany: those of the batch
	Txn    TxnResult // Txn, UpdateMany
}

// Resolve asks for the outcome of a ticket's write, by repeating it. If the write was
// applied, its first answer comes back, and nothing happens again. If it never arrived,
// it is done now. That the key was absent is no error here, as Answer.Found tells it; a
// condition that did not hold is a [ConditionError], as it was.
//
// A transaction over several groups is not repeated: the error matches ErrUnavailable if
// it was aborted.
//
// Once the session has ended, because no write used it for its time to live, or the
// answer has been asked for and forgotten, nobody can tell: the error matches
// ErrUnknownOutcome, as it does if ctx ends first.
func (c *Client) Resolve(ctx context.Context, t Ticket) (Resolution, error) {
	if o, ok := t.spanning(); ok && t.Cluster == c.cluster {
		return c.resolveTxn(ctx, t, o)
	}
	a, err := c.resolution(t)
	if err != nil {
		return Resolution{}, err
	}
	res, err := a.run(ctx)
	switch {
	case forgotten(err):
		return Resolution{}, &UnknownOutcomeError{Ticket: t, reason: err}
	case errors.Is(err, ErrUnknownOutcome):
		return Resolution{}, err
	}
	a.group.account.sessions.Recover(t.Session, t.Sequence)
	switch {
	case err != nil:
		return Resolution{}, err
	case res.Unmet && a.req.Op.Code() != op.CodeTxn:
		return Resolution{}, unmet("", res)
	}
	return newResolution(a.req.Op, res), nil
}

// resolution returns the state of a call that repeats the ticket's write.
func (c *Client) resolution(t Ticket) (*attempts, error) {
	if t.Cluster != c.cluster {
		return nil, op.Invalid("ticket", "is of cluster %q; this one is %q", t.Cluster, c.cluster)
	}
	o, err := op.Decode(t.Operation)
	switch {
	case err != nil:
		return nil, op.Invalid("ticket", "holds no operation: %v", err)
	case !op.Numbered(o) || t.Session == 0 || t.Sequence == 0:
		return nil, op.Invalid("ticket", "holds no write of a session")
	}
	if err := o.Check(localLimits); err != nil {
		return nil, err
	}
	a := c.attempts(o, Local)
	a.doubtful = true
	a.req.Session, a.req.Sequence = t.Session, t.Sequence
	c.mu.Lock()
	a.account = c.accountLocked(t.Group)
	c.mu.Unlock()
	return a, nil
}

// forgotten reports whether err says that the answer to a sequence has been forgotten.
func forgotten(err error) bool {
	var e *op.Error
	return errors.As(err, &e) && e.Kind == op.KindInvalid && e.Field == "sequence"
}

func newResolution(o op.Op, res op.Result) Resolution {
	r := Resolution{Answer: newAnswer(res)}
	if o.Code() == op.CodeTxn {
		r.Txn = newTxnResult(res)
		return r
	}
	for _, it := range res.Items {
		r.Keys = append(r.Keys, newResult(it))
	}
	return r
}
