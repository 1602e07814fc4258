package fakenode

import "github.com/ringraft/ringraft/op"

// txnLocked does a transaction over several groups on node n. It has their state
// machines do what a coordinator has them do, without anything in between.
func (c *Cluster) txnLocked(o op.Txn) op.Result {
	now := c.nowLocked()
	a := op.Attempt{ID: o.ID, Number: 1, Home: o.Home(), Deadline: now + op.TxnPatience}
	home := c.cluster.GroupOf(a.Home)
	decide := op.Decide{Attempt: a, Commit: true}
	parts := map[uint64]*op.Prepare{}
	places := map[uint64][]int{}
	of := func(slot uint16) *op.Prepare {
		id := c.cluster.GroupOf(slot)
		if parts[id] == nil {
			parts[id] = &op.Prepare{Attempt: a}
			if id != home {
				decide.Participants = append(decide.Participants, slot)
			}
		}
		return parts[id]
	}
	for i, compare := range o.Compares {
		p := of(o.Slot(i))
		p.Compares = append(p.Compares, compare)
	}
	for i, part := range o.Then {
		slot := o.Slot(len(o.Compares) + i)
		p := of(slot)
		p.Ops = append(p.Ops, part)
		places[c.cluster.GroupOf(slot)] = append(places[c.cluster.GroupOf(slot)], i)
	}
	results := make([]op.Result, len(o.Then))
	write := func(group uint64, w op.Write) op.Result {
		res := c.groupLocked(group).write(op.Command{Op: w}, now)
		for i, r := range res.Results {
			results[places[group][i]] = r
		}
		return res
	}
	var shown []op.GroupIndex
	finish := func(commit bool) {
		for _, slot := range decide.Participants {
			group := c.cluster.GroupOf(slot)
			shown = append(shown, op.GroupIndex{Group: group, Index: write(group, op.Finish{Attempt: a, OnSlot: slot, Commit: commit}).Index})
		}
	}
	for _, slot := range decide.Participants {
		group := c.cluster.GroupOf(slot)
		if res := write(group, *parts[group]); res.Err != nil || res.Unmet {
			finish(false)
			return res
		}
	}
	if parts[home] != nil {
		decide.Compares, decide.Ops = parts[home].Compares, parts[home].Ops
	}
	res := write(home, decide)
	if res.Err != nil || res.Unmet {
		finish(false)
		return res
	}
	shown = append(shown, op.GroupIndex{Group: home, Index: res.Index})
	finish(true)
	write(home, op.Forget{Attempt: a})
	return op.Result{Results: results, Detail: op.EncodeDetail(shown)}
}
