package storage

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/hashicorp/raft"
)

func TestReplicaOutlivesReopen(t *testing.T) {
	eachLog(t, func(t *testing.T, cfg Config) {
		path := t.TempDir()
		d := openDirWith(t, path, cfg)
		r := openReplica(t, d)
		if _, err := r.Stable.Get([]byte("LastVoteCand")); err == nil || err.Error() != "not found" {
			t.Errorf("an absent key: err = %v; Raft expects the text \"not found\"", err)
		}
		for i := uint64(1); i <= 12; i++ {
			store(t, r.Logs, entry(i, 1, 1000))
		}
		if err := r.Stable.SetUint64([]byte("CurrentTerm"), 7); err != nil {
			t.Fatal(err)
		}
		if err := r.Stable.Set([]byte("LastVoteCand"), []byte("n2/1/1")); err != nil {
			t.Fatal(err)
		}
		if _, err := d.OpenReplica(1, 1); err == nil {
			t.Error("a replica was opened twice")
		}
		if other, err := d.OpenReplica(1, 2); err != nil {
			t.Errorf("another generation: %v", err)
		} else {
			wantRange(t, other.Logs, 0, 0)
		}
		d.Close()

		r = openReplica(t, openDirWith(t, path, cfg))
		wantRange(t, r.Logs, 1, 12)
		for i := uint64(1); i <= 12; i++ {
			wantEntry(t, r.Logs, entry(i, 1, 1000))
		}
		if term, err := r.Stable.GetUint64([]byte("CurrentTerm")); err != nil || term != 7 {
			t.Errorf("term = %d, %v; want 7", term, err)
		}
		if vote, err := r.Stable.Get([]byte("LastVoteCand")); err != nil || string(vote) != "n2/1/1" {
			t.Errorf("vote = %q, %v", vote, err)
		}
		if logs, ok := r.Logs.(raft.MonotonicLogStore); !ok || !logs.IsMonotonic() {
			t.Error("Raft would not empty the log after an installed snapshot")
		}
	})
}

func TestReplicaCreationInterruptedByACrash(t *testing.T) {
	eachLog(t, func(t *testing.T, cfg Config) {
		path := t.TempDir()
		d := openDirWith(t, path, cfg)
		half := filepath.Join(path, groupsDir, "1.1"+tmpEnd)
		if err := os.MkdirAll(filepath.Join(half, logDir), dirMode); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(half, stableFile), "half a database")
		r := openReplica(t, d)
		store(t, r.Logs, entry(1, 1, 10))
		if _, err := os.Stat(half); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the half made directory is still there: %v", err)
		}
	})
}

func TestReadersDuringWritesAndTruncation(t *testing.T) {
	eachLog(t, func(t *testing.T, cfg Config) {
		cfg.CacheBytes = 2000
		d := openDirWith(t, t.TempDir(), cfg)
		r := openReplica(t, d)
		const last = 60
		done := make(chan struct{})
		var readers sync.WaitGroup
		for range 2 {
			readers.Go(func() {
				for i := uint64(0); ; i++ {
					select {
					case <-done:
						return
					default:
					}
					var got raft.Log
					index := i%last + 1
					if err := r.Logs.GetLog(index, &got); err == nil && !sameEntry(&got, entry(index, got.Term, 500)) {
						t.Errorf("entry %d is not what was stored", index)
						return
					} else if err != nil && !errors.Is(err, raft.ErrLogNotFound) {
						t.Errorf("entry %d: %v", index, err)
						return
					}
				}
			})
		}
		for i, from := range []uint64{1, 20, 30} {
			if err := r.Logs.DeleteRange(from, last); err != nil {
				t.Fatal(err)
			}
			for index := from; index <= last; index++ {
				store(t, r.Logs, entry(index, uint64(i+1), 500))
			}
		}
		close(done)
		readers.Wait()
		wantRange(t, r.Logs, 1, last)
		wantEntry(t, r.Logs, entry(15, 1, 500))
		wantEntry(t, r.Logs, entry(25, 2, 500))
		wantEntry(t, r.Logs, entry(35, 3, 500))
	})
}

func TestManyReplicas(t *testing.T) {
	eachLog(t, func(t *testing.T, cfg Config) {
		path := t.TempDir()
		for round := uint64(1); round <= 2; round++ {
			d := openDirWith(t, path, cfg)
			for group := uint64(0); group < 32; group++ {
				r, err := d.OpenReplica(group, 1)
				if err != nil {
					t.Fatal(err)
				}
				store(t, r.Logs, entry(round, group+1, 100))
				wantEntry(t, r.Logs, entry(1, group+1, 100))
			}
			if err := d.Close(); err != nil {
				t.Fatal(err)
			}
		}
	})
}
