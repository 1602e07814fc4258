package shard

import (
	"context"
	"sync"

	"github.com/hashicorp/raft"

	"github.com/ringraft/ringraft/op"
)

// The states of a node and the roles of a replica in a status.
const (
	stateUp       = "up"
	stateDraining = "draining"
	stateFull     = "full" // its disk is: it takes no writes
	stateDown     = "down"

	roleLeader      = "leader"
	roleFollower    = "follower"
	roleCandidate   = "candidate"
	roleQuarantined = "quarantined"
	roleStarting    = "starting"
)

// status tells of this node and its replicas.
func (n *Node) status() op.NodeStatus {
	s := op.NodeStatus{Node: n.cfg.ID, State: stateUp, Redis: n.cfg.Redis}
	switch {
	case n.draining.Load():
		s.State = stateDraining
	case n.cfg.Store.Full() != nil:
		s.State = stateFull
	}
	if r := n.replica(metaGroup); r != nil {
		s.Replicas = append(s.Replicas, r.status())
	}
	for _, id := range n.Map().Replicas(n.cfg.ID) {
		s.Replicas = append(s.Replicas, n.replicaStatus(id))
	}
	return s
}

func (n *Node) replicaStatus(id uint64) op.ReplicaStatus {
	if g := n.group(id); g != nil {
		return g.status()
	}
	s := op.ReplicaStatus{Group: id, Role: roleStarting}
	if reason, out := n.quarantined(id); out {
		s.Role, s.Reason = roleQuarantined, reason
	}
	return s
}

func (r *replica) status() op.ReplicaStatus {
	s := op.ReplicaStatus{
		Group: r.group, Role: roleFollower, Term: r.raft.CurrentTerm(),
		Commit: r.raft.CommitIndex(), Applied: r.machine.Applied(),
	}
	switch r.raft.State() {
	case raft.Leader:
		s.Role = roleLeader
	case raft.Candidate:
		s.Role = roleCandidate
	}
	if err := r.store.WriteError(); err != nil {
		s.Reason = "its last write failed: " + err.Error()
	}
	return s
}

func (g *group) status() op.ReplicaStatus {
	s := g.replica.status()
	mark, stats := g.fsm.Mark(), g.fsm.Stats()
	s.Applied, s.Digest = mark.Index, mark.Digest
	s.Keys, s.Bytes = stats.Keys, stats.Bytes
	s.Sessions, s.SessionBytes, s.Locks = stats.Sessions, stats.SessionBytes, stats.Locks
	s.MemoryUsed, s.MemoryHeld = stats.MemoryUsed, stats.MemoryHeld
	return s
}

// statuses returns this node's status or, with all, every node's; one that does
// not answer is down.
func (n *Node) statuses(ctx context.Context, all bool) []op.NodeStatus {
	if !all {
		return []op.NodeStatus{n.status()}
	}
	nodes := n.Map().Nodes
	out := make([]op.NodeStatus, len(nodes))
	var wg sync.WaitGroup
	for i, node := range nodes {
		wg.Go(func() {
			if node.ID == n.cfg.ID {
				out[i] = n.status()
				return
			}
			if err := n.ask(ctx, node.ID, callStatus, struct{}{}, &out[i]); err != nil {
				out[i] = op.NodeStatus{Node: node.ID, State: stateDown}
			}
		})
	}
	wg.Wait()
	return out
}
