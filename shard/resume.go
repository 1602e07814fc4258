package shard

import "github.com/hashicorp/raft"

// resumptions observes that followers are heard of again. What they have missed, be it
// entries or the news that these are committed, Raft tells them with the next entry, or else
// after its CommitTimeout, for which idle groups pay all the time if it is short.
func resumptions(events chan raft.Observation) *raft.Observer {
	return raft.NewObserver(events, false, func(o *raft.Observation) bool {
		_, resumed := o.Data.(raft.ResumedHeartbeatObservation)
		return resumed
	})
}

// resume appends an entry when followers are heard of again, upon which Raft brings all
// of them up to date. Events has room for one: an entry that is yet to come serves all.
func (r *replica) resume(events <-chan raft.Observation) {
	for {
		select {
		case <-r.ctx.Done():
			return
		case <-events:
			r.raft.Apply(r.takeover(), r.timing.Write) // that it is sent matters, not what becomes of it
		}
	}
}
