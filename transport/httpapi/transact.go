package httpapi

import (
	"context"
	"crypto/rand"
	mathrand "math/rand/v2"
	"time"

	"github.com/ringraft/ringraft/op"
)

// minPause and maxPause bound the pauses between the tries of a transaction over several
// groups, which double.
const (
	minPause = 5 * time.Millisecond
	maxPause = 200 * time.Millisecond
)

// changeAll does a transaction. One whose keys belong to several groups gets an id, and
// another one for each try: what is refused since a group cannot be reached, or others
// have locked a key, has done nothing and is tried again while there is time.
func (c *call) changeAll(txn op.Txn) op.Result {
	if !c.spans(txn) {
		return c.change(txn)
	}
	for try := 0; ; try++ {
		txn.ID = make([]byte, op.TxnIDSize)
		_, _ = rand.Read(txn.ID) // it never fails
		res := c.server.cfg.Node.Do(c.ctx, op.Request{Op: txn})
		if res.Err == nil {
			c.noteAll(res.Detail)
			return res
		}
		again := res.Err.Kind == op.KindLocked || res.Err.Kind == op.KindUnavailable
		if !again || pause(c.ctx, try) != nil {
			return res
		}
	}
}

// spans reports whether the keys of a transaction belong to several groups. Without
// an else, that is: with one, they must not.
func (c *call) spans(txn op.Txn) bool {
	if txn.NumSlots() == 0 || len(txn.Else) > 0 {
		return false
	}
	group := c.server.cfg.Node.Group(txn.Slot(0))
	for i := range txn.NumSlots() {
		if c.server.cfg.Node.Group(txn.Slot(i)) != group {
			return true
		}
	}
	return false
}

// noteAll notes the indexes at which groups show a transaction over several of them. A
// group that did not answer in time is missing: session reads may not show it yet.
func (c *call) noteAll(detail []byte) {
	var shown []op.GroupIndex
	if op.DecodeDetail(detail, &shown) != nil {
		return // the transaction is done all the same
	}
	for _, at := range shown {
		c.seen.note(at.Group, at.Index)
	}
}

// pause waits after a try, unless ctx ends.
func pause(ctx context.Context, try int) error {
	longest := min(minPause<<min(try, 10), maxPause)
	timer := time.NewTimer(longest/2 + mathrand.N(longest/2))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
