package storage

import (
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hashicorp/raft"
	wal "github.com/hashicorp/raft-wal"
	walfs "github.com/hashicorp/raft-wal/fs"
	"github.com/hashicorp/raft-wal/segment"
	"github.com/hashicorp/raft-wal/types"
	"pgregory.net/rapid"
)

// faultyFS fails the operation that budget counts down to, and those after it until
// budget is set again. A failing write puts half of its bytes into the file.
type faultyFS struct {
	types.VFS
	budget atomic.Int32 // operations left before the first failure; negative: never fails
}

var errFault = errors.New("injected disk fault")

// soundFS returns one that does not fail until its budget is set.
func soundFS() *faultyFS {
	fs := &faultyFS{VFS: segmentFS{walfs.New()}}
	fs.budget.Store(-1)
	return fs
}

func (fs *faultyFS) fails() bool {
	if fs.budget.Load() > 0 {
		fs.budget.Add(-1)
	}
	return fs.budget.Load() == 0
}

func (fs *faultyFS) Create(dir, name string, size uint64) (types.WritableFile, error) {
	if fs.fails() {
		return nil, errFault
	}
	f, err := fs.VFS.Create(dir, name, size)
	return &faultyFile{f, fs}, err
}

func (fs *faultyFS) OpenWriter(dir, name string) (types.WritableFile, error) {
	f, err := fs.VFS.OpenWriter(dir, name)
	if err != nil {
		return nil, err
	}
	return &faultyFile{f, fs}, nil
}

type faultyFile struct {
	types.WritableFile
	fs *faultyFS
}

func (f *faultyFile) WriteAt(b []byte, off int64) (int, error) {
	if f.fs.fails() {
		n, err := f.WritableFile.WriteAt(b[:len(b)/2], off)
		return n, errors.Join(err, errFault)
	}
	return f.WritableFile.WriteAt(b, off)
}

func (f *faultyFile) Sync() error {
	if f.fs.fails() {
		return errFault
	}
	return f.WritableFile.Sync()
}

// openFaulty opens a log whose files fail as fs says.
func openFaulty(t rapid.TB, dir string, fs *faultyFS) *walLogs {
	t.Helper()
	l := &walLogs{dir: dir, segmentSize: 4096, logger: HCLogger(slog.New(slog.DiscardHandler)), meta: &walMeta{}, vfs: fs}
	if err := l.reopen(); err != nil {
		t.Fatal(err)
	}
	return l
}

// TestLogKeepsWhatItTookThroughFaultsAndCrashes: whatever fails, and whenever the
// process dies, the log holds every entry that it took, and none that it did not,
// save after a crash a batch whose write failed at the very end.
func TestLogKeepsWhatItTookThroughFaultsAndCrashes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		dir := unsyncedDir(t)
		defer os.RemoveAll(dir)
		fs := soundFS()
		open := func() checkedLogs { return checkedLogs{openFaulty(t, dir, fs)} }
		logs := open()
		defer func() { logs.logStore.(*walLogs).Close() }()
		var model []*raft.Log     // what the log took
		var pending [][]*raft.Log // batches it refused since, one of which may be on disk
		next := func() uint64 {
			if len(model) == 0 {
				return 1
			}
			return model[len(model)-1].Index + 1
		}
		term := uint64(1)
		t.Repeat(map[string]func(*rapid.T){
			"store": func(t *rapid.T) {
				var batch []*raft.Log
				for i := range rapid.Uint64Range(1, 4).Draw(t, "count") {
					batch = append(batch, entry(next()+i, term, rapid.SampledFrom([]int{0, 8, 16, 500, 1500, 6000}).Draw(t, "size")))
				}
				if err := logs.StoreLogs(batch); err != nil {
					if !errors.Is(err, errFault) {
						t.Fatalf("store %d: %v", batch[0].Index, err)
					}
					pending, term = append(pending, batch), term+1
					return
				}
				model, pending = append(model, batch...), nil
			},
			"delete end": func(t *rapid.T) {
				if len(model) == 0 {
					t.Skip("empty")
				}
				keep := rapid.IntRange(max(0, len(model)-6), len(model)-1).Draw(t, "keep")
				if keep == 0 {
					t.Skip("would empty the log")
				}
				fs.budget.Store(-1)
				if err := logs.DeleteRange(model[keep].Index, next()-1); err != nil {
					t.Fatal(err)
				}
				model, pending, term = model[:keep], nil, term+1
			},
			"delete end with a fault": func(t *rapid.T) {
				if len(model) < 2 {
					t.Skip("too short")
				}
				fs.budget.Store(rapid.Int32Range(1, 4).Draw(t, "budget"))
				keep := len(model) - 1
				if logs.DeleteRange(model[keep].Index, next()-1) != nil {
					fs.budget.Store(-1) // Raft tries again
					if err := logs.DeleteRange(model[keep].Index, next()-1); err != nil {
						t.Fatal(err)
					}
				}
				fs.budget.Store(-1)
				model, pending, term = model[:keep], nil, term+1
			},
			"delete front": func(t *rapid.T) {
				if len(model) < 2 {
					t.Skip("too short")
				}
				n := rapid.IntRange(1, len(model)-1).Draw(t, "n")
				fs.budget.Store(-1)
				if err := logs.DeleteRange(model[0].Index, model[n-1].Index); err != nil {
					t.Fatal(err)
				}
				model = model[n:]
			},
			"break disk": func(t *rapid.T) { fs.budget.Store(rapid.Int32Range(1, 6).Draw(t, "budget")) },
			"mend disk":  func(t *rapid.T) { fs.budget.Store(-1) },
			"crash": func(t *rapid.T) {
				logs.logStore.(*walLogs).Close()
				fs.budget.Store(-1)
				logs = open()
				last, err := logs.LastIndex()
				if err != nil {
					t.Fatal(err)
				}
				if last >= next() {
					model = append(model, survivor(t, logs, pending, last)...)
				}
				pending = nil
			},
			"": func(t *rapid.T) {
				first, last := uint64(0), uint64(0)
				if len(model) > 0 {
					first, last = model[0].Index, model[len(model)-1].Index
				}
				gotFirst, err1 := logs.FirstIndex()
				gotLast, err2 := logs.LastIndex()
				if err1 != nil || err2 != nil || gotFirst != first || gotLast != last {
					t.Fatalf("log holds [%d, %d] (%v, %v), want [%d, %d]", gotFirst, gotLast, err1, err2, first, last)
				}
				for _, want := range model {
					var got raft.Log
					if err := logs.GetLog(want.Index, &got); err != nil || !sameEntry(&got, want) {
						t.Fatalf("entry %d: %v, got term %d, %d bytes; want term %d, %d bytes", want.Index, err, got.Term, len(got.Data), want.Term, len(want.Data))
					}
				}
			},
		})
	})
}

// survivor returns the refused batch that the log holds at its end.
func survivor(t *rapid.T, logs raft.LogStore, refused [][]*raft.Log, last uint64) []*raft.Log {
	t.Helper()
	var got raft.Log
	if err := logs.GetLog(last, &got); err != nil {
		t.Fatal(err)
	}
	for _, batch := range refused {
		if sameEntry(&got, batch[len(batch)-1]) {
			return batch
		}
	}
	t.Fatalf("the log ends with entry %d of term %d, which nobody stored", last, got.Term)
	return nil
}

// unsyncedDir returns a directory in memory, where there is such a file system: these
// tests sync thousands of times. The caller removes it.
func unsyncedDir(t rapid.TB) string {
	t.Helper()
	parent := "/dev/shm"
	if stat, err := os.Stat(parent); err != nil || !stat.IsDir() {
		parent = ""
	}
	dir, err := os.MkdirTemp(parent, "ringraft")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestLogGoesOnAfterCloseAtTheEndOfASegment: raft-wal seals a segment and names the
// next one later, in the background. A close in between must not end the log.
func TestLogGoesOnAfterCloseAtTheEndOfASegment(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l := openFaulty(t, dir, soundFS())
	store(t, l, entry(1, 1, 1000))
	l.Close()
	// A wal that cannot write its metadata leaves the files as a crash does.
	w, err := wal.Open(dir, wal.WithSegmentSize(4096), wal.WithMetaStore(&frozenMeta{}), wal.WithLogger(HCLogger(slog.New(slog.DiscardHandler))))
	if err != nil {
		t.Fatal(err)
	}
	sealed := uint64(1)
	for err == nil {
		if err = w.StoreLog(entry(sealed+1, 1, 1000)); err == nil {
			sealed++
		}
	}
	if !errors.Is(err, wal.ErrSealed) {
		t.Fatal(err)
	}
	w.Close()
	l = openFaulty(t, dir, soundFS())
	wantRange(t, l, 1, sealed)
	for i := sealed + 1; i < sealed+10; i++ {
		store(t, l, entry(i, 1, 1000))
	}
	for i := uint64(1); i < sealed+10; i++ {
		wantEntry(t, l, entry(i, 1, 1000))
	}
	l.Close()
}

// frozenMeta loads metadata but writes none.
type frozenMeta struct{ walMeta }

func (m *frozenMeta) CommitState(types.PersistentState) error { return errFault }
func (m *frozenMeta) Close() error                            { return m.BoltMetaDB.Close() }

// TestTornSealIsUndone: a crash while a segment is sealed leaves a part of what was
// written last; the log ends before that and goes on in the same segment.
func TestTornSealIsUndone(t *testing.T) {
	t.Parallel()
	index := func(offsets ...uint32) []byte {
		b := appendFrameHeader(nil, segment.FrameIndex, uint32(4*len(offsets)))
		for _, o := range offsets {
			b = binary.LittleEndian.AppendUint32(b, o)
		}
		return b
	}
	lost := append(appendFrameHeader(nil, segment.FrameEntry, 8), "8 bytes."...)
	for name, tc := range map[string]struct {
		committed uint64 // entries before
		torn      func(end uint32) []byte
	}{
		"half an index block": {3, func(uint32) []byte { return index(segmentHeaderBytes, 0x090909, 0) }},
		"an entry and an index block without their commit": {3, func(end uint32) []byte {
			return append(lost, index(segmentHeaderBytes, 0x090909, 0x090909, end)...)
		}},
		"all of the first batch but its commit": {0, func(end uint32) []byte { return append(lost, index(end)...) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			l := openFaulty(t, dir, soundFS())
			for i := uint64(1); i <= tc.committed; i++ {
				store(t, l, entry(i, 1, 100))
			}
			l.Close()
			appendToSegment(t, dir, tc.torn)
			l = openFaulty(t, dir, soundFS())
			wantRange(t, l, min(1, tc.committed), tc.committed)
			for i := tc.committed + 1; i <= 20; i++ {
				store(t, l, entry(i, 1, 100))
			}
			l.Close()
			l = openFaulty(t, dir, soundFS())
			wantRange(t, l, 1, 20)
			for i := uint64(1); i <= 20; i++ {
				wantEntry(t, l, entry(i, 1, 100))
			}
			l.Close()
		})
	}
}

// appendToSegment puts frames behind the last one of the only segment.
func appendToSegment(t *testing.T, dir string, frames func(end uint32) []byte) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.wal"))
	if err != nil || len(names) != 1 {
		t.Fatalf("segments = %v, %v; want one", names, err)
	}
	b, err := os.ReadFile(names[0])
	if err != nil {
		t.Fatal(err)
	}
	end := max(segmentHeaderBytes, (lastNonZero(b)+frameHeaderBytes)/frameHeaderBytes*frameHeaderBytes)
	copy(b[end:], frames(uint32(end)))
	if err := os.WriteFile(names[0], b, fileMode); err != nil {
		t.Fatal(err)
	}
}

func TestEntryOfAnotherIndexIsDamage(t *testing.T) {
	t.Parallel()
	logs := checkedLogs{shiftedLogs{contiguousLogs{raft.NewInmemStore()}}}
	store(t, logs, entry(1, 1, 10), entry(2, 1, 10))
	var got raft.Log
	if err := logs.GetLog(1, &got); !errors.Is(err, ErrDamaged) {
		t.Errorf("err = %v, want %v", err, ErrDamaged)
	}
}

// shiftedLogs returns the entry behind the one asked for.
type shiftedLogs struct{ contiguousLogs }

func (l shiftedLogs) GetLog(index uint64, e *raft.Log) error {
	return l.contiguousLogs.GetLog(index+1, e)
}

func lastNonZero(b []byte) int {
	for i := len(b) - 1; i > 0; i-- {
		if b[i] != 0 {
			return i
		}
	}
	return 0
}

func TestRestOfSegmentIsClearedBeforeWritingOn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := filepath.Join(dir, "segment")
	write(t, name, strings.Repeat("x", 200<<10))
	f, err := segmentFS{walfs.New()}.OpenWriter(dir, "segment")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt([]byte("new"), 100); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 201<<10)
	n, err := f.ReadAt(b, 0)
	if err != io.EOF {
		t.Fatal(err)
	}
	want := strings.Repeat("x", 100) + "new"
	if got := strings.TrimRight(string(b[:n]), "\x00"); n != 200<<10 || got != want {
		t.Errorf("file has %d bytes, %d before the zeros; want %d, %d", n, len(got), 200<<10, len(want))
	}
}

func TestSegmentThatWasNotAllocatedInFullIsAllocatedAgain(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	cfg := testConfig()
	cfg.Log = LogWAL
	d := openDirWith(t, path, cfg)
	r := openReplica(t, d)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob(filepath.Join(path, groupsDir, "1.1", logDir, "*.wal"))
	if err != nil || len(names) != 1 {
		t.Fatalf("segments = %v, %v; want one", names, err)
	}
	if err := os.Truncate(names[0], 1000); err != nil {
		t.Fatal(err)
	}
	r = openReplica(t, d)
	store(t, r.Logs, entry(1, 1, 100))
	if stat, err := os.Stat(names[0]); err != nil || stat.Size() != int64(testConfig().SegmentBytes) {
		t.Errorf("the segment is %v, %v; want %d bytes", stat, err, testConfig().SegmentBytes)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	wantEntry(t, openReplica(t, d).Logs, entry(1, 1, 100))
}
