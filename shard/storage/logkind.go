package storage

import (
	"io"
	"slices"

	"github.com/hashicorp/go-hclog"
)

// LogKind names how the logs of a data directory are kept. The directory remembers it.
type LogKind string

const (
	// LogWAL: each replica has a raft-wal log.
	LogWAL LogKind = "wal"
	// LogShared: all replicas share one log, and its syncs.
	LogShared LogKind = "shared"
	// LogBolt: each replica has a bolt database.
	LogBolt LogKind = "bolt"
)

// LogKinds lists the kinds there are.
func LogKinds() []LogKind { return []LogKind{LogWAL, LogShared, LogBolt} }

func (k LogKind) known() bool { return slices.Contains(LogKinds(), k) }

// logSet holds the logs of a data directory's replicas.
type logSet interface {
	// create makes the log of a replica, whose directory is in the making.
	create(id ReplicaID, dir string) error
	// open opens it. Something that is missing is an error.
	open(id ReplicaID, dir string, logger hclog.Logger) (logStore, io.Closer, error)
	// Close closes what the logs share, after all that were opened.
	Close() error
}

// openLogs opens what the logs of a directory share.
func openLogs(path string, kind LogKind, cfg Config) (logSet, error) {
	switch kind {
	case LogShared:
		return openSharedLogs(path, cfg)
	case LogBolt:
		return boltLogs{}, nil
	default:
		return walSet{cfg.SegmentBytes, HCLogger(cfg.Logger)}, nil
	}
}
