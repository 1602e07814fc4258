package shard

import (
	"context"
	"fmt"

	"github.com/ringraft/ringraft/raftfsm"
)

type digestQuestion struct {
	Group uint64 `codec:"group"`
	Index uint64 `codec:"index"`
}

type digestAnswer struct {
	Known  bool   `codec:"known"` // whether the index is applied and still remembered
	Digest uint64 `codec:"digest"`
}

// ballot is what another replica says of an index.
type ballot struct {
	digest uint64
	leader bool
}

// outvoted reports whether a replica with digest mine is the one to leave: more
// replicas agree on another digest than on its own or, if as many do, the leader is
// among them, since its results are those that callers were told.
func outvoted(mine uint64, leader bool, others []ballot) bool {
	votes := map[uint64]int{mine: 1}
	leaders := map[uint64]bool{mine: leader}
	for _, b := range others {
		votes[b.digest]++
		if b.leader {
			leaders[b.digest] = true
		}
	}
	for digest, n := range votes {
		if digest != mine && (n > votes[mine] || n == votes[mine] && leaders[digest]) {
			return true
		}
	}
	return false
}

// audit compares this replica's digest with the others'. It asks about the index it
// was at one period ago, which the others have reached too unless they are behind; and not
// again about one at which all agreed.
func (g *group) audit() {
	g.beside(&g.auditing, func() {
		mark := g.lastMark
		g.lastMark = g.fsm.Mark()
		if mark.Index == 0 || mark.Index == g.audited {
			return
		}
		g.compare(mark)
	})
}

func (g *group) compare(mark raftfsm.Mark) {
	others, all := g.ballots(mark.Index)
	for _, b := range others {
		if b.digest != mark.Digest {
			g.disagree(mark.Index, mark.Digest, others)
			return
		}
	}
	if all {
		g.audited = mark.Index
	}
}

// ballots asks the other replicas, and returns whether all answered.
func (g *group) ballots(index uint64) (others []ballot, all bool) {
	placed, _ := g.node.Map().Group(g.id)
	leader := g.replica.leaderNode()
	all = true
	for _, r := range placed.Replicas {
		if r.Node == g.node.cfg.ID {
			continue
		}
		var a digestAnswer
		err := g.node.ask(g.ctx, r.Node, callDigest, digestQuestion{g.id, index}, &a)
		if err != nil || !a.Known {
			all = false
			continue
		}
		others = append(others, ballot{a.Digest, r.Node == leader})
	}
	return others, all
}

func (g *group) disagree(index, mine uint64, others []ballot) {
	g.log.Error("replicas differ", "index", index, "digest", fmt.Sprintf("%016x", mine), "others", fmt.Sprintf("%+v", others))
	if outvoted(mine, g.replica.readyTerm() != 0, others) {
		reason := fmt.Sprintf("its state differs from the other replicas' at index %d", index)
		g.node.background.start(func() { g.node.quarantine(g.id, reason) })
	}
}

// digestAt answers another replica's question.
func (n *Node) digestAt(q digestQuestion) digestAnswer {
	g := n.group(q.Group)
	if g == nil {
		return digestAnswer{}
	}
	digest, known := g.fsm.DigestAt(q.Index)
	return digestAnswer{known, digest}
}

// quarantined reports whether this node's replica of a group is out of service, and why.
func (n *Node) quarantined(group uint64) (reason string, out bool) {
	n.mu.RLock()
	reason, out = n.outOfService[group]
	n.mu.RUnlock()
	if out {
		return reason, true
	}
	return n.cfg.Store.Quarantined(group)
}

// quarantine takes this node's replica of a group out of service, for good: the
// mark in the data directory outlives the process.
func (n *Node) quarantine(group uint64, reason string) {
	n.log.Error("replica goes into quarantine: this node no longer serves the group; replace the replica",
		"group", group, "reason", reason)
	n.mu.Lock()
	n.outOfService[group] = reason
	n.mu.Unlock()
	if err := n.cfg.Store.Quarantine(group, reason); err != nil {
		n.log.Error("quarantine could not be marked in the data directory", "group", group, "err", err)
	}
	g := n.removeGroup(group)
	if g == nil {
		return
	}
	if g.replica.readyTerm() != 0 {
		ctx, cancel := context.WithTimeout(context.Background(), n.cfg.Timing.Write)
		defer cancel()
		if _, err := g.handOverToBest(ctx); err != nil {
			n.log.Warn("a group's leadership was not handed over", "group", group, "err", err)
		}
	}
	if err := g.close(); err != nil {
		n.log.Warn("close a quarantined replica", "group", group, "err", err)
	}
}
