package shard

import (
	"time"

	"github.com/hashicorp/raft"
)

// listener finds leaders that are silent: none of the replicas here that follow a node has
// heard of it for the heartbeat timeout, and they have handled all that has arrived. It looks at
// every beat. What it finds is a witness's report like that of a dead process, see departures,
// and repeated at every beat, since reports don't live long.
//
// Raft would find it by itself, later, but waits a random time for each replica, and then for
// the last follower to lose its patience. It stays in charge where there is no majority of
// witnesses.
type listener struct {
	node     *Node
	patience time.Duration
	beat     time.Duration

	looked time.Time         // last
	awake  time.Time         // since when it has looked at every beat: who stood still judges nobody
	under  map[uint64]string // by group: the node that its replica here follows, or did last
	silent map[string]bool   // nodes that were called silent
}

func newListener(n *Node) *listener {
	t := n.cfg.Timing
	return &listener{node: n, patience: t.Heartbeat, beat: t.Beat(), under: map[uint64]string{}, silent: map[string]bool{}}
}

// look reports which leaders are silent now, and which are not any more.
func (l *listener) look(replicas []*replica, now time.Time) {
	if now.Sub(l.looked) > 2*l.beat {
		l.awake = now
	}
	l.looked = now
	followers := l.followers(replicas)
	for node, under := range followers {
		if now.Sub(l.awake) > l.patience && unheard(under, now.Add(-l.patience)) {
			l.silent[node] = true
			l.node.succession.hush(node, under, l.patience)
		} else if l.silent[node] {
			l.forget(node)
		}
	}
	for node := range l.silent {
		if followers[node] == nil {
			l.forget(node)
		}
	}
}

func (l *listener) forget(node string) {
	delete(l.silent, node)
	l.node.succession.unhush(node)
}

// followers returns the replicas by the node that they follow.
func (l *listener) followers(replicas []*replica) map[string][]*replica {
	under, followers := map[uint64]string{}, map[string][]*replica{}
	for _, r := range replicas {
		node := r.leaderNode()
		if node == "" {
			node = l.under[r.group] // lost, and no other one is known
		}
		if node == "" || r.raft.State() == raft.Leader {
			continue
		}
		under[r.group] = node
		followers[node] = append(followers[node], r)
	}
	l.under = under
	return followers
}

// unheard reports whether none of the replicas has heard of its leader since a time.
func unheard(replicas []*replica, since time.Time) bool {
	for _, r := range replicas {
		if r.raft.LastContact().After(since) {
			return false
		}
	}
	return true
}
