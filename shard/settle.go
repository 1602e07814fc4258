package shard

import (
	"io"
	"slices"

	"github.com/hashicorp/raft"
)

// Raft installs a snapshot beside the log that a follower has. Three things can go
// wrong with that log, and all are settled here:
//
//   - Its entry at the snapshot's last index is of another term (hashicorp/raft#697). A leader
//     might send it. settlingFSM overwrites that entry.
//   - It ends before the snapshot. What follows leaves a gap, which the log store
//     does not take. gapLogs drops the old entries then.
//   - It has no entry at that index, or Raft remembers one of another term. Raft then
//     refuses what follows the snapshot, and the leader sends the snapshot again and again.
//     settlingFSM says to the network that it follows.
//
// A log store that calls itself monotonic makes Raft drop the whole log instead, but
// Raft goes on believing that the dropped entries are there, and ends in the same loop.

// settlingFSM is a state machine that applies what is on disk here, and settles the log when
// a snapshot is restored. Raft's main loop waits for Restore, so nobody else touches the log
// meanwhile.
type settlingFSM struct {
	raft.BatchingFSM
	snapshots raft.SnapshotStore
	logs      *aheadLogs
	applied   *appliedLog
	committed func(entryID) // told of the last entry of a batch, once it is applied
	based     func(entryID) // told of the last entry of a snapshot, once it is restored
	behind    bool          // entries were not applied, since the log was closed
}

func (f *settlingFSM) ApplyBatch(logs []*raft.Log) []any {
	last := logs[len(logs)-1]
	if f.behind || !f.logs.onDisk(last.Index) {
		f.behind = true
		return slices.Repeat([]any{errStopping}, len(logs))
	}
	f.applied.add(logs)
	results := f.BatchingFSM.ApplyBatch(logs)
	f.committed(entryID{last.Index, last.Term})
	return results
}

// Snapshot fails once entries were not applied that Raft takes for applied.
func (f *settlingFSM) Snapshot() (raft.FSMSnapshot, error) {
	if f.behind {
		return nil, errStopping
	}
	return f.BatchingFSM.Snapshot()
}

func (f *settlingFSM) Restore(snapshot io.ReadCloser) error {
	if err := f.BatchingFSM.Restore(snapshot); err != nil {
		return err
	}
	metas, err := f.snapshots.List()
	if err != nil || len(metas) == 0 {
		return err
	}
	if err := settleLog(f.logs, metas[0].Index, metas[0].Term); err != nil {
		return err
	}
	f.based(entryID{metas[0].Index, metas[0].Term})
	return nil
}

// settleLog makes the entry at index, if the log has one of another term, a no-op
// of that term. The entries behind it are not committed, since they follow one that
// was not; they stay only because Raft remembers how far the log went.
func settleLog(logs raft.LogStore, index, term uint64) error {
	first, err := logs.FirstIndex()
	if err != nil {
		return err
	}
	last, err := logs.LastIndex()
	if err != nil || first == 0 || index < first || index > last {
		return err
	}
	var at raft.Log
	if err := logs.GetLog(index, &at); err != nil || at.Term == term {
		return err
	}
	suffix := []*raft.Log{{Index: index, Term: term, Type: raft.LogNoop}}
	for i := index + 1; i <= last; i++ {
		l := new(raft.Log)
		if err := logs.GetLog(i, l); err != nil {
			return err
		}
		suffix = append(suffix, l)
	}
	if err := logs.DeleteRange(index, last); err != nil {
		return err
	}
	return logs.StoreLogs(suffix)
}

// gapLogs takes entries that do not follow the last one, as Raft stores them after a
// snapshot, by dropping what was there. It hides that the store below is monotonic.
type gapLogs struct{ store raft.LogStore }

func (l gapLogs) FirstIndex() (uint64, error)              { return l.store.FirstIndex() }
func (l gapLogs) LastIndex() (uint64, error)               { return l.store.LastIndex() }
func (l gapLogs) GetLog(index uint64, out *raft.Log) error { return l.store.GetLog(index, out) }
func (l gapLogs) DeleteRange(min, max uint64) error        { return l.store.DeleteRange(min, max) }
func (l gapLogs) StoreLog(entry *raft.Log) error           { return l.StoreLogs([]*raft.Log{entry}) }

func (l gapLogs) StoreLogs(entries []*raft.Log) error {
	last, err := l.store.LastIndex()
	if err != nil {
		return err
	}
	if last != 0 && len(entries) > 0 && entries[0].Index > last+1 {
		first, err := l.store.FirstIndex()
		if err != nil {
			return err
		}
		if err := l.store.DeleteRange(first, last); err != nil {
			return err
		}
	}
	return l.store.StoreLogs(entries)
}
