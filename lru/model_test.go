package lru

import (
	"bytes"
	"cmp"
	"iter"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// model is the cache as its doc tells it: a slice in ascending order of stamps.
type model struct {
	hash  func([]byte) uint64
	stamp uint64
	refs  []Ref
	hints map[at]uint32 // the second of the last hint
}

type at struct {
	slot uint16
	key  string
}

func (m *model) index(slot uint16, key []byte) int {
	return slices.IndexFunc(m.refs, func(r Ref) bool { return r.Slot == slot && bytes.Equal(r.Key, key) })
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
	it.Value = bytes.Clone(it.Value)
	m.refs = append(m.refs, Ref{Slot: slot, Key: bytes.Clone(key), Item: it})
	return it
}

func (m *model) remove(slot uint16, key []byte) (Item, bool) {
	it, ok := m.get(slot, key)
	if ok {
		i := m.index(slot, key)
		m.refs = slices.Delete(m.refs, i, i+1)
		delete(m.hints, at{slot, string(key)})
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
	rank := slices.IndexFunc(list, func(r Ref) bool { return r.Slot == slot && bytes.Equal(r.Key, key) })
	return rank >= 0 && rank < 3*len(list)/4
}

func (m *model) hint(slot uint16, key []byte, now uint32) bool {
	p := at{slot, string(key)}
	last, hinted := m.hints[p]
	if !m.old(slot, key) || hinted && int64(now)-int64(last) < HintExpiry {
		return false
	}
	m.hints[p] = now
	return true
}

// page is all the items of a slot that a page might hold, in their order.
func (m *model) page(slot uint16, after, prefix []byte) []Ref {
	var page []Ref
	for _, r := range m.refs {
		if r.Slot == slot && len(r.Key) > 0 && bytes.HasPrefix(r.Key, prefix) && (len(after) == 0 || m.compare(r.Key, after) > 0) {
			page = append(page, r)
		}
	}
	slices.SortFunc(page, func(a, b Ref) int { return m.compare(a.Key, b.Key) })
	return page
}

func (m *model) compare(a, b []byte) int {
	return cmp.Or(cmp.Compare(m.hash(a), m.hash(b)), bytes.Compare(a, b))
}

func (m *model) sorted() []Ref {
	return slices.SortedFunc(slices.Values(m.refs), func(a, b Ref) int {
		return cmp.Or(cmp.Compare(a.Slot, b.Slot), bytes.Compare(a.Key, b.Key))
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

func sameRef(a, b Ref) bool {
	return a.Slot == b.Slot && bytes.Equal(a.Key, b.Key) && sameItem(a.Item, b.Item)
}

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
		key := r.Key
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
		all = append(all, items(c, slot)...)
	}
	return all
}

// items returns the items of a slot by ascending key.
func items(c *Cache, slot uint16) []Ref {
	var all []Ref
	c.Walk(slot, 0, math.MaxInt64, func(r Ref) { all = append(all, r) })
	slices.SortFunc(all, func(a, b Ref) int { return bytes.Compare(a.Key, b.Key) })
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
	// anyValue is of a length that is likely to be one of a few, or to need the next size of cells.
	anyValue = rapid.Custom(func(t *rapid.T) []byte {
		length := rapid.SampledFrom([]int{0, 1, 1, 2, 8, 8, fineMax - 8, fineMax, coarseMax - 8, coarseMax, 2 * coarseMax}).Draw(t, "length")
		length += rapid.IntRange(0, 8).Draw(t, "bytes more")
		return bytes.Repeat([]byte{rapid.Byte().Draw(t, "byte")}, length)
	})
	anyItem = rapid.Custom(func(t *rapid.T) Item {
		return Item{
			Value:     anyValue.Draw(t, "value"),
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
		c, m := New(), &model{hash: hashOf, hints: map[at]uint32{}}
		put := func(t *rapid.T) {
			slot, key, it := anySlot.Draw(t, "slot"), anyKey.Draw(t, "key"), anyItem.Draw(t, "item")
			if got, want := c.Put(slot, key, it), m.put(slot, key, it); !sameItem(got, want) {
				t.Fatalf("Put(%d, %q) = %v, want %v", slot, key, got, want)
			}
		}
		var places []Place
		for range rapid.IntRange(0, 40).Draw(t, "puts at first") {
			put(t)
		}
		t.Repeat(map[string]func(*rapid.T){
			"": func(t *rapid.T) {
				m.check(t, c)
				audit(t, c)
			},
			"put": put,
			"get": func(t *rapid.T) {
				slot, key := anySlot.Draw(t, "slot"), anyKey.Draw(t, "key")
				got, ok := c.Get(slot, key)
				if want, found := m.get(slot, key); ok != found || !sameItem(got, want) {
					t.Fatalf("Get(%d, %q) = %v, %v, want %v, %v", slot, key, got, ok, want, found)
				}
			},
			"seek": func(t *rapid.T) {
				slot, key := anySlot.Draw(t, "slot"), anyKey.Draw(t, "key")
				got, ok := c.Seek(slot, key)
				if want, found := m.get(slot, key); ok != found || !sameItem(got, want) {
					t.Fatalf("Seek(%d, %q) = %v, %v, want %v, %v", slot, key, got, ok, want, found)
				}
			},
			"warm": func(t *rapid.T) {
				places = nil
				for range rapid.IntRange(0, 2*warmTogether).Draw(t, "places") {
					places = append(places, Place{anySlot.Draw(t, "slot"), anyKey.Draw(t, "key")})
				}
				c.Warm(places)
			},
			"change what was warmed": func(t *rapid.T) {
				for _, p := range places {
					got, ok := c.Seek(p.Slot, p.Key)
					if want, found := m.get(p.Slot, p.Key); ok != found || !sameItem(got, want) {
						t.Fatalf("Seek(%d, %q) = %v, %v, want %v, %v", p.Slot, p.Key, got, ok, want, found)
					}
					switch rapid.IntRange(0, 9).Draw(t, "change") {
					case 0:
						m.remove(p.Slot, p.Key)
						c.Remove(p.Slot, p.Key)
					case 1, 2, 3, 4:
						it := anyItem.Draw(t, "item")
						m.put(p.Slot, p.Key, it)
						c.Put(p.Slot, p.Key, it)
					}
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
				_, found := m.remove(slot, key)
				if ok := c.Remove(slot, key); ok != found {
					t.Fatalf("Remove(%d, %q) = %v, want %v", slot, key, ok, found)
				}
			},
			"evict": func(t *rapid.T) {
				if victim, ok := c.Oldest(); ok {
					m.remove(victim.Slot, victim.Key)
					c.Remove(victim.Slot, victim.Key)
				}
			},
			"expire": func(t *rapid.T) {
				if next, ok := c.NextDeadline(); ok {
					m.remove(next.Slot, next.Key)
					c.Remove(next.Slot, next.Key)
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
				got, next, _ := c.Page(slot, after, prefix, limit, math.MaxInt)
				want := m.page(slot, after, prefix)
				full := len(want) >= max(limit, 1)
				want = want[:min(max(limit, 1), len(want))]
				if !slices.EqualFunc(got, want, sameRef) || full != (next != nil) || full && !bytes.Equal(next, want[len(want)-1].Key) {
					t.Fatalf("Page(%d, %q, %q, %d) = %v, %q, want %v", slot, after, prefix, limit, got, next, want)
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
