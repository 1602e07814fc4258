package storage

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestWhatIsWrittenIsOnDisk: once a write has returned, no page of the directory's files
// waits for the disk.
func TestWhatIsWrittenIsOnDisk(t *testing.T) {
	needPageCounts(t, t.TempDir())
	eachLog(t, func(t *testing.T, cfg Config) {
		path := t.TempDir()
		cfg.SegmentBytes = 64 << 10 // one is enough: nothing is written in the background
		d := openDirWith(t, path, cfg)
		wantSynced(t, path, "open")
		r := openReplica(t, d)
		wantSynced(t, path, "the making of a replica")
		for i := uint64(1); i <= 10; i++ {
			store(t, r.Logs, entry(i, 1, 700))
			wantSynced(t, path, fmt.Sprintf("StoreLogs of %d", i))
		}
		for _, write := range []struct {
			name string
			do   func() error
		}{
			{"DeleteRange of the end", func() error { return r.Logs.DeleteRange(9, 10) }},
			{"StoreLog", func() error { return r.Logs.StoreLog(entry(9, 2, 700)) }},
			{"DeleteRange of the front", func() error { return r.Logs.DeleteRange(1, 3) }},
			{"Set", func() error { return r.Stable.Set([]byte("LastVoteCand"), []byte("n1")) }},
			{"SetUint64", func() error { return r.Stable.SetUint64([]byte("CurrentTerm"), 2) }},
			{"a snapshot", func() error { saveSnapshot(t, r, 8, 1, strings.Repeat("state", 10_000)); return nil }},
			{"SaveMap", func() error { return d.SaveMap([]byte("map")) }},
			{"Form", func() error { return d.Form("c", map[string]string{"n1": d.Identity().Incarnation}) }},
		} {
			if err := write.do(); err != nil {
				t.Fatalf("%s: %v", write.name, err)
			}
			wantSynced(t, path, write.name)
		}
	})
}

// needPageCounts skips the test where the kernel does not tell which pages of a file wait
// for the disk: it must be one after a write, and none after a sync.
func needPageCounts(t *testing.T, dir string) {
	t.Helper()
	f, err := os.Create(filepath.Join(dir, "probe"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString("a page"); err != nil {
		t.Fatal(err)
	}
	before, err := unsynced(f)
	if err != nil {
		t.Skipf("needs cachestat(2), of Linux 6.5: %v", err)
	}
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	if after, err := unsynced(f); err != nil || before == 0 || after != 0 {
		t.Skipf("needs a file system that tells what is on disk: of %s, %d pages wait after a write, %d after a sync (%v)", dir, before, after, err)
	}
}

// unsynced returns how many pages of the file wait for the disk or are on the way to it.
func unsynced(f *os.File) (uint64, error) {
	var s unix.Cachestat_t
	err := unix.Cachestat(uint(f.Fd()), &unix.CachestatRange{}, &s, 0)
	return s.Dirty + s.Writeback, err
}

// wantSynced fails if a page of a file waits for the disk. Files that are not in place
// yet do not count: the shared log's next segment is made in the background.
func wantSynced(t *testing.T, dir, after string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() || strings.HasSuffix(path, tmpEnd) {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		n, err := unsynced(f)
		if n > 0 {
			t.Errorf("after %s: %d pages of %s wait for the disk", after, n, strings.TrimPrefix(path, dir))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
