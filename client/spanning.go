package client

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ringraft/ringraft/op"
)

// TxnID names a transaction whose keys belong to several groups, to any client of the
// cluster. Each is used once.
type TxnID struct {
	home uint16 // the slot whose group decides
	id   [op.TxnIDSize]byte
}

// String returns the id as text, for ParseTxnID.
func (id TxnID) String() string { return fmt.Sprintf("%03x-%x", id.home, id.id) }

// ParseTxnID returns the id that text stands for, and refuses any other text.
func ParseTxnID(text string) (TxnID, error) {
	var id TxnID
	n, err := fmt.Sscanf(text, "%03x-", &id.home)
	if err == nil && n == 1 && len(text) == 4+2*op.TxnIDSize {
		_, err = hex.Decode(id.id[:], []byte(text[4:]))
	}
	if err != nil || id.String() != text || id.home >= op.Slots {
		return TxnID{}, op.Invalid("id", "is no transaction's id, as %s", TxnID{}.String())
	}
	return id, nil
}

func txnIDOf(o op.Txn) TxnID {
	id := TxnID{home: o.Home()}
	copy(id.id[:], o.ID)
	return id
}

// TxnOutcome is what became of a transaction.
type TxnOutcome uint8

// The outcomes of transactions.
const (
	// TxnUndecided: it is under way, or nobody remembers it. What was committed is
	// remembered for an hour, in a group with few transactions.
	TxnUndecided TxnOutcome = TxnOutcome(op.Undecided)
	TxnCommitted TxnOutcome = TxnOutcome(op.Committed)
	TxnAborted   TxnOutcome = TxnOutcome(op.Aborted)
)

// String returns the outcome's name.
func (o TxnOutcome) String() string { return op.Outcome(o).String() }

// GetTxn tells what became of a transaction over several groups, of which the id comes
// from an [UnknownOutcomeError]. Its answers are linearizable: a committed transaction
// is seen by all later linearizable reads.
func (c *Client) GetTxn(ctx context.Context, id TxnID) (TxnOutcome, error) {
	res, err := c.do(ctx, op.GetTxn{ID: id.id[:], Home: id.home}, Linearizable)
	return TxnOutcome(res.Number), err
}

// spans reports whether o is a transaction that may span groups.
func spans(o op.Op) bool {
	t, ok := o.(op.Txn)
	return ok && t.Spans()
}

// doSpanning does a transaction over several groups. Each attempt has an id of its own,
// by which its outcome can be asked for when its answer is lost: then the transaction
// is repeated only if it was aborted, or could be.
func (c *Client) doSpanning(ctx context.Context, o op.Txn) (op.Result, error) {
	if len(o.Else) > 0 {
		return op.Result{}, op.Invalid("else", "cannot be part of a transaction whose keys belong to several groups; give them the same {tag}")
	}
	ctx, cancel := c.limited(ctx)
	defer cancel()
	for {
		a := c.attempts(freshTxn(o), Local)
		res, err := a.run(ctx)
		switch {
		case err == nil:
			return res, c.seeAll(ctx, a.req.Op.(op.Txn), res.Detail)
		case !errors.Is(err, ErrUnknownOutcome):
			return op.Result{}, err
		}
		sent := a.req.Op.(op.Txn)
		switch c.settleTxn(ctx, txnIDOf(sent), a.sent) {
		case TxnCommitted:
			return op.Result{}, c.seeAll(ctx, sent, nil)
		case TxnUndecided:
			return op.Result{}, &UnknownOutcomeError{Ticket: c.txnTicket(sent), reason: err}
		}
	}
}

// freshTxn returns o with a new id.
func freshTxn(o op.Txn) op.Txn {
	o.ID = make([]byte, op.TxnIDSize)
	rand.Read(o.ID) // never fails
	return o
}

func (c *Client) txnTicket(o op.Txn) Ticket {
	return Ticket{Cluster: c.cluster, Group: c.table.Load().slots[o.Home()].id, Operation: op.Append(nil, o)}
}

const (
	// settlePatience is for how long a transaction without an answer may go on before
	// its caller has it aborted: longer than one takes, but for faults.
	settlePatience = time.Second
	// settleLimit is how long after it was sent a transaction can be aborted. Later it
	// could have been committed and forgotten.
	settleLimit = op.TxnLateness / 2 * time.Millisecond
)

// settleTxn asks until the transaction is decided, and after a while has it aborted,
// unless it was sent too long ago. It is undecided only if ctx ends.
func (c *Client) settleTxn(ctx context.Context, id TxnID, sent time.Time) TxnOutcome {
	begun := time.Now()
	for try := 0; ctx.Err() == nil && c.ctx.Err() == nil; try++ {
		outcome, err := c.GetTxn(ctx, id)
		if err == nil && outcome == TxnUndecided && time.Since(begun) >= settlePatience {
			outcome, err = c.abortTxn(ctx, id, settleLimit-age(sent))
		}
		if err == nil && outcome != TxnUndecided {
			return outcome
		}
		c.sleep(ctx, c.backoff.after(try))
	}
	return TxnUndecided
}

// abortTxn has a transaction aborted unless it is decided. It does not ask for longer
// than within, since the request must not come late either.
func (c *Client) abortTxn(ctx context.Context, id TxnID, within time.Duration) (TxnOutcome, error) {
	if within <= 0 {
		return TxnUndecided, nil
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	res, err := c.do(ctx, op.AbortTxn{ID: id.id[:], Home: id.home}, Local)
	return TxnOutcome(res.Number), err
}

// age returns how long ago at was, by the clock that says more: the monotonic one
// stands still while a machine sleeps, and the wall clock can be set back.
func age(at time.Time) time.Duration {
	now := time.Now()
	return max(now.Sub(at), now.Round(0).Sub(at.Round(0)))
}

// seeAll notes the indexes at which the groups show a committed transaction, so that
// reads at Session do, too. A group that the answer does not name is read, which waits
// until it has finished its part; without an answer, all are.
func (c *Client) seeAll(ctx context.Context, o op.Txn, answer []byte) error {
	var shown []op.GroupIndex
	if len(answer) > 0 {
		if err := op.DecodeDetail(answer, &shown); err != nil {
			return fmt.Errorf("the transaction is committed, but its answer is damaged: %w", err)
		}
	}
	seen := map[uint64]bool{}
	c.mu.Lock()
	for _, at := range shown {
		seen[at.Group] = true
		c.accountLocked(at.Group).see(at.Index)
	}
	c.mu.Unlock()
	for _, part := range o.Then {
		group := c.table.Load().slots[part.(op.Routed).Slot(0)].id
		if _, writes := part.(op.Write); !writes || seen[group] {
			continue
		}
		seen[group] = true
		// The answer's index is noted. If there is none in time, the transaction is committed all the same.
		_, _ = c.do(ctx, op.Stat{Key: op.Keys(part)[0]}, Linearizable)
	}
	return nil
}

// Txn returns the id of the transaction over several groups that the ticket is of.
func (t Ticket) Txn() (id TxnID, ok bool) {
	o, ok := t.spanning()
	if !ok {
		return TxnID{}, false
	}
	return txnIDOf(o), true
}

func (t Ticket) spanning() (op.Txn, bool) {
	o, err := op.Decode(slices.Clone(t.Operation))
	if err != nil || !spans(o) || o.Check(localLimits) != nil {
		return op.Txn{}, false
	}
	return o.(op.Txn), true
}

// resolveTxn is Resolve for a transaction over several groups, which it does not repeat.
func (c *Client) resolveTxn(ctx context.Context, t Ticket, o op.Txn) (Resolution, error) {
	ctx, cancel := c.limited(ctx)
	defer cancel()
	switch c.settleTxn(ctx, txnIDOf(o), time.Time{}) {
	case TxnCommitted:
		return Resolution{Txn: TxnResult{Met: true}}, c.seeAll(ctx, o, nil)
	case TxnAborted:
		return Resolution{}, op.Unavailable("the transaction was aborted: nothing happened")
	}
	return Resolution{}, &UnknownOutcomeError{Ticket: t, reason: op.Unavailable("the transaction is not decided, or forgotten")}
}
