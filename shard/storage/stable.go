package storage

import (
	"time"

	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
	"go.etcd.io/bbolt"
)

// boltTimeout bounds the wait for bolt's own lock, which nobody should hold.
const boltTimeout = 5 * time.Second

// openStable opens the store for term and vote, and creates it if it is not there.
// The few values fit into one page, and bolt writes it in turn at places that the
// file has had since its birth: a replica can vote on a full disk. Raft panics if it
// cannot.
func openStable(path string) (*raftboltdb.BoltStore, error) {
	return raftboltdb.New(raftboltdb.Options{
		Path:        path,
		BoltOptions: &bbolt.Options{Timeout: boltTimeout, NoFreelistSync: true},
	})
}
