package shard

import "time"

// Beat is the time between two heartbeats of a leader. The network is to send those of all
// groups together when the time of day is a multiple of it.
func (t Timing) Beat() time.Duration { return t.Heartbeat * 3 / 10 }

// alone is how long a follower waits, at least, before it stands for election by itself. Nodes
// find a silent leader up to a beat after Heartbeat, and then they tell each other: until that
// is done Raft must leave its replicas followers, since a candidate cannot be made to stand.
// And a leader prepares its next heartbeat after up to a fifth of it, which must be within a beat.
func (t Timing) alone() time.Duration { return t.Heartbeat * 14 / 10 }

// untilNext returns how long it takes until the time of day is a multiple of period. What
// a node does again and again it does at such moments, all at once: an idle process pays
// for waking up more than for what it does then.
func untilNext(period time.Duration) time.Duration {
	return period - time.Duration(time.Now().UnixNano())%period
}

// pace makes all leaders here have their heartbeats ready when the network sends them. Raft
// by itself waits a random time before each, per group and follower, and so wakes the
// process up at as many moments. At the same moments the node listens for leaders of others.
//
// An instance of Raft that stands still, as on a disk that hangs, holds this up in the end,
// but nothing else: Raft's own timers go on.
func (n *Node) pace() {
	beat, listener := n.cfg.Timing.Beat(), newListener(n)
	for {
		select {
		case <-n.ctx.Done():
			return
		case <-time.After(untilNext(beat)):
		}
		replicas := n.replicas()
		listener.look(replicas, time.Now())
		for _, r := range replicas {
			r.pace()
		}
	}
}

// pace makes a leader send its next heartbeats at once, or as soon as those under way are
// answered: Raft does that to verify that it leads. What it finds is left unread, since
// nothing may rest on it, see decision 0006.
func (r *replica) pace() {
	if r.readyTerm() != 0 {
		r.raft.VerifyLeader()
	}
}
