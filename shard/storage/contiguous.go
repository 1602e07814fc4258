package storage

import (
	"fmt"

	"github.com/hashicorp/raft"
)

// contiguousLogs refuses gaps, as all logs of this package do, so that Raft treats them
// alike. It has one writer.
type contiguousLogs struct{ raft.LogStore }

func (contiguousLogs) IsMonotonic() bool { return true }

func (l contiguousLogs) StoreLog(entry *raft.Log) error { return l.StoreLogs([]*raft.Log{entry}) }

func (l contiguousLogs) StoreLogs(entries []*raft.Log) error {
	last, err := l.LastIndex()
	if err != nil {
		return err
	}
	for _, e := range entries {
		if last != 0 && e.Index != last+1 {
			return fmt.Errorf("store log entry %d after %d", e.Index, last)
		}
		last = e.Index
	}
	return l.LogStore.StoreLogs(entries)
}
