package storage

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestFullDisk: on a disk without room writes fail with the reason, nothing stored is
// lost, votes are still possible, a restart works, and all goes on once there is room.
func TestFullDisk(t *testing.T) {
	eachLog(t, func(t *testing.T, cfg Config) {
		path := t.TempDir()
		if err := syscall.Mount("tmpfs", path, "tmpfs", 0, "size=2m"); err != nil {
			t.Skipf("needs the right to mount a small file system: %v", err)
		}
		t.Cleanup(func() {
			if err := syscall.Unmount(path, 0); err != nil {
				t.Errorf("unmount: %v", err)
			}
		})
		cfg.SegmentBytes = 64 << 10
		open := func() (*Dir, *Replica) {
			d, err := Open(filepath.Join(path, "data"), cfg)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { d.Close() }) // before unmounting, however the test ends
			r, err := d.OpenReplica(1, 1)
			if err != nil {
				t.Fatal(err)
			}
			return d, r
		}
		d, r := open()
		const size = 10_000
		ballast := filepath.Join(path, "ballast")
		last := uint64(0)
		for round := range 3 {
			for n := last + 5; last < n; last++ {
				store(t, r.Logs, entry(last+1, 1, size))
			}
			fillDisk(t, ballast)
			var err error
			for err == nil {
				if err = r.Logs.StoreLog(entry(last+1, 1, size)); err == nil {
					last++
				}
			}
			if !errors.Is(err, syscall.ENOSPC) || !errors.Is(d.WriteError(), syscall.ENOSPC) {
				t.Fatalf("round %d: err = %v, WriteError = %v; want %v", round, err, d.WriteError(), syscall.ENOSPC)
			}
			wantRange(t, r.Logs, 1, last)
			for i := uint64(1); i <= last; i++ {
				wantEntry(t, r.Logs, entry(i, 1, size))
			}
			fillDisk(t, ballast)
			for term := range uint64(50) {
				if err := r.Stable.SetUint64([]byte("CurrentTerm"), term); err != nil {
					t.Fatalf("round %d: a vote on a full disk: %v", round, err)
				}
			}
			if round == 1 {
				if err := d.Close(); err != nil {
					t.Fatal(err)
				}
				d, r = open()
				wantRange(t, r.Logs, 1, last)
			}
			if err := os.Remove(ballast); err != nil {
				t.Fatal(err)
			}
			store(t, r.Logs, entry(last+1, 1, size))
			last++
			if err := d.WriteError(); err != nil {
				t.Errorf("round %d: WriteError = %v once there is room", round, err)
			}
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		d, r = open()
		for i := uint64(1); i <= last; i++ {
			wantEntry(t, r.Logs, entry(i, 1, size))
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

func fillDisk(t *testing.T, path string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, fileMode)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for block := make([]byte, 4096); err == nil; {
		_, err = f.Write(block)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("fill the disk: %v", err)
	}
}
