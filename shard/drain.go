package shard

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// leadPeriod is how often Drain looks whether a term it waits for can be handed over.
const leadPeriod = 20 * time.Millisecond

// Drain hands over, until ctx ends, every leadership that the node has. Requests are
// served on, and sent to the new leaders. Other nodes hand nothing over to this one
// any more, though it may still win an election.
func (n *Node) Drain(ctx context.Context) error {
	n.draining.Store(true)
	errs := make(chan error)
	waiting := 0
	hand := func(group uint64, r *replica, over func() error) {
		waiting++
		go func() {
			err := drain(ctx, r, over)
			if err != nil {
				err = fmt.Errorf("group %d: %w", group, err)
			}
			errs <- err
		}()
	}
	for _, g := range n.hosted() {
		hand(g.id, g.replica, func() error { _, err := g.handOverToBest(ctx); return err })
	}
	if m := n.meta.Load(); m != nil {
		hand(metaGroup, m.replica, func() error { return m.handOver(ctx) })
	}
	var all error
	for range waiting {
		all = errors.Join(all, <-errs)
	}
	return all
}

// drain hands r's leadership over, if it has it. A term that it has won but is not
// ready in yet can only be handed over once it is.
func drain(ctx context.Context, r *replica, over func() error) error {
	tick := time.NewTicker(leadPeriod)
	defer tick.Stop()
	for {
		_, leads := r.leads()
		switch {
		case !leads:
			return nil
		case r.readyTerm() != 0:
			return over()
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// Undrain lets the node lead again, if it is not to stop after all.
func (n *Node) Undrain() { n.draining.Store(false) }
