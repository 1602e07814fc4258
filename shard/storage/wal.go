package storage

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
	wal "github.com/hashicorp/raft-wal"
	walfs "github.com/hashicorp/raft-wal/fs"
	"github.com/hashicorp/raft-wal/metadb"
	"github.com/hashicorp/raft-wal/segment"
	"github.com/hashicorp/raft-wal/types"
)

// walSet are logs in files per replica.
type walSet struct {
	segmentSize int
	logger      hclog.Logger
}

func (s walSet) create(_ ReplicaID, dir string) error {
	dir = filepath.Join(dir, logDir)
	if err := os.Mkdir(dir, dirMode); err != nil {
		return err
	}
	logs, err := openWAL(dir, s.segmentSize, s.logger)
	if err != nil {
		return err
	}
	return errors.Join(logs.Close(), syncDir(dir))
}

func (s walSet) open(_ ReplicaID, dir string, logger hclog.Logger) (logStore, io.Closer, error) {
	dir = filepath.Join(dir, logDir)
	if _, err := os.Stat(filepath.Join(dir, metadb.FileName)); err != nil { // raft-wal would create it
		return nil, nil, err
	}
	logs, err := openWAL(dir, s.segmentSize, logger.Named("wal"))
	if err != nil {
		return nil, nil, err
	}
	return checkedLogs{logs}, logs, nil
}

func (walSet) Close() error { return nil }

// walLogs is a raft-wal log that goes on after a failed write.
//
// raft-wal v0.4.1 undoes a failed append in memory, but the batch may be in the file
// all the same. A failed rotation or truncation leaves memory and files at odds:
// later appends all fail because the segment is sealed, and a repeated truncation
// refers to an index block that was never written. So after any failed write the log
// is opened anew from its files, what the failed batch left is cut off, and the write
// is tried once more. Until that opening succeeds, reads go on from the old log.
type walLogs struct {
	dir         string
	segmentSize int
	logger      hclog.Logger
	meta        *walMeta
	vfs         types.VFS

	writing sync.Mutex // held by the one write under way; guards suspect
	suspect bool       // a write has failed since the log was opened

	using sync.RWMutex // held for reading by readers of wal, for writing to replace or truncate it
	wal   *wal.WAL
}

// openWAL opens the log in a directory that exists, and creates it if that is empty.
func openWAL(dir string, segmentSize int, logger hclog.Logger) (*walLogs, error) {
	l := &walLogs{dir: dir, segmentSize: segmentSize, logger: logger, meta: &walMeta{}, vfs: segmentFS{walfs.New()}}
	if err := l.reopen(); err != nil {
		return nil, errors.Join(err, l.meta.BoltMetaDB.Close())
	}
	return l, nil
}

// reopen replaces the wal by one opened from the files. Both share the metadata.
func (l *walLogs) reopen() error {
	opened, err := wal.Open(l.dir,
		wal.WithSegmentSize(l.segmentSize),
		wal.WithLogger(l.logger),
		wal.WithMetaStore(l.meta),
		wal.WithSegmentFiler(segment.NewFiler(l.dir, l.vfs)))
	if err != nil {
		return fmt.Errorf("open log: %w", err)
	}
	old := l.wal
	if old != nil {
		if err := cutBehind(old, opened); err != nil {
			return errors.Join(fmt.Errorf("open log: cut off a failed batch: %w", err), opened.Close())
		}
	}
	l.using.Lock()
	l.wal = opened
	l.using.Unlock()
	if old == nil {
		return nil
	}
	return old.Close()
}

// cutBehind removes entries that the old log failed to store: Raft does not know of
// them and will store others at their indexes.
func cutBehind(old, opened *wal.WAL) error {
	known, err := old.LastIndex()
	if err != nil {
		return err
	}
	last, err := opened.LastIndex()
	if err != nil || last <= known {
		return err
	}
	return opened.DeleteRange(known+1, last)
}

// write runs one write, and once more if it fails.
func (l *walLogs) write(f func(*wal.WAL) error) error {
	l.writing.Lock()
	defer l.writing.Unlock()
	if l.attempt(f) == nil {
		return nil
	}
	return l.attempt(f)
}

func (l *walLogs) attempt(f func(*wal.WAL) error) error {
	if l.suspect {
		if err := l.reopen(); err != nil {
			return err
		}
	}
	err := f(l.wal) // replaced by reopen only, so under writing it can be read as it is
	l.suspect = err != nil
	return err
}

func (l *walLogs) read(f func(*wal.WAL) error) error {
	l.using.RLock()
	defer l.using.RUnlock()
	return f(l.wal)
}

func (l *walLogs) FirstIndex() (index uint64, err error) {
	err = l.read(func(w *wal.WAL) error { index, err = w.FirstIndex(); return err })
	return index, err
}

func (l *walLogs) LastIndex() (index uint64, err error) {
	err = l.read(func(w *wal.WAL) error { index, err = w.LastIndex(); return err })
	return index, err
}

func (l *walLogs) GetLog(index uint64, entry *raft.Log) error {
	return l.read(func(w *wal.WAL) error { return w.GetLog(index, entry) })
}

func (l *walLogs) StoreLog(entry *raft.Log) error { return l.StoreLogs([]*raft.Log{entry}) }

func (l *walLogs) StoreLogs(entries []*raft.Log) error {
	return l.write(func(w *wal.WAL) error { return w.StoreLogs(entries) })
}

// DeleteRange deletes from the front or the end of the log only, as Raft does. It
// keeps readers out: raft-wal v0.4.1 may close a segment under one that has just
// found it.
func (l *walLogs) DeleteRange(min, max uint64) error {
	return l.write(func(w *wal.WAL) error {
		l.using.Lock()
		defer l.using.Unlock()
		return w.DeleteRange(min, max)
	})
}

// IsMonotonic tells Raft to empty the log after it has installed a snapshot, since
// the log takes no gap.
func (l *walLogs) IsMonotonic() bool { return true }

// Close waits for a write under way.
func (l *walLogs) Close() error {
	l.writing.Lock()
	defer l.writing.Unlock()
	return errors.Join(l.read((*wal.WAL).Close), l.meta.BoltMetaDB.Close())
}
