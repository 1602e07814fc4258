package resp

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/ringraft/ringraft/internal/backoff"
	"github.com/ringraft/ringraft/op"
)

const (
	// maxAttempts is how often a transaction is tried that loses against others.
	maxAttempts = 64
	// minPause and maxPause bound the pause, drawn at random, before it is tried again.
	minPause = time.Millisecond
	maxPause = 64 * time.Millisecond
	// settlePatience is for how long a transaction without an answer may go on before it
	// is aborted: longer than one takes, but for faults.
	settlePatience = time.Second
	// settleLimit is how long after it was sent a transaction can be aborted. Later it
	// could have been committed and forgotten.
	settleLimit = op.TxnLateness / 2 * time.Millisecond
)

const (
	// errWatch is why a transaction did not happen whose watched keys have changed.
	errWatch = failure("a watched key has changed")
	// errContention is why one did not that lost against others every time.
	errContention = failure("TRYAGAIN other transactions changed the same keys each time this one was tried")
)

// transact carries out body as a transaction, as often as it takes. watched are keys with
// the versions that must still stand there; if they do not, the error is errWatch. Another
// error is body's own, or says why nothing happened, or that this is unknown.
func (c *conn) transact(watched map[string]uint64, r *reply, body func(t *attempt, r *reply) error) error {
	ctx, cancel := c.limited()
	defer cancel()
	start := len(r.b)
	lost := errContention // why the newest attempt did not hold
	for try := range maxAttempts {
		r.b = r.b[:start]
		t := c.newAttempt(ctx, try > 0 || c.session.level != op.Session)
		err := body(t, r)
		switch {
		case t.err != nil:
			return failureOf(t.err)
		case err != nil:
			return err
		}
		txn, needed := t.txn(watched)
		switch {
		case !needed && t.latest && !t.newest:
			continue
		case !needed:
			return nil
		}
		res := c.commit(ctx, txn)
		switch {
		case res.Err == nil && !res.Unmet:
			return nil
		case res.Err == nil && lostWatch(watched, res.Items):
			return errWatch
		case res.Err != nil && !worthARetry(res.Err.Kind):
			return failureOf(res.Err)
		}
		if lost = errContention; res.Err != nil {
			lost = failureOf(res.Err)
		}
		if (backoff.Backoff{Min: minPause, Max: maxPause}).Pause(ctx, try) != nil {
			break
		}
	}
	return lost
}

// newest reads what is the latest.
func (c *conn) newest(ctx context.Context, o op.Read) op.Result {
	res := c.server.cfg.Node.Do(ctx, op.Request{Op: o, Level: op.Linearizable})
	c.session.seen.note(c.server.cfg.Node.Group(o.Slot(0)), res.Index)
	return res
}

// lostWatch reports whether one of the keys that stand otherwise than compared is watched.
func lostWatch(watched map[string]uint64, standing []op.Item) bool {
	for _, it := range standing {
		if version, ok := watched[string(it.Key)]; ok && version != it.Version {
			return true
		}
	}
	return false
}

// commit carries out a transaction. One that spans groups, whose answer is lost, is
// asked for; its results are lost then.
func (c *conn) commit(ctx context.Context, txn op.Txn) op.Result {
	first := c.server.cfg.Node.Group(txn.Slot(0))
	for i := range txn.NumSlots() {
		if c.server.cfg.Node.Group(txn.Slot(i)) != first {
			return c.commitSpanning(ctx, txn)
		}
	}
	return c.do(ctx, txn)
}

func (c *conn) commitSpanning(ctx context.Context, txn op.Txn) op.Result {
	txn.ID = make([]byte, op.TxnIDSize)
	_, _ = rand.Read(txn.ID) // never fails
	sent := time.Now()
	res := c.server.cfg.Node.Do(ctx, op.Request{Op: txn})
	if res.Err != nil && res.Err.Kind == op.KindUnknown {
		res = c.settle(txn, sent)
	}
	if res.Err == nil && !res.Unmet {
		c.seeAll(ctx, txn, res.Detail)
	}
	return res
}

// settle finds out what became of a transaction, and aborts it if nothing does.
func (c *conn) settle(txn op.Txn, sent time.Time) op.Result {
	ctx, cancel := context.WithDeadline(c.ctx, sent.Add(settleLimit))
	defer cancel()
	for try := 0; ; try++ {
		res := c.newest(ctx, op.GetTxn{ID: txn.ID, Home: txn.Home()})
		if res.Err == nil && res.Number == int64(op.Undecided) && time.Since(sent) > settlePatience {
			res = c.do(ctx, op.AbortTxn{ID: txn.ID, Home: txn.Home()})
		}
		switch {
		case res.Err == nil && res.Number == int64(op.Committed):
			return op.Result{}
		case res.Err == nil && res.Number == int64(op.Aborted):
			return op.Fail(op.Unavailable("the transaction was aborted"))
		case (backoff.Backoff{Min: minPause, Max: maxPause}).Pause(ctx, try) != nil:
			return op.Fail(op.UnknownOutcome("the transaction's home group does not tell its decision"))
		}
	}
}

// seeAll notes the indexes at which the groups show a committed transaction. A group
// that the answer does not name is read, which waits until it has done its part.
func (c *conn) seeAll(ctx context.Context, txn op.Txn, answer []byte) {
	var shown []op.GroupIndex
	seen := map[uint64]bool{}
	if len(answer) > 0 && op.DecodeDetail(answer, &shown) == nil {
		for _, at := range shown {
			seen[at.Group] = true
			c.session.seen.note(at.Group, at.Index)
		}
	}
	for _, part := range txn.Then {
		group := c.server.cfg.Node.Group(part.(op.Routed).Slot(0))
		if _, writes := part.(op.Write); !writes || seen[group] {
			continue
		}
		seen[group] = true
		// If there is no answer in time, the transaction is committed all the same.
		_ = c.newest(ctx, op.Stat{Key: op.Keys(part)[0]})
	}
}
