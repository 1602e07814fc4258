package storage

import (
	"path/filepath"
	"testing"

	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
	"go.etcd.io/bbolt"
)

// BenchmarkStoreLogs stores batches of one entry of 16 KiB, what a leader under load
// gathers. docs/decisions/0002-log-store.md has figures.
func BenchmarkStoreLogs(b *testing.B) {
	const size = 16 << 10
	for name, open := range map[string]func(b *testing.B, dir string) raft.LogStore{
		"store=bolt": func(b *testing.B, dir string) raft.LogStore {
			s, err := raftboltdb.New(raftboltdb.Options{
				Path:        filepath.Join(dir, "log.db"),
				BoltOptions: &bbolt.Options{NoFreelistSync: true},
			})
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { s.Close() })
			return s
		},
		"store=wal/segment=16MiB":  replicaLogs(16 << 20),
		"store=wal/segment=64MiB":  replicaLogs(64 << 20),
		"store=wal/segment=256MiB": replicaLogs(256 << 20),
	} {
		b.Run(name, func(b *testing.B) {
			logs := open(b, b.TempDir())
			data := make([]byte, size)
			b.SetBytes(size)
			b.ReportAllocs()
			index := uint64(0)
			for b.Loop() {
				index++
				if err := logs.StoreLog(&raft.Log{Index: index, Term: 1, Data: data}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// replicaLogs opens the log of a replica with all that this package puts around it.
func replicaLogs(segmentBytes int) func(*testing.B, string) raft.LogStore {
	return func(b *testing.B, dir string) raft.LogStore {
		d, err := Open(dir, Config{Node: "n1", SegmentBytes: segmentBytes})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { d.Close() })
		r, err := d.OpenReplica(1, 1)
		if err != nil {
			b.Fatal(err)
		}
		return r.Logs
	}
}
