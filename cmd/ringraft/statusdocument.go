package main

import (
	"github.com/ringraft/ringraft/op"
	"github.com/ringraft/ringraft/placement"
)

// statusDocument is what cluster status prints in JSON.
type statusDocument struct {
	ClusterID string        `json:"cluster_id"`
	Epoch     uint64        `json:"epoch"`
	Nodes     []nodeStatus  `json:"nodes"`
	Groups    []groupStatus `json:"groups"`
	Meta      groupStatus   `json:"meta"`
}

type nodeStatus struct {
	ID     string `json:"id"`
	Native string `json:"native"`
	Peer   string `json:"peer"`
	Redis  string `json:"redis,omitempty"` // "" also if the node does not answer
	State  string `json:"state"`           // up, draining, full or down
}

type groupStatus struct {
	ID       uint64          `json:"id"`
	Leader   string          `json:"leader"` // "" if there is none
	Term     uint64          `json:"term"`
	Keys     int64           `json:"keys"`
	Bytes    int64           `json:"bytes"` // logical
	Sessions int64           `json:"sessions"`
	Held     int64           `json:"session_bytes"` // the part of Bytes that is sessions and their answers
	Locks    int64           `json:"locks"`         // keys that transactions have locked
	Replicas []replicaStatus `json:"replicas"`
}

type replicaStatus struct {
	Node    string `json:"node"`
	Role    string `json:"role"`        // leader, follower, candidate, starting, quarantined; down if its node does not answer
	Applied uint64 `json:"applied"`     // log index
	Lag     uint64 `json:"lag"`         // entries behind the highest commit index that a replica knows
	Used    int64  `json:"memory_used"` // bytes that its records take in memory
	Held    int64  `json:"memory_held"` // bytes of the memory that they lie in
	Reason  string `json:"reason,omitempty"`
}

// down is the state of a node that does not answer, and the role of its replicas.
const down = "down"

// newStatusDocument joins the map, which names all nodes and replicas, with what the
// nodes that answered tell of themselves.
func newStatusDocument(m placement.Map, answers []op.NodeStatus) statusDocument {
	byNode := make(map[string]op.NodeStatus, len(answers))
	for _, a := range answers {
		byNode[a.Node] = a
	}
	doc := statusDocument{ClusterID: m.Cluster, Epoch: m.Epoch, Nodes: []nodeStatus{}, Groups: []groupStatus{}}
	var ids []string
	for _, n := range m.Nodes {
		state := byNode[n.ID].State
		if state == "" {
			state = down
		}
		doc.Nodes = append(doc.Nodes, nodeStatus{ID: n.ID, Native: n.Native, Peer: n.Peer, Redis: byNode[n.ID].Redis, State: state})
		ids = append(ids, n.ID)
	}
	doc.Meta = newGroupStatus(0, replicasOn(ids, 0, byNode, false))
	for _, g := range m.Groups {
		var nodes []string
		for _, r := range g.Replicas {
			nodes = append(nodes, r.Node)
		}
		doc.Groups = append(doc.Groups, newGroupStatus(g.ID, replicasOn(nodes, g.ID, byNode, true)))
	}
	return doc
}

// located is what node tells of its replica.
type located struct {
	node string
	op.ReplicaStatus
}

// replicasOn returns the group's replicas on nodes, in that order. One that nobody
// tells of is down if the map expects it there, else left out.
func replicasOn(nodes []string, group uint64, byNode map[string]op.NodeStatus, expected bool) []located {
	var list []located
	for _, node := range nodes {
		found := false
		for _, r := range byNode[node].Replicas {
			if r.Group == group {
				list, found = append(list, located{node, r}), true
			}
		}
		if !found && expected {
			list = append(list, located{node, op.ReplicaStatus{Group: group, Role: down}})
		}
	}
	return list
}

// newGroupStatus sums the replicas up. Two may call themselves leader while one of
// them has not heard of the other's election: the higher term is right.
func newGroupStatus(id uint64, replicas []located) groupStatus {
	g := groupStatus{ID: id, Replicas: []replicaStatus{}}
	var commit, ahead uint64
	var leading uint64 // term of the leader
	for _, r := range replicas {
		g.Term = max(g.Term, r.Term)
		commit = max(commit, r.Commit)
		if r.Role == "leader" && r.Term >= leading {
			g.Leader, leading = r.node, r.Term
		}
		if r.Applied >= ahead {
			ahead, g.Keys, g.Bytes = r.Applied, r.Keys, r.Bytes
			g.Sessions, g.Held, g.Locks = r.Sessions, r.SessionBytes, r.Locks
		}
	}
	for _, r := range replicas {
		g.Replicas = append(g.Replicas, replicaStatus{
			Node: r.node, Role: r.Role, Applied: r.Applied, Lag: commit - min(commit, r.Applied),
			Used: r.MemoryUsed, Held: r.MemoryHeld, Reason: r.Reason,
		})
	}
	return g
}
