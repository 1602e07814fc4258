package storage

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/raft"
	"pgregory.net/rapid"
)

func TestSuffixDeletedThenReopened(t *testing.T) {
	eachLog(t, func(t *testing.T, cfg Config) {
		path := t.TempDir()
		d := openDirWith(t, path, cfg)
		r := openReplica(t, d)
		for i := uint64(1); i <= 20; i++ {
			store(t, r.Logs, entry(i, 1, 700))
		}
		if err := r.Logs.DeleteRange(14, 20); err != nil {
			t.Fatal(err)
		}
		d.Close()
		r = openReplica(t, openDirWith(t, path, cfg))
		wantRange(t, r.Logs, 1, 13)
		store(t, r.Logs, entry(14, 2, 700), entry(15, 2, 700))
		wantEntry(t, r.Logs, entry(14, 2, 700))
		for i := uint64(1); i <= 13; i++ {
			wantEntry(t, r.Logs, entry(i, 1, 700))
		}
	})
}

func TestLogStartsAfterASnapshotWasInstalled(t *testing.T) {
	eachLog(t, func(t *testing.T, cfg Config) {
		path := t.TempDir()
		d := openDirWith(t, path, cfg)
		r := openReplica(t, d)
		for i := uint64(1); i <= 9; i++ {
			store(t, r.Logs, entry(i, 1, 700))
		}
		saveSnapshot(t, r, 1000, 3, "state")
		if err := r.Logs.DeleteRange(1, 9); err != nil {
			t.Fatal(err)
		}
		wantRange(t, r.Logs, 0, 0)
		store(t, r.Logs, entry(1001, 3, 700))
		if err := r.Logs.StoreLog(entry(1003, 3, 700)); err == nil {
			t.Error("the log took an entry behind a gap")
		}
		d.Close()
		r = openReplica(t, openDirWith(t, path, cfg))
		wantRange(t, r.Logs, 1001, 1001)
		wantEntry(t, r.Logs, entry(1001, 3, 700))
	})
}

// TestDamagedByteIsNeverReturned: with any byte of the log's files changed, or any
// part of their end missing, the log is refused, or ends early, or reports damage;
// what it returns is what was stored.
func TestDamagedByteIsNeverReturned(t *testing.T) {
	for kind, pattern := range map[LogKind]string{
		LogWAL:    filepath.Join(groupsDir, "1.1", logDir, "*.wal"),
		LogShared: filepath.Join(logDir, "*.seg"),
	} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			cfg := testConfig()
			cfg.Log = kind
			checkDamagedBytes(t, cfg, pattern)
		})
	}
}

// checkDamagedBytes damages the files of the pattern.
func checkDamagedBytes(t *testing.T, cfg Config, pattern string) {
	source := t.TempDir()
	d := openDirWith(t, source, cfg)
	r := openReplica(t, d)
	const last = 15
	for i := uint64(1); i <= last; i++ {
		store(t, r.Logs, entry(i, 1, 700))
	}
	d.Close()
	segments, err := filepath.Glob(filepath.Join(source, pattern))
	if err != nil || len(segments) < 3 {
		t.Fatalf("segments = %v, %v; want 3 at least", segments, err)
	}
	rapid.Check(t, func(t *rapid.T) {
		path := unsyncedDir(t)
		defer os.RemoveAll(path)
		if err := os.CopyFS(path, os.DirFS(source)); err != nil {
			t.Fatal(err)
		}
		name := rapid.SampledFrom(segments).Draw(t, "segment")
		name = filepath.Join(path, strings.TrimPrefix(name, source))
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		at := rapid.IntRange(0, lastNonZero(b)).Draw(t, "at")
		if rapid.Bool().Draw(t, "truncate") {
			b = b[:at]
		} else {
			b[at] ^= rapid.Byte().Draw(t, "xor") | 1
		}
		if err := os.WriteFile(name, b, fileMode); err != nil {
			t.Fatal(err)
		}
		d, err := Open(path, cfg)
		if errors.Is(err, ErrDamaged) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		r, err := d.OpenReplica(1, 1)
		if err != nil {
			return
		}
		wantUndamaged(t, r.Logs, last)
		end, err := r.Logs.LastIndex()
		if err != nil || end == 0 {
			return
		}
		if err := r.Logs.StoreLog(entry(end+1, 1, 700)); err != nil {
			t.Fatalf("store after %d: %v", end, err)
		}
		wantUndamaged(t, r.Logs, last)
	})
}

func wantUndamaged(t *rapid.T, logs raft.LogStore, last uint64) {
	t.Helper()
	for i := uint64(1); i <= last; i++ {
		var got raft.Log
		if err := logs.GetLog(i, &got); err == nil && !sameEntry(&got, entry(i, 1, 700)) {
			t.Fatalf("entry %d: got index %d, %d bytes that were never stored", i, got.Index, len(got.Data))
		}
	}
}

// TestDirectoryRemembersItsKindOfLog: another kind is refused, with the flag and both
// kinds; none takes the directory as it is.
func TestDirectoryRemembersItsKindOfLog(t *testing.T) {
	eachLog(t, func(t *testing.T, cfg Config) {
		path := t.TempDir()
		d := openDirWith(t, path, cfg)
		store(t, openReplica(t, d).Logs, entry(1, 1, 10))
		d.Close()
		for _, other := range LogKinds() {
			if other == cfg.Log {
				continue
			}
			asked := cfg
			asked.Log = other
			_, err := Open(path, asked)
			if err == nil || !strings.Contains(err.Error(), "--log is "+string(other)) || !strings.Contains(err.Error(), "say --log "+string(cfg.Log)) {
				t.Errorf("opened with %s: %v, want an error with the flag and both kinds", other, err)
			}
		}
		none := cfg
		none.Log = ""
		d = openDirWith(t, path, none)
		if got := d.Identity().Log; got != cfg.Log {
			t.Errorf("the directory has logs of the kind %q, want %q", got, cfg.Log)
		}
		wantEntry(t, openReplica(t, d).Logs, entry(1, 1, 10))
	})
}

func TestMissingLogIsDamage(t *testing.T) {
	for kind, missing := range map[LogKind][]string{
		LogWAL:    {filepath.Join(groupsDir, "1.1", logDir)},
		LogShared: {logDir, filepath.Join(logDir, "*.seg")},
		LogBolt:   {filepath.Join(groupsDir, "1.1", boltLogFile)},
	} {
		for _, pattern := range missing {
			t.Run(string(kind)+"/"+pattern, func(t *testing.T) {
				t.Parallel()
				cfg := testConfig()
				cfg.Log = kind
				path := t.TempDir()
				d := openDirWith(t, path, cfg)
				store(t, openReplica(t, d).Logs, entry(1, 1, 10))
				d.Close()
				names, err := filepath.Glob(filepath.Join(path, pattern))
				if err != nil || len(names) == 0 {
					t.Fatalf("%s: %v, %v", pattern, names, err)
				}
				for _, name := range names {
					if err := os.RemoveAll(name); err != nil {
						t.Fatal(err)
					}
				}
				d, err = Open(path, cfg)
				if err == nil {
					defer d.Close()
					_, err = d.OpenReplica(1, 1)
				}
				if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), adviseRestore) {
					t.Errorf("err = %v, want %v and what to do", err, ErrDamaged)
				}
			})
		}
	}
}

// TestEntryDamagedWhileOpenIsDamage: what the disk changes under a log that is open is
// noticed when it is read.
func TestEntryDamagedWhileOpenIsDamage(t *testing.T) {
	for kind, pattern := range map[LogKind]string{
		LogWAL:    filepath.Join(groupsDir, "1.1", logDir, "*.wal"),
		LogShared: filepath.Join(logDir, "*.seg"),
	} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			cfg := testConfig()
			cfg.Log, cfg.CacheBytes = kind, 1
			path := t.TempDir()
			r := openReplica(t, openDirWith(t, path, cfg))
			store(t, r.Logs, &raft.Log{Index: 1, Term: 1, Data: []byte("as it was stored")})
			names, err := filepath.Glob(filepath.Join(path, pattern))
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range names {
				content, err := os.ReadFile(name)
				if err != nil {
					t.Fatal(err)
				}
				f, err := os.OpenFile(name, os.O_WRONLY, 0)
				if err != nil {
					t.Fatal(err)
				}
				if at := strings.Index(string(content), "as it was stored"); at >= 0 {
					_, err = f.WriteAt([]byte("is"), int64(at))
				}
				if err := errors.Join(err, f.Close()); err != nil {
					t.Fatal(err)
				}
			}
			if err := r.Logs.GetLog(1, new(raft.Log)); !errors.Is(err, ErrDamaged) {
				t.Errorf("err = %v, want %v", err, ErrDamaged)
			}
		})
	}
}

// TestReplicasThatWereNeverMadeLeaveNoLog: a crash between the making of a replica's
// part of the shared log and that of its directory leaves nothing for good. A replica
// whose directory is gone keeps its part: somebody may put the directory back.
func TestReplicasThatWereNeverMadeLeaveNoLog(t *testing.T) {
	t.Parallel()
	cfg := testConfig()
	cfg.Log = LogShared
	path := t.TempDir()
	d := openDirWith(t, path, cfg)
	store(t, openReplica(t, d).Logs, entry(1, 1, 10))
	for _, group := range []uint64{2, 3} {
		if err := d.logs.create(ReplicaID{group, 1}, ""); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.MarkBorn(3, 1); err != nil {
		t.Fatal(err)
	}
	d.Close()
	d = openDirWith(t, path, cfg)
	if got := len(d.logs.(sharedLogs).log.Views()); got != 2 {
		t.Errorf("the log has parts of %d replicas, want 2", got)
	}
	wantEntry(t, openReplica(t, d).Logs, entry(1, 1, 10))
}
