package storage

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"github.com/ringraft/ringraft/shard/storage/sharedlog"
)

// sharedLogs are logs in one for the whole directory.
type sharedLogs struct{ log *sharedlog.Log }

// openSharedLogs opens the log in a data directory, and creates it if there are no
// groups yet.
func openSharedLogs(path string, cfg Config) (sharedLogs, error) {
	dir := filepath.Join(path, logDir)
	if err := makeLogDir(dir, filepath.Join(path, groupsDir)); err != nil {
		return sharedLogs{}, err
	}
	log, err := sharedlog.Open(dir, sharedlog.Config{SegmentBytes: cfg.SegmentBytes, Logger: cfg.Logger})
	if err != nil {
		return sharedLogs{}, asDamage(fmt.Errorf("%s: %w", dir, err))
	}
	l := sharedLogs{log}
	l.sweep(path, cfg.Logger)
	return l, nil
}

func makeLogDir(dir, groups string) error {
	if _, err := os.Lstat(groups); errors.Is(err, fs.ErrNotExist) {
		return mkdirSynced(dir)
	}
	if _, err := os.Stat(dir); err != nil {
		return asDamage(err)
	}
	return nil
}

// sweep drops the logs of replicas whose creation a crash has cut short. They hold
// nothing, so one that cannot be dropped does no harm.
func (l sharedLogs) sweep(path string, log *slog.Logger) {
	for _, view := range l.log.Views() {
		dir := filepath.Join(path, groupsDir, ReplicaID(view).String())
		_, noFiles := os.Lstat(dir)
		_, notBorn := os.Lstat(dir + bornEnd)
		if !errors.Is(noFiles, fs.ErrNotExist) || !errors.Is(notBorn, fs.ErrNotExist) {
			continue
		}
		if err := l.log.Drop(view); err != nil {
			log.Warn("what is left of a replica that was never made cannot be dropped", "replica", view, "err", err)
		}
	}
}

func (l sharedLogs) create(id ReplicaID, _ string) error { return l.log.Create(sharedlog.ID(id)) }

func (l sharedLogs) open(id ReplicaID, _ string, _ hclog.Logger) (logStore, io.Closer, error) {
	view, err := l.log.View(sharedlog.ID(id))
	return sharedView{view}, closers{}, err
}

// sharedView is a replica's part of the log. There is nothing to close about it.
type sharedView struct{ *sharedlog.View }

// GetLog returns ErrDamaged for an entry that is not as it was stored.
func (v sharedView) GetLog(index uint64, entry *raft.Log) error {
	return asDamage(v.View.GetLog(index, entry))
}

func (l sharedLogs) Close() error { return l.log.Close() }
