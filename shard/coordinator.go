package shard

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/ringraft/ringraft/internal/mutant"
	"github.com/ringraft/ringraft/op"
	"github.com/ringraft/ringraft/placement"
)

const (
	// maxTxns is how many transactions a node coordinates at once.
	maxTxns = 256
	// txnWork is for how long an attempt tries to prepare. What is left of its patience
	// is for the decision.
	txnWork = op.TxnPatience / 2 * time.Millisecond
)

// serveTxn coordinates a transaction with an id from a goroutine of its own.
func (n *Node) serveTxn(m *placement.Map, o op.Txn, reply op.Replier) {
	if m.Epoch == 0 {
		reply.Reply(op.Fail(op.Unavailable("the cluster has no map yet")))
		return
	}
	select {
	case n.txns <- struct{}{}:
	default:
		reply.Reply(op.Fail(op.Unavailable("%d transactions are under way already", maxTxns)))
		return
	}
	started := n.background.start(func() {
		defer func() { <-n.txns }()
		reply.Reply(n.newCoordinator(m, o).run(n.ctx))
	})
	if !started {
		<-n.txns
		reply.Reply(op.Fail(op.Unavailable("the node is stopping")))
	}
}

// coordinator carries one attempt at a transaction through. Until it has asked the home
// group to commit, it may drop the attempt by itself; from then on only that group's
// answer counts. If it dies, the groups' leaders end the attempt: see resolve.
type coordinator struct {
	node    *Node
	attempt op.Attempt
	home    *txnPart
	others  []*txnPart
	ops     int // in all parts

	mu      sync.Mutex
	indexes []op.GroupIndex // at which a group shows what it did, of those that have told
}

// txnPart is what a transaction does in one group.
type txnPart struct {
	group    uint64
	slot     uint16
	compares []op.Compare
	ops      []op.Op
	places   []int // of ops in the transaction

	results  []op.Result
	versions []op.Item
}

func (n *Node) newCoordinator(m *placement.Map, o op.Txn) *coordinator {
	c := &coordinator{
		node: n, ops: len(o.Then),
		attempt: op.Attempt{ID: o.ID, Number: rand.Uint64(), Home: o.Home(), Deadline: n.cfg.Clock() + op.TxnPatience},
	}
	c.home = &txnPart{group: m.GroupOf(c.attempt.Home), slot: c.attempt.Home}
	for i, compare := range o.Compares {
		p := c.part(m, o.Slot(i))
		p.compares = append(p.compares, compare)
	}
	for i, part := range o.Then {
		p := c.part(m, o.Slot(len(o.Compares)+i))
		p.ops, p.places = append(p.ops, part), append(p.places, i)
	}
	return c
}

// part returns the part of slot's group.
func (c *coordinator) part(m *placement.Map, slot uint16) *txnPart {
	group := m.GroupOf(slot)
	if group == c.home.group {
		return c.home
	}
	for _, p := range c.others {
		if p.group == group {
			return p
		}
	}
	p := &txnPart{group: group, slot: slot}
	c.others = append(c.others, p)
	return p
}

// run returns the outcome. Each of its three steps is a round trip to the groups, which
// it asks all at once, and an entry in each of their logs.
func (c *coordinator) run(ctx context.Context) op.Result {
	if refusal, ok := c.prepare(ctx); !ok {
		c.abort(ctx)
		return refusal
	}
	if mutant.FinishUndecided {
		c.finish(ctx, true)
	}
	res := c.decide(ctx)
	switch {
	case res.Err != nil && res.Err.Kind == op.KindUnknown:
		return res // the groups' leaders will finish
	case res.Err != nil || res.Unmet:
		c.finish(ctx, false)
		return res
	}
	c.home.results = res.Results
	if c.finish(ctx, true) {
		c.node.background.start(func() { c.do(ctx, c.node.cfg.Timing.Write, c.home, op.Forget{Attempt: c.attempt}) })
	}
	return c.answer()
}

// prepare locks the other groups' parts. Without ok, one of them can't be, for which it
// returns the reason.
func (c *coordinator) prepare(ctx context.Context) (refusal op.Result, ok bool) {
	ctx, giveUp := context.WithTimeout(ctx, txnWork)
	defer giveUp()
	answers := make(chan op.Result, len(c.others))
	for _, p := range c.others {
		go func() {
			res := c.do(ctx, txnWork, p, op.Prepare{Attempt: c.attempt, Compares: p.compares, Ops: p.ops})
			p.results = res.Results
			answers <- res
		}()
	}
	ok = true
	for range c.others {
		res := <-answers
		if ok && (res.Err != nil || res.Unmet) {
			ok, refusal = false, res
			giveUp() // the others need not go on
		}
	}
	if !ok && refusal.Err != nil && refusal.Err.Kind == op.KindUnknown {
		refusal = op.Fail(op.Unavailable("a group did not answer in time: %v", refusal.Err))
	}
	return refusal, ok
}

// decide has the home group do its part and commit. A refusal does not mean that nothing
// was decided, if an earlier try is still on its way; so it has that group abort, too.
func (c *coordinator) decide(ctx context.Context) op.Result {
	commit := op.Decide{Attempt: c.attempt, Commit: true, Compares: c.home.compares, Ops: c.home.ops}
	for _, p := range c.others {
		commit.Participants = append(commit.Participants, p.slot)
		commit.Payload += int64((&op.Result{Results: p.results}).Payload())
	}
	refusal := c.do(ctx, txnWork, c.home, commit)
	res := refusal
	if res.Err != nil || res.Unmet {
		if res = c.do(ctx, c.node.cfg.Timing.Write, c.home, op.Decide{Attempt: c.attempt}); res.Err != nil {
			return op.Fail(op.UnknownOutcome("the home group does not tell its decision: %v", res.Err))
		}
	}
	switch {
	case res.Number == int64(op.Committed):
		return res
	case res.Found:
		return op.Fail(op.Invalid("id", "is that of a transaction that has been committed before"))
	case refusal.Unmet, refusal.Err != nil && refusal.Err.Kind != op.KindUnknown:
		return refusal
	}
	return op.Fail(op.Unavailable("the transaction was aborted"))
}

// abort tells all groups that nothing will come of the attempt. Whom it does not reach
// finds out at the deadline.
func (c *coordinator) abort(ctx context.Context) {
	var home sync.WaitGroup
	home.Go(func() { c.do(ctx, c.node.cfg.Timing.Call, c.home, op.Decide{Attempt: c.attempt}) })
	c.finish(ctx, false)
	home.Wait()
}

// finish tells the other groups the decision, and reports whether all have answered.
func (c *coordinator) finish(ctx context.Context, commit bool) bool {
	answers := make(chan bool, len(c.others))
	for _, p := range c.others {
		go func() {
			res := c.do(ctx, c.node.cfg.Timing.Call, p, op.Finish{Attempt: c.attempt, OnSlot: p.slot, Commit: commit})
			p.versions = res.Items
			answers <- res.Err == nil
		}()
	}
	all := true
	for range c.others {
		all = <-answers && all
	}
	return all
}

// do asks the part's group for up to patience.
func (c *coordinator) do(ctx context.Context, patience time.Duration, p *txnPart, o op.Op) op.Result {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	res := c.node.Do(ctx, op.Request{Op: o})
	if _, before := o.(op.Prepare); res.Err == nil && !before {
		c.mu.Lock()
		c.indexes = append(c.indexes, op.GroupIndex{Group: p.group, Index: res.Index})
		c.mu.Unlock()
	}
	return res
}

// answer puts the parts' results together. There are none if the home group's are lost,
// since it has forgotten them when its decision was asked for again.
func (c *coordinator) answer() op.Result {
	results := make([]op.Result, c.ops)
	if len(c.home.results) != len(c.home.ops) {
		results = nil
	}
	for _, p := range append(c.others, c.home) {
		if results == nil {
			break
		}
		for i, place := range p.places {
			results[place] = versioned(p.results[i], p.ops[i], p.versions)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return op.Result{Results: results, Detail: op.EncodeDetail(c.indexes)}
}

// versioned returns a prepared operation's result with the version that its key got when
// the part finished.
func versioned(res op.Result, o op.Op, versions []op.Item) op.Result {
	_, writes := o.(op.Write)
	key := op.Keys(o)[0]
	for _, it := range versions {
		if res.Version == 0 && (writes || res.Found) && string(it.Key) == string(key) {
			res.Version = it.Version
		}
	}
	return res
}
