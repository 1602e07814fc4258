package lru

import (
	"bytes"
	"cmp"
	"iter"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// model is the cache as its doc tells it: a slice in ascending order of stamps.
type model struct {
	stamp uint64
	refs  []Ref
	hints map[place]uint32 // the second of the last hint
}

type place struct {
	slot uint16
	key  string
}

func (m *model) index(slot uint16, key []byte) int {
	return slices.IndexFunc(m.refs, func(r Ref) bool { return r.Slot == slot && r.Key == string(key) })
}

func (m *model) get(slot uint16, key []byte) (Item, bool) {
	i := m.index(slot, key)
	if i < 0 {
		return Item{}, false
	}
	return m.refs[i].Item, true
}

func (m *model) put(slot uint16, key []byte, it Item) Item {
	m.remove(slot, key)
	m.stamp++
	it.Stamp = m.stamp
	m.refs = append(m.refs, Ref{Slot: slot, Key: string(key), Item: it})
	return it
}

func (m *model) remove(slot uint16, key []byte) (Item, bool) {
	it, ok := m.get(slot, key)
	if ok {
		i := m.index(slot, key)
		m.refs = slices.Delete(m.refs, i, i+1)
		delete(m.hints, place{slot, string(key)})
	}
	return it, ok
}

func (m *model) list() []Ref {
	var list []Ref
	for _, r := range m.refs {
		if !r.Protected {
			list = append(list, r)
		}
	}
	return list
}

func (m *model) old(slot uint16, key []byte) bool {
	list := m.list()
	rank := slices.IndexFunc(list, func(r Ref) bool { return r.Slot == slot && r.Key == string(key) })
	return rank >= 0 && rank < 3*len(list)/4
}

func (m *model) hint(slot uint16, key []byte, now uint32) bool {
	p := place{slot, string(key)}
	last, hinted := m.hints[p]
	if !m.old(slot, key) || hinted && int64(now)-int64(last) < HintExpiry {
		return false
	}
	m.hints[p] = now
	return true
}

func (m *model) page(slot uint16, after, prefix []byte, limit int) ([]Ref, bool) {
	var page []Ref
	for _, r := range m.sorted() {
		if r.Slot == slot && r.Key > string(after) && strings.HasPrefix(r.Key, string(prefix)) {
			page = append(page, r)
		}
	}
	limit = max(limit, 1)
	return page[:min(limit, len(page))], len(page) > limit
}

func (m *model) sorted() []Ref {
	return slices.SortedFunc(slices.Values(m.refs), func(a, b Ref) int {
		return cmp.Or(cmp.Compare(a.Slot, b.Slot), cmp.Compare(a.Key, b.Key))
	})
}

func (m *model) nextDeadline() (Ref, bool) {
	next, found := Ref{}, false
	for _, r := range m.sorted() {
		if r.Deadline != 0 && (!found || r.Deadline < next.Deadline) {
			next, found = r, true
		}
	}
	return next, found
}

func sameItem(a, b Item) bool {
	same := bytes.Equal(a.Value, b.Value)
	a.Value, b.Value = nil, nil
	return same && a.Version == b.Version && a.Deadline == b.Deadline && a.Protected == b.Protected && a.Stamp == b.Stamp
}

func sameRef(a, b Ref) bool { return a.Slot == b.Slot && a.Key == b.Key && sameItem(a.Item, b.Item) }

// check compares all that can be seen of the cache with the model.
func (m *model) check(t *rapid.T, c *Cache) {
	var all, protected int64
	for _, r := range m.refs {
		cost := Cost(len(r.Key), len(r.Value))
		all += cost
		if r.Protected {
			protected += cost
		}
	}
	if c.Len() != len(m.refs) || c.Bytes() != all || c.ProtectedBytes() != protected || c.Stamp() != m.stamp {
		t.Fatalf("length %d, bytes %d, protected bytes %d, stamp %d; want %d, %d, %d, %d",
			c.Len(), c.Bytes(), c.ProtectedBytes(), c.Stamp(), len(m.refs), all, protected, m.stamp)
	}
	if got, want := snapshot(c), m.sorted(); !slices.EqualFunc(got, want, sameRef) {
		t.Fatalf("items %v, want %v", got, want)
	}
	for _, r := range m.refs {
		key := []byte(r.Key)
		if got, ok := c.Get(r.Slot, key); !ok || !sameItem(got, r.Item) {
			t.Fatalf("Get(%d, %q) = %v, %v, want %v", r.Slot, r.Key, got, ok, r.Item)
		}
		if got, want := c.Old(r.Slot, key), m.old(r.Slot, key); got != want {
			t.Fatalf("Old(%d, %q) = %v, want %v; list %v", r.Slot, r.Key, got, want, m.list())
		}
	}
	var oldest Ref
	list := m.list()
	if len(list) > 0 {
		oldest = list[0]
	}
	if got, ok := c.Oldest(); ok != (len(list) > 0) || !sameRef(got, oldest) {
		t.Fatalf("Oldest() = %v, %v, want %v", got, ok, oldest)
	}
	next, found := m.nextDeadline()
	if got, ok := c.NextDeadline(); ok != found || !sameRef(got, next) {
		t.Fatalf("NextDeadline() = %v, %v, want %v, %v", got, ok, next, found)
	}
}

// snapshot returns all items by slot and key.
func snapshot(c *Cache) []Ref {
	var all []Ref
	for slot := range c.Slots() {
		all = slices.AppendSeq(all, c.Slot(slot))
	}
	return all
}

// whole is a stream of items in which no error comes.
func whole(refs []Ref) iter.Seq2[Ref, error] {
	return func(yield func(Ref, error) bool) {
		for _, r := range refs {
			if !yield(r, nil) {
				return
			}
		}
	}
}

var (
	anySlot = rapid.SampledFrom([]uint16{0, 1, 4095})
	anyKey  = rapid.SliceOfN(rapid.SampledFrom([]byte("ab\xff")), 0, 2)
	anyItem = rapid.Custom(func(t *rapid.T) Item {
		return Item{
			Value:     rapid.SliceOfN(rapid.Byte(), 0, 3).Draw(t, "value"),
			Version:   rapid.Uint64().Draw(t, "version"),
			Deadline:  rapid.Int64Range(-1, 3).Draw(t, "deadline"),
			Protected: rapid.SampledFrom([]bool{false, false, false, true}).Draw(t, "protected"),
			Stamp:     rapid.Uint64().Draw(t, "ignored stamp"),
		}
	})
)

// TestCacheIsItsModel runs random calls on the cache and on the model, in the
// midst of which the cache is replaced by one restored from its items.
func TestCacheIsItsModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c, m := New(), &model{hints: map[place]uint32{}}
		put := func(t *rapid.T) {
			slot, key, it := anySlot.Draw(t, "slot"), anyKey.Draw(t, "key"), anyItem.Draw(t, "item")
			if got, want := c.Put(slot, key, it), m.put(slot, key, it); !sameItem(got, want) {
				t.Fatalf("Put(%d, %q) = %v, want %v", slot, key, got, want)
			}
		}
		for range rapid.IntRange(0, 40).Draw(t, "puts at first") {
			put(t)
		}
		t.Repeat(map[string]func(*rapid.T){
			"":    func(t *rapid.T) { m.check(t, c) },
			"put": put,
			"get": func(t *rapid.T) {
				slot, key := anySlot.Draw(t, "slot"), anyKey.Draw(t, "key")
				got, ok := c.Get(slot, key)
				if want, found := m.get(slot, key); ok != found || !sameItem(got, want) {
					t.Fatalf("Get(%d, %q) = %v, %v, want %v, %v", slot, key, got, ok, want, found)
				}
			},
			"amend": func(t *rapid.T) {
				slot, key, it := anySlot.Draw(t, "slot"), anyKey.Draw(t, "key"), anyItem.Draw(t, "item")
				got, ok := c.Amend(slot, key, it.Version, it.Deadline, it.Protected)
				want, found := m.get(slot, key)
				if found {
					it.Value = want.Value
					want = m.put(slot, key, it)
				}
				if ok != found || !sameItem(got, want) {
					t.Fatalf("Amend(%d, %q) = %v, %v, want %v, %v", slot, key, got, ok, want, found)
				}
			},
			"remove": func(t *rapid.T) {
				slot, key := anySlot.Draw(t, "slot"), anyKey.Draw(t, "key")
				got, ok := c.Remove(slot, key)
				if want, found := m.remove(slot, key); ok != found || !sameItem(got, want) {
					t.Fatalf("Remove(%d, %q) = %v, %v, want %v, %v", slot, key, got, ok, want, found)
				}
			},
			"evict": func(t *rapid.T) {
				if victim, ok := c.Oldest(); ok {
					c.Remove(victim.Slot, []byte(victim.Key))
					m.remove(victim.Slot, []byte(victim.Key))
				}
			},
			"expire": func(t *rapid.T) {
				if next, ok := c.NextDeadline(); ok {
					c.Remove(next.Slot, []byte(next.Key))
					m.remove(next.Slot, []byte(next.Key))
				}
			},
			"touch": func(t *rapid.T) {
				slot, key := anySlot.Draw(t, "slot"), anyKey.Draw(t, "key")
				var wantBefore, wantAfter Item
				old := m.old(slot, key)
				if old {
					wantBefore, _ = m.get(slot, key)
					wantAfter = m.put(slot, key, wantBefore)
				}
				before, after, moved := c.Touch(slot, key)
				if moved != old || !sameItem(before, wantBefore) || !sameItem(after, wantAfter) {
					t.Fatalf("Touch(%d, %q) = %v, %v, %v, want %v, %v, %v",
						slot, key, before, after, moved, wantBefore, wantAfter, old)
				}
			},
			"hint": func(t *rapid.T) {
				slot, key := anySlot.Draw(t, "slot"), anyKey.Draw(t, "key")
				now := rapid.Uint32Range(1, 12).Draw(t, "now")
				if got, want := c.Hint(slot, key, now), m.hint(slot, key, now); got != want {
					t.Fatalf("Hint(%d, %q, %d) = %v, want %v", slot, key, now, got, want)
				}
			},
			"page": func(t *rapid.T) {
				slot, after, prefix := anySlot.Draw(t, "slot"), anyKey.Draw(t, "after"), anyKey.Draw(t, "prefix")
				limit := rapid.IntRange(-1, 6).Draw(t, "limit")
				got, more := c.Page(slot, after, prefix, limit)
				if want, wantMore := m.page(slot, after, prefix, limit); more != wantMore || !slices.EqualFunc(got, want, sameRef) {
					t.Fatalf("Page(%d, %q, %q, %d) = %v, %v, want %v, %v", slot, after, prefix, limit, got, more, want, wantMore)
				}
			},
			"restore": func(t *rapid.T) {
				items := rapid.Permutation(snapshot(c)).Draw(t, "items")
				restored, err := Restore(c.Stamp(), whole(items))
				if err != nil {
					t.Fatalf("Restore: %v", err)
				}
				c = restored
				clear(m.hints)
			},
		})
	})
}
