package storage

import (
	"io"
	"os"
	"path/filepath"

	"github.com/hashicorp/go-hclog"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
	"go.etcd.io/bbolt"
)

const boltLogFile = "log.db"

// boltLogs are logs in a bolt database per replica.
type boltLogs struct{}

func (boltLogs) create(_ ReplicaID, dir string) error {
	store, err := openBoltLog(filepath.Join(dir, boltLogFile))
	if err != nil {
		return err
	}
	return store.Close()
}

func (boltLogs) open(_ ReplicaID, dir string, _ hclog.Logger) (logStore, io.Closer, error) {
	path := filepath.Join(dir, boltLogFile)
	if _, err := os.Stat(path); err != nil { // bolt would create it
		return nil, nil, err
	}
	store, err := openBoltLog(path)
	if err != nil {
		return nil, nil, err
	}
	return checkedLogs{contiguousLogs{store}}, store, nil
}

func openBoltLog(path string) (*raftboltdb.BoltStore, error) {
	return raftboltdb.New(raftboltdb.Options{
		Path:                    path,
		BoltOptions:             &bbolt.Options{Timeout: boltTimeout, NoFreelistSync: true},
		MsgpackUseNewTimeFormat: true,
	})
}

func (boltLogs) Close() error { return nil }
