package shard

import (
	"io"

	"github.com/hashicorp/raft"

	"github.com/ringraft/ringraft/shard/storage"
)

// settlingFSM repairs, when a snapshot is restored, the log entry at the snapshot's
// last index. If that entry is of another term, Raft would refuse what follows the
// snapshot, and its leader would send the snapshot again and again
// (hashicorp/raft#697). Raft's main loop waits for Restore, so nobody else touches
// the log meanwhile. The entries behind a conflicting one are not committed; they
// stay only because Raft remembers how far the log went.
type settlingFSM struct {
	raft.BatchingFSM
	store *storage.Replica
}

func (f *settlingFSM) Restore(snapshot io.ReadCloser) error {
	if err := f.BatchingFSM.Restore(snapshot); err != nil {
		return err
	}
	metas, err := f.store.Snapshots.List()
	if err != nil || len(metas) == 0 {
		return err
	}
	return settleLog(f.store.Logs, metas[0].Index, metas[0].Term)
}

// settleLog makes the entry at index, if the log has one of another term, a no-op
// of that term.
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
	if err := logs.GetLog(index, &at); err != nil {
		return err
	}
	if at.Term == term {
		return nil
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
