package storage

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
)

const (
	snapshotsDir    = "snapshots"
	snapshotMeta    = "meta.json"
	snapshotState   = "state.bin"
	maxSnapshotMeta = 1 << 20 // bytes

	// retainSnapshots is one. The log between an older snapshot and the newest is
	// gone, so a replica cannot go on from the older. Raft would try, if the newest
	// is damaged, and would panic at the gap or, after an install, where there is no
	// log at all, forget what the replica has acknowledged.
	retainSnapshots = 1
)

// fileSnapshots is Raft's file snapshot store, with the file names made durable and
// the remains of a failed snapshot removed.
type fileSnapshots struct {
	*raft.FileSnapshotStore
	dir string
}

// openSnapshots opens the snapshots of the replica in a directory. It removes what a
// crash has left of unfinished ones, and returns the log index of the newest, 0 if
// there is none.
func openSnapshots(replicaDir string, logger hclog.Logger) (*fileSnapshots, uint64, error) {
	dir := filepath.Join(replicaDir, snapshotsDir)
	newest, err := sweepSnapshots(dir)
	if err != nil {
		return nil, 0, err
	}
	store, err := raft.NewFileSnapshotStoreWithLogger(replicaDir, retainSnapshots, logger)
	if err != nil {
		return nil, 0, err
	}
	return &fileSnapshots{store, dir}, newest, nil
}

// sweepSnapshots removes unfinished snapshots. A crash also leaves half a snapshot
// when it was being removed; then there is a newer, whole one. Half a snapshot and no
// whole one is damage.
func sweepSnapshots(dir string) (newest uint64, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0, err
	}
	var half []string
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if index, whole := inspectSnapshot(path); whole {
			newest = max(newest, index)
		} else {
			half = append(half, path)
		}
	}
	for _, path := range half {
		if newest == 0 && !strings.HasSuffix(path, tmpEnd) {
			return 0, fmt.Errorf("snapshot %s: %w; %s", path, ErrDamaged, adviseRestore)
		}
		if err := os.RemoveAll(path); err != nil {
			return 0, err
		}
	}
	return newest, syncDir(dir)
}

// inspectSnapshot reports whether a finished snapshot has its files at their sizes.
// Content is checked when the snapshot is read.
func inspectSnapshot(path string) (index uint64, whole bool) {
	if strings.HasSuffix(path, tmpEnd) {
		return 0, false
	}
	b, err := readBounded(filepath.Join(path, snapshotMeta), maxSnapshotMeta)
	if err != nil {
		return 0, false
	}
	var meta raft.SnapshotMeta
	if err := json.Unmarshal(b, &meta); err != nil {
		return 0, false
	}
	stat, err := os.Stat(filepath.Join(path, snapshotState))
	return meta.Index, err == nil && stat.Size() == meta.Size
}

// Create starts a snapshot. Its directory's own names are synced here, as Raft's
// store syncs only files and the parent.
func (s *fileSnapshots) Create(version raft.SnapshotVersion, index, term uint64, configuration raft.Configuration, configurationIndex uint64, trans raft.Transport) (raft.SnapshotSink, error) {
	sink, err := s.FileSnapshotStore.Create(version, index, term, configuration, configurationIndex, trans)
	if err != nil {
		return nil, err
	}
	wrapped := &fileSink{SnapshotSink: sink, tmp: filepath.Join(s.dir, sink.ID()+tmpEnd)}
	if err := wrapped.open(); err != nil {
		return nil, errors.Join(err, wrapped.Cancel())
	}
	return wrapped, nil
}

// Open verifies the whole snapshot before it returns it.
func (s *fileSnapshots) Open(id string) (*raft.SnapshotMeta, io.ReadCloser, error) {
	meta, state, err := s.FileSnapshotStore.Open(id)
	if err != nil {
		return nil, nil, fmt.Errorf("snapshot %s: %w; if it is damaged, %s", filepath.Join(s.dir, id), err, adviseRestore)
	}
	return meta, state, nil
}

// partBytes of a snapshot are written before they are sent to the disk. A sync of hundreds
// of megabytes at once would keep the log's, on the same disk, waiting; one of each part
// would too, since it also has the disk empty its cache.
const partBytes = 1 << 20

// fileSink sends its snapshot to the disk part by part, and removes what it has written
// if that cannot be finished.
type fileSink struct {
	raft.SnapshotSink
	tmp   string   // the directory while it is unfinished
	state *os.File // the snapshot's, opened once more for writeBack; nil before open
	sent  int64    // bytes sent to the disk
	dirty int64    // bytes behind these
}

func (s *fileSink) open() (err error) {
	if s.state, err = os.OpenFile(filepath.Join(s.tmp, snapshotState), os.O_WRONLY, 0); err != nil {
		return err
	}
	return syncDir(s.tmp)
}

func (s *fileSink) Write(b []byte) (int, error) {
	n, err := s.SnapshotSink.Write(b)
	s.dirty += int64(n)
	if err != nil || s.dirty < partBytes {
		return n, err
	}
	err = writeBack(s.state, s.sent, s.dirty)
	s.sent, s.dirty = s.sent+s.dirty, 0
	return n, err
}

func (s *fileSink) Close() error  { return s.end(s.SnapshotSink.Close()) }
func (s *fileSink) Cancel() error { return s.end(s.SnapshotSink.Cancel()) }

// end comes after the sink has been closed or cancelled, and may be called again.
func (s *fileSink) end(err error) error {
	if s.state != nil {
		_ = s.state.Close() // nothing is written through it
	}
	return s.removeUnless(err)
}

// removeUnless frees a full disk: Raft's sink keeps directory and open file if the
// last bytes cannot be written.
func (s *fileSink) removeUnless(err error) error {
	if err == nil {
		return nil
	}
	if truncErr := os.Truncate(filepath.Join(s.tmp, snapshotState), 0); truncErr != nil && !errors.Is(truncErr, fs.ErrNotExist) {
		return errors.Join(err, truncErr)
	}
	return errors.Join(err, os.RemoveAll(s.tmp))
}
