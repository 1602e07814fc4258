package shard

import (
	"fmt"

	"github.com/hashicorp/raft"
)

// A replica that starts shows its newest snapshot and learns only from a leader how
// much of its log behind that is committed. Until it has applied that much again it
// must not answer: a reader would see older values than the same node gave before, or
// none. What it had applied is in its log, so the log's end is the mark to reach. Of
// that end a leader may cut off what was never committed; then the mark moves back.

// caughtUp reports whether the replica shows at least what it did before it was
// started. Once true it stays so.
func (r *replica) caughtUp() bool {
	if r.level.Load() {
		return true
	}
	mark, err := lastShown(r.store.Logs, min(r.end, r.raft.LastIndex()))
	if err != nil {
		r.log.Debug("not known to have caught up", "err", err)
		return false
	}
	if r.machine.Applied() < mark {
		return false
	}
	r.level.Store(true)
	return true
}

// lastShown returns the last index up to a given one whose entry reaches the state
// machine; Raft keeps no-ops to itself. It is 0 if the log has none.
func lastShown(logs raft.LogStore, upTo uint64) (uint64, error) {
	first, err := logs.FirstIndex()
	if err != nil {
		return 0, fmt.Errorf("find the log's beginning: %w", err)
	}
	for i := upTo; first != 0 && i >= first; i-- {
		var l raft.Log
		if err := logs.GetLog(i, &l); err != nil {
			return 0, fmt.Errorf("read entry %d: %w", i, err)
		}
		if l.Type == raft.LogCommand || l.Type == raft.LogConfiguration {
			return i, nil
		}
	}
	return 0, nil
}
