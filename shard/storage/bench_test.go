package storage

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"golang.org/x/sys/unix"
)

// BenchmarkStoreLogs stores batches of one entry, as leaders under load do, in several
// groups at once: with syncs on the disk of the test's directory, and without, in
// memory. An iteration is a batch of one of the groups; batches/s are those of all.
// docs/decisions/0016-log.md has figures.
func BenchmarkStoreLogs(b *testing.B) {
	for _, disk := range []string{"disk", "memory"} {
		for _, groups := range []int{1, 4, 16} {
			for _, size := range []int{1 << 10, 16 << 10} {
				for _, kind := range LogKinds() {
					b.Run(fmt.Sprintf("on=%s/groups=%d/size=%d/log=%s", disk, groups, size, kind), func(b *testing.B) {
						storeInGroups(b, benchDir(b, disk), groups, size, kind)
					})
				}
			}
		}
	}
}

func benchDir(b *testing.B, disk string) string {
	if disk == "disk" {
		return b.TempDir()
	}
	dir, err := os.MkdirTemp("/dev/shm", "ringraft")
	if err != nil {
		b.Skipf("needs a file system in memory: %v", err)
	}
	b.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func storeInGroups(b *testing.B, dir string, groups, size int, kind LogKind) {
	d, err := Open(dir, Config{Node: "n1", Log: kind})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { d.Close() })
	var stop atomic.Bool
	var others sync.WaitGroup
	var stored atomic.Int64
	var first func() error
	for g := range groups {
		r, err := d.OpenReplica(uint64(g+1), 1)
		if err != nil {
			b.Fatal(err)
		}
		store := storer(r.Logs, size)
		if err := store(); err != nil { // files are made at the first write
			b.Fatal(err)
		}
		if g == 0 {
			first = store
			continue
		}
		others.Go(func() {
			for !stop.Load() {
				if err := store(); err != nil {
					b.Error(err)
					return
				}
				stored.Add(1)
			}
		})
	}
	b.ReportAllocs()
	spent := processorTime(b)
	for b.Loop() {
		if err := first(); err != nil {
			b.Fatal(err)
		}
		stored.Add(1)
	}
	b.ReportMetric(float64(stored.Load())/b.Elapsed().Seconds(), "batches/s")
	b.ReportMetric(float64((processorTime(b)-spent).Microseconds())/float64(stored.Load()), "cpu-µs/batch")
	stop.Store(true)
	others.Wait()
}

// processorTime is what this process has used so far. Other work on the machine hardly
// changes it.
func processorTime(b *testing.B) time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// storer returns a function that stores one entry behind the last. Of the entries, the
// newest 4,000 are kept.
func storer(logs raft.LogStore, size int) func() error {
	data := make([]byte, size)
	index := uint64(0)
	return func() error {
		index++
		if index%2000 == 0 && index > 4000 {
			if err := logs.DeleteRange(index-6000+1, index-4000); err != nil {
				return err
			}
		}
		return logs.StoreLog(&raft.Log{Index: index, Term: 1, Data: data})
	}
}
