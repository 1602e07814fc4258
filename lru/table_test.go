package lru

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// hashes are ways for keys to collide.
var hashes = map[string]func(key []byte) uint64{
	"spread":             hashOf,
	"all the same":       func([]byte) uint64 { return 1 << 63 },
	"two values":         func(key []byte) uint64 { return hashOf(key) & (1 << 63) },
	"eight values":       func(key []byte) uint64 { return hashOf(key) &^ (1<<61 - 1) },
	"differ at the end":  func(key []byte) uint64 { return hashOf(key) & 0xff },
	"share all but tags": func(key []byte) uint64 { return hashOf(key) & 0xff0000 },
	"one tag":            func(key []byte) uint64 { return hashOf(key) &^ 0xff0000 },
	"in the order of keys": func(key []byte) uint64 {
		return binary.BigEndian.Uint64(append(bytes.Clone(key), make([]byte, 8)...))
	},
}

// tableKeys is how many keys the tests of the table know.
const tableKeys = 1000

func numbered(i int) []byte { return binary.BigEndian.AppendUint32(nil, uint32(i)) }

// TestTableUnderCollisions puts and removes runs of keys, so that leaves fill, split,
// overflow, empty and merge, in two slots.
func TestTableUnderCollisions(t *testing.T) {
	t.Parallel()
	for name, hash := range hashes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				c, model := newCache(hash), [2]map[int]uint64{{}, {}}
				version := uint64(0)
				for range rapid.IntRange(1, 5).Draw(t, "runs") {
					slot := rapid.IntRange(0, 1).Draw(t, "slot")
					first, stride := rapid.IntRange(0, 399).Draw(t, "first"), rapid.IntRange(1, 3).Draw(t, "stride")
					n, put := rapid.IntRange(1, 200).Draw(t, "keys"), rapid.Bool().Draw(t, "put")
					for i := first; i < first+n*stride; i += stride {
						version++
						if _, there := model[slot][i]; put {
							c.Put(uint16(slot), numbered(i), Item{Version: version})
							model[slot][i] = version
						} else if c.Remove(uint16(slot), numbered(i)) != there {
							t.Fatalf("Remove(%d, %d), want %v", slot, i, there)
						} else {
							delete(model[slot], i)
						}
					}
					audit(t, c)
					checkTable(t, c, model)
				}
			})
		})
	}
}

// checkTable looks for all keys, those that are not there too, and counts.
func checkTable(t fataler, c *Cache, model [2]map[int]uint64) {
	for slot, want := range model {
		for i := range tableKeys {
			it, ok := c.Get(uint16(slot), numbered(i))
			if version, there := want[i]; ok != there || it.Version != version {
				t.Fatalf("Get(%d, %d) = %v, %v, want version %d, %v", slot, i, it, ok, version, there)
			}
		}
		i, sorted := 0, slices.Sorted(maps.Keys(want))
		for _, r := range items(c, uint16(slot)) {
			if i == len(sorted) || !bytes.Equal(r.Key, numbered(sorted[i])) {
				t.Fatalf("slot %d, item %d: key %x", slot, i, r.Key)
			}
			i++
		}
		if i != len(sorted) {
			t.Fatalf("slot %d: %d items, want %d", slot, i, len(sorted))
		}
	}
}

// TestPagesCoverASlot walks slots page by page, under collisions too, and while other
// keys come and go.
func TestPagesCoverASlot(t *testing.T) {
	t.Parallel()
	for name, hash := range hashes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				c := newCache(hash)
				want := map[string]int{}
				for i := range rapid.IntRange(0, 500).Draw(t, "keys") {
					key := fmt.Appendf(nil, "%c%04d", "ab"[i%2], i)
					c.Put(7, key, Item{})
					if i%2 == 0 {
						want[string(key)] = 0
					}
				}
				limit, look := rapid.IntRange(1, 200).Draw(t, "limit"), rapid.IntRange(1, 500).Draw(t, "look")
				churn := rapid.IntRange(0, 60).Draw(t, "keys that come and go")
				var after []byte
				for round := 0; ; round++ {
					if round > len(want)+c.Len() {
						t.Fatalf("no end after %d pages", round)
					}
					page, next, looked := c.Page(7, after, []byte("a"), limit, look)
					if len(page) > limit || name == "spread" && looked > look+leafLen+limit {
						t.Fatalf("a page of %d with limit %d; it looked at %d of %d", len(page), limit, looked, look)
					}
					for _, r := range page {
						if _, known := want[string(r.Key)]; known {
							want[string(r.Key)]++
						}
					}
					if next == nil {
						break
					}
					after = bytes.Clone(next)
					for i := range churn { // other keys of the prefix
						key := fmt.Appendf(nil, "a+%d", i)
						if !c.Remove(7, key) {
							c.Put(7, key, Item{})
						}
					}
				}
				for key, times := range want {
					if times != 1 {
						t.Fatalf("key %s comes %d times", key, times)
					}
				}
			})
		})
	}
}

// TestWalksCoverASlot walks through slots, under collisions too, while other keys come and
// go, so many that leaves split and merge: all that stays is visited once, by rank.
func TestWalksCoverASlot(t *testing.T) {
	t.Parallel()
	for name, hash := range hashes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				c := newCache(hash)
				visited := map[string]int{} // of the keys that stay
				for i := range rapid.IntRange(0, 400).Draw(t, "keys that stay") {
					key := numbered(i)
					c.Put(7, key, Item{})
					visited[string(key)] = 0
				}
				guests, there := rapid.IntRange(0, 600).Draw(t, "guests"), false
				churn := func() {
					for i := range guests {
						if key := numbered(tableKeys + i); there {
							c.Remove(7, key)
						} else {
							c.Put(7, key, Item{})
						}
					}
					there = !there
				}
				if rapid.Bool().Draw(t, "guests first") {
					churn()
				}
				bytes := rapid.Int64Range(1, 300*Overhead).Draw(t, "bytes")
				for from, more := uint64(0), true; more; {
					var took int64
					next := c.Walk(7, from, bytes, func(r Ref) {
						if rank := c.Rank(r.Key); rank < from {
							t.Fatalf("a walk from %x visits %x, of rank %x", from, r.Key, rank)
						}
						if _, stays := visited[string(r.Key)]; stays {
							visited[string(r.Key)]++
						}
						took += Cost(len(r.Key), len(r.Value))
					})
					if name == "spread" && took > bytes+(leafLen+1)*Cost(8, 0) {
						t.Fatalf("a walk through %d bytes, want %d and what a leaf has", took, bytes)
					}
					if next > 0 && (next <= from || took < bytes) {
						t.Fatalf("a walk from %x through %d bytes of %d ends at %x", from, took, bytes, next)
					}
					for key, times := range visited {
						if want := next == 0 || c.Rank([]byte(key)) < next; times > 1 || want != (times == 1) {
							t.Fatalf("key %x, of rank %x, is visited %d times before %x", key, c.Rank([]byte(key)), times, next)
						}
					}
					from, more = next, next > 0
					churn()
				}
				audit(t, c)
			})
		})
	}
}

func FuzzTable(f *testing.F) {
	names := slices.Sorted(maps.Keys(hashes))
	for i := range names {
		f.Add(uint8(i), []byte("\x01\x02\x03"))
		f.Add(uint8(i), bytes.Repeat([]byte{0x11, 0x22, 0x91}, 200))
	}
	f.Fuzz(func(t *testing.T, hash uint8, keys []byte) {
		c, model := newCache(hashes[names[int(hash)%len(names)]]), [2]map[int]uint64{{}, {}}
		for i := 0; i+1 < min(len(keys), 4000); i += 2 {
			// a bit for what to do, one for the slot, and a key of 14 bits
			x := int(binary.BigEndian.Uint16(keys[i:]))
			slot, key := x>>14&1, x&0x3fff%tableKeys
			if x>>15 == 0 {
				c.Put(uint16(slot), numbered(key), Item{Version: uint64(i) + 1})
				model[slot][key] = uint64(i) + 1
			} else {
				c.Remove(uint16(slot), numbered(key))
				delete(model[slot], key)
			}
		}
		audit(t, c)
		checkTable(t, c, model)
	})
}
