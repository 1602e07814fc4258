package lru

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// filled returns a cache with the keys k0, k1 … of slot 0 in this order.
func filled(n int) *Cache {
	c := New()
	for i := range n {
		c.Put(0, fmt.Appendf(nil, "k%d", i), Item{})
	}
	return c
}

func keysOf(refs []Ref) string {
	var keys []string
	for _, r := range refs {
		keys = append(keys, string(r.Key))
	}
	return strings.Join(keys, " ")
}

// oldKeys returns the old keys of slot 0 in ascending order.
func oldKeys(c *Cache) string {
	return keysOf(slices.DeleteFunc(items(c, 0), func(r Ref) bool { return !c.Old(0, r.Key) }))
}

func TestOldestThreeQuartersAreOld(t *testing.T) {
	t.Parallel()
	protect := func(key string) func(c *Cache) {
		return func(c *Cache) { c.Amend(0, []byte(key), 1, 0, true) }
	}
	tests := []struct {
		behaviour string
		length    int
		change    func(c *Cache)
		want      string
	}{
		{"an empty list has none", 0, nil, ""},
		{"a lone item is young", 1, nil, ""},
		{"of two one is old", 2, nil, "k0"},
		{"of three two are", 3, nil, "k0 k1"},
		{"of four three are", 4, nil, "k0 k1 k2"},
		{"of five three are", 5, nil, "k0 k1 k2"},
		{"of eight six are", 8, nil, "k0 k1 k2 k3 k4 k5"},
		{"a touch ages another", 4, func(c *Cache) { c.Touch(0, []byte("k0")) }, "k1 k2 k3"},
		{"a touch of a young item changes nothing", 4, func(c *Cache) { c.Touch(0, []byte("k3")) }, "k0 k1 k2"},
		{"removing the item at the mark", 4, func(c *Cache) { c.Remove(0, []byte("k2")) }, "k0 k1"},
		{"removing the oldest", 4, func(c *Cache) { c.Remove(0, []byte("k0")) }, "k1 k2"},
		{"removing the youngest", 4, func(c *Cache) { c.Remove(0, []byte("k3")) }, "k0 k1"},
		{"a protected item is not in the list", 4, protect("k0"), "k1 k2"},
		{"a freed item is at the young end", 4, func(c *Cache) {
			protect("k0")(c)
			c.Amend(0, []byte("k0"), 2, 0, false)
		}, "k1 k2 k3"},
		{"none is left", 1, func(c *Cache) { c.Remove(0, []byte("k0")) }, ""},
	}
	for _, test := range tests {
		t.Run(test.behaviour, func(t *testing.T) {
			t.Parallel()
			c := filled(test.length)
			if test.change != nil {
				test.change(c)
			}
			if got := oldKeys(c); got != test.want {
				t.Errorf("old: %q, want %q", got, test.want)
			}
		})
	}
}

func TestHint(t *testing.T) {
	t.Parallel()
	type ask struct {
		key  string
		now  uint32
		want bool
	}
	// The list is k0 k1 k2 k3, of which k3 is young; p is protected.
	tests := []struct {
		behaviour string
		asks      []ask
		between   func(c *Cache) // before the last ask
	}{
		{"not for an absent item", []ask{{"none", 9, false}}, nil},
		{"not for a young item", []ask{{"k3", 9, false}}, nil},
		{"not for a protected item", []ask{{"p", 9, false}}, nil},
		{"once for an old item", []ask{{"k0", 9, true}, {"k0", 9, false}}, nil},
		{"each item has its own", []ask{{"k0", 9, true}, {"k1", 9, true}}, nil},
		{"not again before it expires", []ask{{"k0", 9, true}, {"k0", 9 + HintExpiry - 1, false}}, nil},
		{"again when it has expired", []ask{{"k0", 9, true}, {"k0", 9 + HintExpiry, true}, {"k0", 9 + HintExpiry, false}}, nil},
		{"not for a reader with an earlier second", []ask{{"k0", 9, true}, {"k0", 8, false}}, nil},
		{"second 0 is a second", []ask{{"k0", 0, true}, {"k0", 0, false}}, nil},
		{"seconds may wrap", []ask{{"k0", math.MaxUint32, true}, {"k0", HintExpiry - 2, false}, {"k0", HintExpiry - 1, true}}, nil},
		{"a write clears it", []ask{{"k0", 9, true}, {"k0", 9, true}}, func(c *Cache) {
			c.Put(0, []byte("k0"), Item{})
			c.Put(0, []byte("k4"), Item{})
			c.Put(0, []byte("k5"), Item{})
		}},
		{"a touch clears it", []ask{{"k0", 9, true}, {"k0", 9, true}}, func(c *Cache) {
			c.Touch(0, []byte("k0"))
			c.Put(0, []byte("k4"), Item{})
			c.Put(0, []byte("k5"), Item{})
		}},
		{"a change of others does not", []ask{{"k0", 9, true}, {"k0", 9, false}}, func(c *Cache) {
			c.Touch(0, []byte("k1"))
			c.Put(0, []byte("k4"), Item{})
		}},
	}
	for _, test := range tests {
		t.Run(test.behaviour, func(t *testing.T) {
			t.Parallel()
			c := filled(4)
			c.Put(0, []byte("p"), Item{Protected: true})
			for i, a := range test.asks {
				if i == len(test.asks)-1 && test.between != nil {
					test.between(c)
				}
				if got := c.Hint(0, []byte(a.key), a.now); got != a.want {
					t.Errorf("ask %d: Hint(%s, %d) = %v, want %v", i, a.key, a.now, got, a.want)
				}
			}
		})
	}
}

func TestNextDeadlineIsATotalOrder(t *testing.T) {
	t.Parallel()
	refs := []Ref{
		{Slot: 3, Key: []byte("a"), Item: Item{Deadline: math.MinInt64}},
		{Slot: 9, Key: []byte("z"), Item: Item{Deadline: 5, Protected: true}},
		{Slot: 1, Key: []byte("b"), Item: Item{Deadline: 7}},
		{Slot: 2, Key: []byte(""), Item: Item{Deadline: 7}},
		{Slot: 2, Key: []byte("a"), Item: Item{Deadline: 7}},
		{Slot: 2, Key: []byte("a\x00"), Item: Item{Deadline: 7}},
		{Slot: 2, Key: []byte("b"), Item: Item{Deadline: 7}},
		{Slot: 0, Key: []byte("a"), Item: Item{Deadline: math.MaxInt64}},
	}
	for rotation := range refs {
		c := New()
		c.Put(0, []byte("for ever"), Item{})
		for i := range refs {
			r := refs[(i+rotation)%len(refs)]
			c.Put(r.Slot, r.Key, r.Item)
		}
		for i, want := range refs {
			got, ok := c.NextDeadline()
			if !ok || got.Slot != want.Slot || !bytes.Equal(got.Key, want.Key) {
				t.Fatalf("rotation %d, item %d: %d %q, %v, want %d %q", rotation, i, got.Slot, got.Key, ok, want.Slot, want.Key)
			}
			c.Remove(got.Slot, got.Key)
		}
		if got, ok := c.NextDeadline(); ok {
			t.Fatalf("rotation %d: %v has no deadline, but comes next", rotation, got)
		}
	}
}

func TestPutCopiesTheKey(t *testing.T) {
	t.Parallel()
	c, key := New(), []byte("key")
	c.Put(1, key, Item{Version: 1})
	key[0] = 'X'
	if _, ok := c.Get(1, []byte("key")); !ok {
		t.Error("the item is gone after the caller reused its key's memory")
	}
}

func TestHighestSlot(t *testing.T) {
	t.Parallel()
	c := New()
	c.Put(math.MaxUint16, nil, Item{Value: []byte("v")})
	if it, ok := c.Get(math.MaxUint16, []byte{}); !ok || string(it.Value) != "v" {
		t.Errorf("Get = %v, %v, want the value v", it, ok)
	}
	if got := slices.Collect(c.Slots()); !slices.Equal(got, []uint16{math.MaxUint16}) {
		t.Errorf("slots %v, want the highest one only", got)
	}
	if got, want := c.Bytes(), int64(0+1+Overhead); got != want {
		t.Errorf("bytes = %d, want %d", got, want)
	}
}

func TestIterationMayStop(t *testing.T) {
	t.Parallel()
	c := filled(3)
	c.Put(5, []byte("k"), Item{})
	for slot := range c.Slots() {
		if slot != 0 {
			t.Errorf("first slot %d, want 0", slot)
		}
		break
	}
	if next := c.Walk(6, 0, 1, func(r Ref) { t.Errorf("%v is in a slot that was never used", r) }); next != 0 {
		t.Errorf("a walk through nothing goes on at %x", next)
	}
}

func TestReadersRunTogether(t *testing.T) {
	t.Parallel()
	const keys, readers = 1000, 4
	c := filled(keys)
	var wg sync.WaitGroup
	for range readers {
		wg.Go(func() {
			for i := range keys {
				key := fmt.Appendf(nil, "k%d", i)
				if _, ok := c.Get(0, key); !ok {
					t.Errorf("%s is gone", key)
				}
				c.Hint(0, key, 1)
			}
			if page, next, _ := c.Page(0, nil, nil, 10, keys); len(page) != 10 || next == nil {
				t.Errorf("page of %d, next %q, want 10 and a next", len(page), next)
			}
		})
	}
	wg.Wait()
}

func TestOneReaderGetsTheHint(t *testing.T) {
	t.Parallel()
	const keys, rounds, readers = 128, 400, 2
	c := filled(keys)
	var hints, arrived [rounds]atomic.Int32
	var wg sync.WaitGroup
	for range readers {
		wg.Go(func() {
			for round := range rounds {
				for arrived[round].Add(1); arrived[round].Load() < readers; { // so that all ask at once
					runtime.Gosched()
				}
				now := uint32(1 + round*HintExpiry)
				for n := c.nodes.at(c.order.oldest()); n.is(flagOld); n = c.nodes.at(n.younger) {
					if n.hint(now) {
						hints[round].Add(1)
					}
				}
			}
		})
	}
	wg.Wait()
	for round := range rounds {
		if got := hints[round].Load(); got != keys*3/4 {
			t.Fatalf("round %d: %d hints, want one for each of %d old items", round, got, keys*3/4)
		}
	}
}

func TestAnEmptySlotKeepsNoMemory(t *testing.T) {
	t.Parallel()
	c := filled(2)
	c.Remove(0, []byte("k0"))
	if c.directory(0) == nil {
		t.Error("the table is gone with an item in it")
	}
	c.Remove(0, []byte("k1"))
	if c.directory(0) != nil || c.leafCount > 1 {
		t.Errorf("the table outlives its last item, with %d leaves", c.leafCount)
	}
}

// Not parallel: allocations are counted for the whole process.
func TestReadsAndTouchesDoNotAllocate(t *testing.T) {
	const keys = 1000
	c := New()
	key := make([]byte, 100) // too long for a buffer on the stack
	set := func(i int) { binary.BigEndian.PutUint64(key, uint64(i)) }
	for i := range keys {
		set(i)
		c.Put(9, key, Item{})
	}
	i := 0
	got := testing.AllocsPerRun(keys/2, func() {
		set(i)
		i++
		_, found := c.Get(9, key)
		if _, _, moved := c.Touch(9, key); !found || !c.Old(9, key) && !moved {
			t.Errorf("key %d: found %v, moved %v, want both", i, found, moved)
		}
		set(i + 1)
		if !c.Hint(9, key, 1) {
			t.Errorf("key %d: no hint", i+1)
		}
	})
	if got != 0 {
		t.Errorf("%v allocations, want 0", got)
	}
}

func TestSizesAreThoseOfTheFootprint(t *testing.T) {
	t.Parallel()
	for of, sizes := range map[string][2]uintptr{
		"node":      {reflect.TypeFor[node]().Size(), nodeSize},
		"leaf":      {reflect.TypeFor[leaf]().Size(), leafSize},
		"directory": {reflect.TypeFor[directory]().Size(), directorySize},
		"due":       {reflect.TypeFor[due]().Size(), dueSize},
	} {
		if sizes[0] != sizes[1] {
			t.Errorf("a %s takes %d bytes, want %d", of, sizes[0], sizes[1])
		}
	}
}
