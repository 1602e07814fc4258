package storage

import (
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/hashicorp/raft"
	"pgregory.net/rapid"
)

// countingLogs is a log in memory that counts reads and can refuse writes.
type countingLogs struct {
	contiguousLogs
	reads int
	fail  error
}

func newCountingLogs() *countingLogs {
	return &countingLogs{contiguousLogs: contiguousLogs{raft.NewInmemStore()}}
}

func (l *countingLogs) GetLog(index uint64, e *raft.Log) error {
	l.reads++
	return l.contiguousLogs.GetLog(index, e)
}

func (l *countingLogs) StoreLogs(entries []*raft.Log) error {
	if l.fail != nil {
		return l.fail
	}
	return l.contiguousLogs.StoreLogs(entries)
}

func TestCacheAnswersAsTheLogDoes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const limit = 2000
		c := newCachedLogs(newCountingLogs(), &cacheShares{total: limit})
		model := map[uint64]*raft.Log{}
		first, last, term := uint64(0), uint64(0), uint64(1)
		drop := func(min, max uint64) {
			if err := c.DeleteRange(min, max); err != nil {
				t.Fatal(err)
			}
			for i := min; i <= max; i++ {
				delete(model, i)
			}
			if len(model) == 0 {
				first, last = 0, 0
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"store": func(t *rapid.T) {
				if last == 0 {
					first = rapid.Uint64Range(1, 1000).Draw(t, "first")
					last = first - 1
				}
				var batch []*raft.Log
				for range rapid.IntRange(1, 5).Draw(t, "count") {
					last++
					e := entry(last, term, rapid.SampledFrom([]int{0, 10, 300, 3000}).Draw(t, "size"))
					batch, model[last] = append(batch, e), e
				}
				if err := c.StoreLogs(batch); err != nil {
					t.Fatal(err)
				}
			},
			"fail": func(t *rapid.T) {
				full := errors.New("disk full")
				under := c.logStore.(*countingLogs)
				under.fail = full
				if err := c.StoreLog(entry(last+1, term, 10)); err != full {
					t.Fatalf("err = %v, want it unchanged", err)
				}
				under.fail = nil
			},
			"delete front": func(t *rapid.T) {
				if last == 0 {
					t.Skip("empty")
				}
				to := rapid.Uint64Range(first, last).Draw(t, "to")
				from := first
				first = to + 1
				drop(from, to)
			},
			"delete end": func(t *rapid.T) {
				if last == 0 {
					t.Skip("empty")
				}
				from := rapid.Uint64Range(first, last).Draw(t, "from")
				to := last
				last = from - 1
				term++
				drop(from, to)
			},
			"": func(t *rapid.T) {
				for i := first; i <= last+2; i++ {
					var got raft.Log
					err := c.GetLog(i, &got)
					if want := model[i]; want == nil {
						if !errors.Is(err, raft.ErrLogNotFound) {
							t.Fatalf("get %d: err = %v, want %v", i, err, raft.ErrLogNotFound)
						}
					} else if err != nil || !sameEntry(&got, want) {
						t.Fatalf("get %d: %v, term %d; want term %d", i, err, got.Term, want.Term)
					}
				}
				sum := 0
				for i := range c.entries {
					sum += cost(&c.entries[i])
				}
				if sum != c.bytes || sum > limit {
					t.Fatalf("holds %d bytes, counts %d, limit %d", sum, c.bytes, limit)
				}
			},
		})
	})
}

func TestCacheServesRecentEntriesWithoutReading(t *testing.T) {
	t.Parallel()
	under := newCountingLogs()
	c := newCachedLogs(under, &cacheShares{total: 10 * (100 + entryOverhead)})
	for i := uint64(1); i <= 100; i++ {
		store(t, c, entry(i, 1, 90))
	}
	for i := uint64(92); i <= 100; i++ {
		wantEntry(t, c, entry(i, 1, 90))
	}
	if under.reads != 0 {
		t.Errorf("recent entries caused %d reads", under.reads)
	}
	wantEntry(t, c, entry(1, 1, 90))
	if under.reads != 1 {
		t.Errorf("an old entry caused %d reads, want 1", under.reads)
	}
}

func TestCachesShareTheirMemory(t *testing.T) {
	t.Parallel()
	const entries = 12
	shares := &cacheShares{total: entries * (100 + entryOverhead)}
	holds := func(c *cachedLogs) int {
		last, err := c.LastIndex()
		if err != nil {
			t.Fatal(err)
		}
		for range entries + 1 { // as many as would fit, and one
			last++
			store(t, c, entry(last, 1, 90))
		}
		return len(c.entries)
	}
	first := newCachedLogs(newCountingLogs(), shares)
	alone := holds(first)
	second := newCachedLogs(newCountingLogs(), shares)
	third := newCachedLogs(newCountingLogs(), shares)
	shared := []int{holds(first), holds(second), holds(third)}
	if err := errors.Join(second.Close(), third.Close()); err != nil {
		t.Fatal(err)
	}
	again := holds(first)
	if alone != entries || !slices.Equal(shared, []int{entries / 3, entries / 3, entries / 3}) || again != entries {
		t.Errorf("a log holds %d alone, three hold %d, the one that is left %d; want %d, a third each, and %d",
			alone, shared, again, entries, entries)
	}
}

func TestCacheUnderConcurrentReaders(t *testing.T) {
	t.Parallel()
	c := newCachedLogs(contiguousLogs{raft.NewInmemStore()}, &cacheShares{total: 4000})
	const last = 500
	done := make(chan struct{})
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for i := uint64(0); ; i++ {
				select {
				case <-done:
					return
				default:
				}
				var got raft.Log
				index := i%last + 1
				if err := c.GetLog(index, &got); err == nil && !sameEntry(&got, entry(index, got.Term, 20)) {
					t.Errorf("entry %d is another: index %d", index, got.Index)
					return
				}
			}
		})
	}
	for i, term := uint64(1), uint64(1); i <= last; i++ {
		store(t, c, entry(i, term, 20))
		if i%50 == 0 && i/50 == term {
			if err := c.DeleteRange(i-9, i); err != nil {
				t.Fatal(err)
			}
			i, term = i-10, term+1
		}
	}
	close(done)
	wg.Wait()
}
