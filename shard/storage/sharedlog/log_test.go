package sharedlog

import (
	"errors"
	"math"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/raft"
)

func TestViewsAreAsTheyWereAfterReopening(t *testing.T) {
	t.Parallel()
	d := directory(t.TempDir())
	l := openLog(t, d)
	a, b := ID{1, 1}, ID{1, 2}
	whole := &raft.Log{
		Index: 1, Term: math.MaxUint64, Type: raft.LogConfiguration, Data: []byte("data"), Extensions: []byte("extensions"),
		AppendedAt: time.Unix(1, 2),
	}
	store(t, createView(t, l, a), whole)
	store(t, createView(t, l, b), run(1<<40, 1<<40+5, 1, 2000)...)
	createView(t, l, ID{2, 1})
	createView(t, l, ID{3, 1})
	if err := l.Drop(ID{3, 1}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		want(t, l, a, state{whole})
		want(t, l, b, run(1<<40, 1<<40+5, 1, 2000))
		want(t, l, ID{2, 1}, state{})
		want(t, l, ID{3, 1}, nil)
		if got := len(l.Views()); got != 3 {
			t.Errorf("%d views, want 3", got)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		l = openLog(t, d)
	}
}

func TestStoreLogsTakesNoGap(t *testing.T) {
	t.Parallel()
	v := createView(t, openLog(t, newFakeDisk(1)), ID{1, 1})
	store(t, v, run(7, 9, 1, 10)...)
	for name, entries := range map[string]state{
		"an entry again":       run(9, 9, 1, 10),
		"one behind a gap":     run(11, 11, 1, 10),
		"a gap in the batch":   append(run(10, 10, 1, 10), run(12, 12, 1, 10)...),
		"an entry at 0":        run(0, 0, 1, 10),
		"one before the first": run(6, 6, 1, 10),
	} {
		if err := v.StoreLogs(entries); err == nil {
			t.Errorf("the log took %s", name)
		}
	}
	if err := v.DeleteRange(8, 8); err == nil {
		t.Error("the log made a gap")
	}
	want(t, v.log, v.id, run(7, 9, 1, 10))
	if !v.IsMonotonic() {
		t.Error("Raft would rely on gaps")
	}
}

// TestEntriesOfAnySizeFit: an entry may be larger than a segment, and a batch larger
// than what is written at once.
func TestEntriesOfAnySizeFit(t *testing.T) {
	t.Parallel()
	d := newFakeDisk(1)
	l := openLog(t, d)
	v := createView(t, l, ID{1, 1})
	entries := append(run(1, 1, 1, 50*testSegment), run(2, 300, 1, 600)...)
	store(t, v, entries...)
	want(t, l, v.id, entries)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	want(t, openLog(t, d), v.id, entries)
}

func TestDroppedViewTakesNothing(t *testing.T) {
	t.Parallel()
	l := openLog(t, newFakeDisk(1))
	v := createView(t, l, ID{1, 1})
	store(t, v, run(1, 3, 1, 10)...)
	for range 2 {
		if err := l.Drop(v.id); err != nil {
			t.Fatal(err)
		}
	}
	if err := v.StoreLog(entry(4, 1, 10)); !errors.Is(err, ErrClosed) {
		t.Errorf("store: %v, want %v", err, ErrClosed)
	}
	if _, err := l.View(v.id); !errors.Is(err, ErrCorrupt) {
		t.Errorf("view: %v, want %v", err, ErrCorrupt)
	}
	if err := v.GetLog(1, new(raft.Log)); !errors.Is(err, raft.ErrLogNotFound) {
		t.Errorf("get: %v, want %v", err, raft.ErrLogNotFound)
	}
	store(t, createView(t, l, v.id), run(1, 1, 2, 10)...)
	want(t, l, v.id, run(1, 1, 2, 10))
}

func TestClosedLogTakesNothing(t *testing.T) {
	t.Parallel()
	l := openLog(t, newFakeDisk(1))
	v := createView(t, l, ID{1, 1})
	for range 2 {
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := v.StoreLog(entry(1, 1, 10)); !errors.Is(err, ErrClosed) {
		t.Errorf("store: %v, want %v", err, ErrClosed)
	}
}

// TestManyWritersAndReaders lets views grow, shrink at both ends and be read at the
// same time, while segments come and go.
func TestManyWritersAndReaders(t *testing.T) {
	t.Parallel()
	d := newFakeDisk(1)
	l := openLog(t, d)
	const groups, last, kept = 6, 400, 20
	stop := make(chan struct{})
	var writers, readers sync.WaitGroup
	for g := range uint64(groups) {
		v := createView(t, l, ID{g, 1})
		writers.Go(func() {
			for i := uint64(1); i <= last; i++ {
				err := v.StoreLog(entry(i, 1, 100))
				if i%10 == 0 {
					err = errors.Join(err, v.DeleteRange(i, i), v.StoreLog(entry(i, 2, 100)))
				}
				if i > kept {
					err = errors.Join(err, v.DeleteRange(1, i-kept))
				}
				if err != nil {
					t.Errorf("replica %s at %d: %v", v.id, i, err)
					return
				}
			}
		})
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				runtime.Gosched() // the writers need a processor too
				first, last := v.bounds()
				var got raft.Log
				err := v.GetLog((first+last)/2, &got)
				if err == nil && !sameEntry(&got, entry((first+last)/2, got.Term, 100)) || err != nil && !errors.Is(err, raft.ErrLogNotFound) {
					t.Errorf("replica %s: %v, entry %d", v.id, err, got.Index)
					return
				}
			}
		})
	}
	writers.Wait()
	close(stop)
	readers.Wait()
	for range 2 {
		for g := range uint64(groups) {
			s := run(last-kept+1, last, 1, 100)
			for i, e := range s {
				if e.Index%10 == 0 {
					s[i] = entry(e.Index, 2, 100)
				}
			}
			want(t, l, ID{g, 1}, s)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		l = openLog(t, d)
	}
}
