package op_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ringraft/ringraft/op"
)

// shelf is a view of one slot's records, in ascending order of their keys.
type shelf struct {
	slot uint16
	keys []op.Keyed
}

func (shelf) Now() int64                          { return 0 }
func (shelf) Lookup([]byte) (op.Record, bool)     { return op.Record{}, false }
func (shelf) Decision([]byte) (op.Decision, bool) { return op.Decision{}, false }

func (s shelf) Page(slot uint16, after, prefix []byte, limit, look int) (page []op.Keyed, next []byte, looked int) {
	if slot != s.slot {
		return nil, nil, 0
	}
	for _, k := range s.keys {
		if k.Key <= string(after) {
			continue
		}
		if len(page) == limit || looked == look {
			return page, next, looked
		}
		looked++
		next = []byte(k.Key)
		if strings.HasPrefix(k.Key, string(prefix)) {
			page = append(page, k)
		}
	}
	return page, nil, looked
}

// TestEveryPageOfAScanFitsIntoAnAnswer: a page that does not could never be had, and
// the scan would end in front of it.
func TestEveryPageOfAScanFitsIntoAnAnswer(t *testing.T) {
	t.Parallel()
	largest := make([]byte, op.MaxValueLimit)
	for name, sizes := range map[string][]int{
		"the largest value behind small ones": {100, 1 << 19, op.MaxValueLimit, 100},
		"one largest value after another":     {op.MaxValueLimit, op.MaxValueLimit, op.MaxValueLimit},
		"values of the page's size":           {1 << 20, 1 << 20, 0, 1<<20 - 10, 5},
		"empty values":                        {0, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			view := shelf{slot: 7}
			var want, got []string
			for i, size := range sizes {
				want = append(want, fmt.Sprintf("%d", i))
				view.keys = append(view.keys, op.Keyed{Key: want[i], Record: op.Record{Value: largest[:size]}})
			}
			for cursor := op.ScanCursor(5, nil); len(cursor) > 0 && len(got) <= len(want); {
				res := op.Scan{Cursor: cursor, Last: 9, Limit: op.MaxKeys, Values: true}.Read(view)
				if n := len(res.AppendTo(nil)); n > op.MaxMessage {
					t.Fatalf("a page of %d bytes; an answer holds %d", n, op.MaxMessage)
				}
				for i, item := range res.Items {
					if len(item.Value) != sizes[len(got)] {
						t.Errorf("item %d has %d bytes, want %d", i, len(item.Value), sizes[len(got)])
					}
					got = append(got, string(item.Key))
				}
				cursor = res.Next
			}
			if !slices.Equal(got, want) {
				t.Errorf("found %q, want %q", got, want)
			}
		})
	}
}

// TestAScanThatFindsNothingStopsShort: it would hold the read lock for as long as the
// group has records.
func TestAScanThatFindsNothingStopsShort(t *testing.T) {
	t.Parallel()
	view := shelf{slot: 7}
	for i := range 100_000 {
		view.keys = append(view.keys, op.Keyed{Key: fmt.Sprintf("%06d", i)})
	}
	view.keys = append(view.keys, op.Keyed{Key: "z"})
	var got []string
	pages := 0
	for cursor := op.ScanCursor(5, nil); len(cursor) > 0; pages++ {
		res := op.Scan{Prefix: []byte("z"), Cursor: cursor, Last: 9, Limit: 10}.Read(view)
		for _, item := range res.Items {
			got = append(got, string(item.Key))
		}
		cursor = res.Next
	}
	if !slices.Equal(got, []string{"z"}) || pages < 6 || pages > 10 {
		t.Errorf("found %q in %d pages, want z in a page per some 10,000 records", got, pages)
	}
}

// crowd is a view of slots with a thousand records each, none of which is asked for.
type crowd struct{ shelf }

func (crowd) Page(uint16, []byte, []byte, int, int) (page []op.Keyed, next []byte, looked int) {
	return nil, nil, 1000
}

func TestAScanOfManySlotsStopsShort(t *testing.T) {
	t.Parallel()
	res := op.Scan{Cursor: op.ScanCursor(5, nil), Last: 999, Limit: 10}.Read(crowd{})
	slot, after, err := op.SplitCursor(res.Next)
	if err != nil || slot < 10 || slot > 30 || len(after) > 0 {
		t.Errorf("to go on at slot %d behind key %q (%v), want some slots from the first one on", slot, after, err)
	}
}

// TestLargestEntryIsWithinItsBound: what the log and the peers must carry is the
// largest operation with the touches of one entry, or a full batch with many touches.
func TestLargestEntryIsWithinItsBound(t *testing.T) {
	t.Parallel()
	key := make([]byte, op.MaxKey)
	touches := make([][]byte, op.MaxKeys)
	for i := range touches {
		touches[i] = key
	}
	pairs := make([]op.Pair, op.MaxKeys)
	for i := range pairs {
		pairs[i] = op.Pair{Key: key, Value: make([]byte, op.MaxPayload/op.MaxKeys-op.MaxKey)}
	}
	limits := op.Limits{MaxValue: op.MaxValueLimit}
	for name, tc := range map[string]struct {
		op      op.Write
		touches int
	}{
		"the largest value":            {op.Set{Key: key, Value: make([]byte, op.MaxValueLimit), TTL: op.MaxTTL}, 64},
		"as many pairs as can be":      {op.MSet{Pairs: pairs, TTL: op.MaxTTL}, 64},
		"as many keys as can be":       {op.MDelete{Keys: touches}, op.MaxKeys},
		"small, with the most touches": {op.Delete{Key: key}, op.MaxKeys},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := tc.op.Check(limits); err != nil {
				t.Fatal(err)
			}
			var eb op.EntryBuilder
			eb.Add(command(tc.op))
			b := eb.Build(op.MaxTTL, touches[:tc.touches])
			if len(b) > op.MaxEntry {
				t.Errorf("the entry has %d bytes, over the bound %d", len(b), op.MaxEntry)
			}
			e, err := op.DecodeEntry(b)
			if err != nil {
				t.Fatal(err)
			}
			if w, err := e.Next(); err != nil || w.Op.Code() != tc.op.Code() {
				t.Errorf("read back %v, %v", w, err)
			}
		})
	}
}

func TestScanPassesOverAttachedRecords(t *testing.T) {
	t.Parallel()
	view := shelf{slot: 7}
	for i := range 9 {
		view.keys = append(view.keys, op.Keyed{Key: string(op.AttachedKey(7, byte(i), nil))})
	}
	view.keys = append(view.keys, op.Keyed{Key: "a"}, op.Keyed{Key: "b"})
	var got []string
	pages := 0
	for cursor := op.ScanCursor(7, nil); len(cursor) > 0 && pages < 20; pages++ {
		res := op.Scan{Cursor: cursor, Last: 7, Limit: 2}.Read(view)
		for _, it := range res.Items {
			got = append(got, string(it.Key))
		}
		cursor = res.Next
	}
	if want := []string{"a", "b"}; !slices.Equal(got, want) || pages != 6 {
		t.Errorf("%q in %d pages; want %q in 6", got, pages, want)
	}
}
