package shard

import (
	"errors"
	"sync/atomic"

	"github.com/hashicorp/raft"
)

// Raft bounds a log by its number of entries, of which each can have 1 MiB, or as
// much as the largest value. A replica therefore also bounds it by bytes: once so
// many have been applied since the last time, it takes a snapshot and leaves only as
// many entries behind it as have keepBytes.
const (
	// A node's replicas share nodeLogBytes, which it applies again when it starts: each applies
	// its share, between leastShare and mostShare, before such a snapshot. It applies more where
	// the state is larger: a snapshot writes all of it, and slows down writes meanwhile.
	nodeLogBytes = 1 << 30
	leastShare   = 64 << 20
	mostShare    = 256 << 20
	// keepBytes of entries stay behind a snapshot, for replicas that lag a little.
	keepBytes = 16 << 20
	// leastTrailing and mostTrailing bound the number of those entries.
	leastTrailing = 8
	mostTrailing  = 4096
)

// appliedLog counts what a replica has applied since it was last compacted.
type appliedLog struct{ entries, bytes atomic.Int64 }

func (a *appliedLog) add(logs []*raft.Log) {
	var bytes int64
	for _, l := range logs {
		bytes += int64(len(l.Data))
	}
	a.entries.Add(int64(len(logs)))
	a.bytes.Add(bytes)
}

// trailing returns how many entries of the mean size have keepBytes.
func (a *appliedLog) trailing() uint64 {
	entries, bytes := a.entries.Load(), max(a.bytes.Load(), 1)
	return uint64(min(max(entries*keepBytes/bytes, leastTrailing), mostTrailing))
}

// due reports whether the log is to be compacted, of which a replica has a share of so many
// bytes, beside a state.
func (a *appliedLog) due(share, state int64) bool { return a.bytes.Load() >= max(share, state) }

// logShare returns the share of one of a node's replicas, in bytes.
func logShare(replicas int) int64 {
	return min(max(nodeLogBytes/int64(max(replicas, 1)), leastShare), mostShare)
}

// restart begins a new count.
func (a *appliedLog) restart() {
	a.entries.Store(0)
	a.bytes.Store(0)
}

// Compact takes a snapshot of each replica here, beside what the node does, and shortens
// its log, as happens by itself after a while. It does nothing for a replica of which one
// is being taken, or that has applied nothing since the last.
func (n *Node) Compact() {
	for _, g := range n.hosted() {
		g.replica.snapshot()
	}
}

// compact takes a snapshot if that is due.
func (r *replica) compact() {
	share, state := int64(leastShare), int64(0)
	if r.stateBytes != nil {
		state = r.stateBytes()
	}
	if r.replicas != nil {
		share = logShare(r.replicas())
	}
	if r.applied.due(share, state) {
		r.snapshot()
	}
}

// snapshot takes one, beside what the replica does. One is taken at a time.
func (r *replica) snapshot() {
	if r.applied.entries.Load() == 0 || !r.compacting.CompareAndSwap(false, true) {
		return
	}
	conf := r.raft.ReloadableConfig()
	conf.TrailingLogs = r.applied.trailing()
	r.applied.restart()
	started := r.calls.start(func() {
		defer r.compacting.Store(false)
		if err := r.raft.ReloadConfig(conf); err != nil {
			r.log.Error("the length of the log was not set", "err", err)
		}
		switch err := r.raft.Snapshot().Error(); {
		case err == nil:
			r.log.Debug("log compacted", "entries left", conf.TrailingLogs)
		case !errors.Is(err, raft.ErrNothingNewToSnapshot) && !errors.Is(err, raft.ErrRaftShutdown):
			r.log.Warn("snapshot failed; the log grows until the next one", "err", err)
		}
	})
	if !started {
		r.compacting.Store(false)
	}
}
