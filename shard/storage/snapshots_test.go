package storage

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/raft"
)

func saveSnapshot(t *testing.T, r *Replica, index, term uint64, state string) {
	t.Helper()
	sink := createSnapshot(t, r, index, term)
	if _, err := io.WriteString(sink, state); err != nil {
		t.Fatal(err)
	}
	if err := sink.Close(); err != nil {
		t.Fatal(err)
	}
}

func createSnapshot(t *testing.T, r *Replica, index, term uint64) raft.SnapshotSink {
	t.Helper()
	_, transport := raft.NewInmemTransport("")
	sink, err := r.Snapshots.Create(raft.SnapshotVersionMax, index, term, raft.Configuration{}, 1, transport)
	if err != nil {
		t.Fatal(err)
	}
	return sink
}

// wantSnapshots fails unless the newest snapshots are those, newest first.
func wantSnapshots(t *testing.T, r *Replica, states ...string) {
	t.Helper()
	metas, err := r.Snapshots.List()
	if err != nil {
		t.Fatal(err)
	}
	if len(metas) != len(states) {
		t.Fatalf("%d snapshots, want %d", len(metas), len(states))
	}
	for i, meta := range metas {
		got, state, err := r.Snapshots.Open(meta.ID)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(state)
		if err != nil || string(b) != states[i] || got.Index != meta.Index || got.Size != int64(len(b)) {
			t.Errorf("snapshot %s = %q, %v, %+v; want %q", meta.ID, b, err, got, states[i])
		}
		state.Close()
	}
}

func TestSnapshotsOnDiskAndInMemory(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	m, err := NewMemory(testConfig(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var d *Dir
	for name, restart := range map[string]func() *Replica{
		"disk": func() *Replica {
			if d != nil {
				d.Close()
			}
			d = openDir(t, path)
			return openReplica(t, d)
		},
		"memory": func() *Replica {
			m.Close()
			r, err := m.OpenReplica(1, 1)
			if err != nil {
				t.Fatal(err)
			}
			return r
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := restart()
			wantSnapshots(t, r)
			for i := uint64(1); i <= 3; i++ {
				saveSnapshot(t, r, i*10, 1, fmt.Sprint("state ", i))
			}
			wantSnapshots(t, r, "state 3")

			cancelled := createSnapshot(t, r, 40, 1)
			io.WriteString(cancelled, "half")
			if err := cancelled.Cancel(); err != nil {
				t.Fatal(err)
			}
			unfinished := createSnapshot(t, r, 50, 1)
			io.WriteString(unfinished, "half")
			wantSnapshots(t, r, "state 3")

			saveSnapshot(t, r, 5, 2, "newer term")
			wantSnapshots(t, r, "newer term")
			r = restart()
			wantSnapshots(t, r, "newer term")
			r.Close()
		})
	}
	names, err := filepath.Glob(filepath.Join(path, groupsDir, "1.1", snapshotsDir, "*"))
	if err != nil || len(names) != 1 {
		t.Errorf("on disk are %v, %v; want one snapshot and no remains", names, err)
	}
}

func TestReplicaIsRefused(t *testing.T) {
	t.Parallel()
	replica := func(path string, elem ...string) string {
		return filepath.Join(append([]string{path, groupsDir, "1.1"}, elem...)...)
	}
	remove := func(elem ...string) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			if err := os.RemoveAll(replica(path, elem...)); err != nil {
				t.Fatal(err)
			}
		}
	}
	eachSnapshot := func(f func(t *testing.T, snapshot string)) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			names, err := filepath.Glob(replica(path, snapshotsDir, "*"))
			if err != nil || len(names) != 1 {
				t.Fatalf("snapshots = %v, %v; want one", names, err)
			}
			f(t, names[0])
		}
	}
	type damages map[string]func(*testing.T, string)
	common := damages{
		"without its stable store": remove(stableFile),
		"without its snapshots":    remove(snapshotsDir),
		"with a gap before its log": eachSnapshot(func(t *testing.T, snapshot string) {
			if err := os.RemoveAll(snapshot); err != nil {
				t.Fatal(err)
			}
		}),
		"with only half a snapshot": eachSnapshot(func(t *testing.T, snapshot string) {
			if err := os.Truncate(filepath.Join(snapshot, snapshotState), 3); err != nil {
				t.Fatal(err)
			}
		}),
		"with an unreadable snapshot": eachSnapshot(func(t *testing.T, snapshot string) {
			write(t, filepath.Join(snapshot, snapshotMeta), "{")
		}),
		"with a stable store that is none": func(t *testing.T, path string) { write(t, replica(path, stableFile), string(make([]byte, 64<<10))) },
	}
	ofWAL := damages{
		"without its log":      remove(logDir),
		"without log metadata": remove(logDir, "wal-meta.db"),
		"without a sealed segment": func(t *testing.T, path string) {
			names, err := filepath.Glob(replica(path, logDir, "*.wal"))
			if err != nil || len(names) < 2 {
				t.Fatalf("segments = %v, %v", names, err)
			}
			if err := os.Remove(names[0]); err != nil {
				t.Fatal(err)
			}
		},
		"with its last segment cut off": func(t *testing.T, path string) {
			names, err := filepath.Glob(replica(path, logDir, "*.wal"))
			if err != nil || len(names) < 2 {
				t.Fatalf("segments = %v, %v", names, err)
			}
			if err := os.Truncate(names[len(names)-1], 100); err != nil {
				t.Fatal(err)
			}
		},
	}
	check := func(kind LogKind, name string, damage func(*testing.T, string)) {
		t.Run(string(kind)+"/"+name, func(t *testing.T) {
			t.Parallel()
			path := t.TempDir()
			cfg := testConfig()
			cfg.Log = kind
			d := openDirWith(t, path, cfg)
			r := openReplica(t, d)
			for i := uint64(1); i <= 20; i++ {
				store(t, r.Logs, entry(i, 1, 700))
			}
			saveSnapshot(t, r, 10, 1, "state")
			if err := r.Logs.DeleteRange(1, 8); err != nil {
				t.Fatal(err)
			}
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
			damage(t, path)
			for range 2 {
				if _, err := d.OpenReplica(1, 1); !errors.Is(err, ErrDamaged) {
					t.Fatalf("err = %v, want %v", err, ErrDamaged)
				}
			}
		})
	}
	for _, kind := range LogKinds() {
		for name, damage := range common {
			check(kind, name, damage)
		}
	}
	for name, damage := range ofWAL {
		check(LogWAL, name, damage)
	}
}

// TestOnlySnapshotIsDamagedAndTheLogIsEmpty: after an install nothing but the
// snapshot tells that the replica ever held something.
func TestOnlySnapshotIsDamagedAndTheLogIsEmpty(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	d := openDir(t, path)
	r := openReplica(t, d)
	saveSnapshot(t, r, 10, 1, "state")
	r.Close()
	files, err := filepath.Glob(filepath.Join(path, groupsDir, "1.1", snapshotsDir, "*", snapshotState))
	if err != nil || len(files) != 1 {
		t.Fatalf("snapshots = %v, %v; want one", files, err)
	}
	if err := os.Truncate(files[0], 3); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := d.OpenReplica(1, 1); !errors.Is(err, ErrDamaged) {
			t.Fatalf("err = %v, want %v", err, ErrDamaged)
		}
	}
}

func TestSnapshotWithADamagedByteIsNotOpened(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	d := openDir(t, path)
	r := openReplica(t, d)
	saveSnapshot(t, r, 10, 1, "older state")
	saveSnapshot(t, r, 20, 1, "state")
	files, err := filepath.Glob(filepath.Join(path, groupsDir, "1.1", snapshotsDir, "*", snapshotState))
	if err != nil || len(files) != 1 {
		t.Fatalf("snapshots = %v, %v; want one", files, err)
	}
	r.Close()
	write(t, files[0], "statf")
	r = openReplica(t, d)
	metas, err := r.Snapshots.List()
	if err != nil || len(metas) != 1 {
		t.Fatalf("listed %v, %v; want the damaged one and no other in its place", metas, err)
	}
	if _, _, err := r.Snapshots.Open(metas[0].ID); err == nil || !strings.Contains(err.Error(), "refuses a node that was emptied") {
		t.Errorf("err = %v, want one that says what to do", err)
	}
}

func TestHalfRemovedSnapshotBesideAWholeOneIsSwept(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	d := openDir(t, path)
	r := openReplica(t, d)
	saveSnapshot(t, r, 20, 1, "new")
	dir := filepath.Join(path, groupsDir, "1.1", snapshotsDir)
	r.Close()
	old := filepath.Join(dir, "1-10-1700000000000")
	if err := os.Mkdir(old, dirMode); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(old, snapshotState), "old")
	r = openReplica(t, d)
	wantSnapshots(t, r, "new")
	if names, _ := filepath.Glob(filepath.Join(dir, "*")); len(names) != 1 {
		t.Errorf("on disk are %v, want one snapshot", names)
	}
}

func TestFailedSnapshotLeavesNothingOnDisk(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	r := openReplica(t, openDir(t, path))
	sink := createSnapshot(t, r, 10, 1).(*fileSink)
	file, ok := sink.SnapshotSink.(*raft.FileSnapshotSink)
	if !ok {
		t.Fatalf("sink is a %T", sink.SnapshotSink)
	}
	io.WriteString(file, "half")
	if err := file.Close(); err != nil { // as far as Raft's sink gets
		t.Fatal(err)
	}
	if err := os.Mkdir(sink.tmp, dirMode); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(sink.tmp, snapshotState), "half")
	full := errors.New("disk full")
	if err := sink.removeUnless(full); !errors.Is(err, full) {
		t.Errorf("err = %v, want %v", err, full)
	}
	if _, err := os.Stat(sink.tmp); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the unfinished snapshot is still there: %v", err)
	}
}
