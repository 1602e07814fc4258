package storage

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	wal "github.com/hashicorp/raft-wal"
	"github.com/hashicorp/raft-wal/metadb"
	bolterrors "go.etcd.io/bbolt/errors"
)

const (
	stableFile = "stable.db"
	logDir     = "log"
)

// createReplicaFiles makes the directory of a replica unless it is there. All files
// are in it from the moment it appears, so that a missing one is damage, never a
// new replica.
func createReplicaFiles(path string, cfg Config) error {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	tmp := path + tmpEnd
	if err := os.RemoveAll(tmp); err != nil {
		return err
	}
	for _, dir := range []string{logDir, snapshotsDir} {
		if err := os.MkdirAll(filepath.Join(tmp, dir), dirMode); err != nil {
			return err
		}
	}
	stable, err := openStable(filepath.Join(tmp, stableFile))
	if err != nil {
		return err
	}
	if err := stable.Close(); err != nil {
		return err
	}
	logs, err := openWAL(filepath.Join(tmp, logDir), cfg.SegmentBytes, HCLogger(cfg.Logger))
	if err != nil {
		return err
	}
	if err := errors.Join(logs.Close(), syncDir(filepath.Join(tmp, logDir)), syncDir(tmp)); err != nil {
		return err
	}
	return renameSynced(tmp, path)
}

// openReplicaFiles opens the replica in a directory that createReplicaFiles has made.
func openReplicaFiles(path string, id ReplicaID, cfg Config, w *watchdog) (r *Replica, err error) {
	var open closers
	defer func() {
		if err != nil {
			err = errors.Join(asDamage(err), open.Close())
		}
	}()
	for _, name := range []string{stableFile, filepath.Join(logDir, metadb.FileName), snapshotsDir} {
		if _, err := os.Stat(filepath.Join(path, name)); err != nil {
			return nil, err
		}
	}
	logger := HCLogger(cfg.Logger.With("replica", id.String()))
	stable, err := openStable(filepath.Join(path, stableFile))
	if err != nil {
		return nil, err
	}
	open = append(open, stable)
	logs, err := openWAL(filepath.Join(path, logDir), cfg.SegmentBytes, logger.Named("wal"))
	if err != nil {
		return nil, err
	}
	open = append(open, logs)
	snapshots, newest, err := openSnapshots(path, logger.Named("snapshots"))
	if err != nil {
		return nil, err
	}
	if err := checkCovered(logs, newest); err != nil {
		return nil, err
	}
	cached := newCachedLogs(checkedLogs{logs}, cfg.CacheBytes)
	return newReplica(id, cfg, w, cached, stable, snapshots, open.Close), nil
}

// checkCovered refuses a log whose beginning is gone while no snapshot holds it.
func checkCovered(logs logStore, snapshot uint64) error {
	first, err := logs.FirstIndex()
	if err != nil {
		return err
	}
	if first > snapshot+1 {
		return fmt.Errorf("%w: the log begins at %d, the newest snapshot ends at %d; %s", ErrDamaged, first, snapshot, adviseRestore)
	}
	return nil
}

// asDamage marks the errors of the libraries that tell of missing or damaged files.
func asDamage(err error) error {
	if errors.Is(err, ErrDamaged) {
		return err
	}
	for _, sign := range []error{fs.ErrNotExist, wal.ErrCorrupt, bolterrors.ErrInvalid, bolterrors.ErrChecksum, bolterrors.ErrVersionMismatch} {
		if errors.Is(err, sign) {
			return fmt.Errorf("%w: %w; %s", ErrDamaged, err, adviseRestore)
		}
	}
	return err
}

// closers closes the last opened first.
type closers []io.Closer

func (c closers) Close() error {
	var errs []error
	for i := len(c) - 1; i >= 0; i-- {
		errs = append(errs, c[i].Close())
	}
	return errors.Join(errs...)
}
