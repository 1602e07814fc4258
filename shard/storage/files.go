package storage

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	wal "github.com/hashicorp/raft-wal"
	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/ringraft/ringraft/shard/storage/sharedlog"
)

const (
	stableFile = "stable.db"
	logDir     = "log"
)

// createReplicaFiles makes the directory of a replica unless it is there. All files
// are in it from the moment it appears, so that a missing one is damage, never a
// new replica.
func createReplicaFiles(path string, id ReplicaID, logs logSet) error {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	tmp := path + tmpEnd
	if err := os.RemoveAll(tmp); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(tmp, snapshotsDir), dirMode); err != nil {
		return err
	}
	stable, err := openStable(filepath.Join(tmp, stableFile))
	if err != nil {
		return err
	}
	if err := errors.Join(stable.Close(), logs.create(id, tmp), syncDir(tmp)); err != nil {
		return err
	}
	return renameSynced(tmp, path)
}

// openReplicaFiles opens the replica in a directory that createReplicaFiles has made.
func (d *Dir) openReplicaFiles(path string, id ReplicaID) (r *Replica, err error) {
	var open closers
	defer func() {
		if err != nil {
			err = errors.Join(asDamage(err), open.Close())
		}
	}()
	for _, name := range []string{stableFile, snapshotsDir} {
		if _, err := os.Stat(filepath.Join(path, name)); err != nil {
			return nil, err
		}
	}
	logger := HCLogger(d.cfg.Logger.With("replica", id.String()))
	stable, err := openStable(filepath.Join(path, stableFile))
	if err != nil {
		return nil, err
	}
	open = append(open, stable)
	logs, closer, err := d.logs.open(id, path, logger)
	if err != nil {
		return nil, err
	}
	open = append(open, closer)
	snapshots, newest, err := openSnapshots(path, logger.Named("snapshots"))
	if err != nil {
		return nil, err
	}
	if err := checkCovered(logs, newest); err != nil {
		return nil, err
	}
	cached := newCachedLogs(logs, d.caches)
	open = append(open, cached)
	return newReplica(id, d.cfg, d.watchdog, cached, stable, snapshots, open.Close), nil
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
	for _, sign := range []error{fs.ErrNotExist, wal.ErrCorrupt, sharedlog.ErrCorrupt, bolterrors.ErrInvalid, bolterrors.ErrChecksum, bolterrors.ErrVersionMismatch} {
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
