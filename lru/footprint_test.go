package lru

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// budget is a cache that evicts down to a limit of logical bytes, as a group does.
type budget struct {
	*Cache
	limit int64
	next  int // number of the next key
}

// fill puts new items of about this many bytes of value, so many limits' worth.
func (b *budget) fill(random *rand.Rand, size int, limits float64) {
	value := make([]byte, 2*size+1)
	for put := int64(0); put < int64(limits*float64(b.limit)); {
		key := fmt.Appendf(nil, "key:%012d", b.next)
		v := value[:size-size/8+random.IntN(size/4+1)]
		b.Put(uint16(b.next%64), key, Item{Value: v})
		b.next++
		put += Cost(len(key), len(v))
		for b.Bytes() > b.limit {
			victim, _ := b.Oldest()
			b.Remove(victim.Slot, victim.Key)
		}
	}
}

// TestMemoryFollowsTheItems shifts the sizes of items to and fro, which leaves memory that
// is cut for one size full of holes: what is held stays near what is used.
func TestMemoryFollowsTheItems(t *testing.T) {
	t.Parallel()
	const limit = 16 << 20
	// A class in use has a chunk that is not full; half full is what to expect.
	slack := func(c *Cache) (bytes int64) {
		for _, class := range c.cells.classes {
			if class.length > 0 {
				bytes += cellChunk / 2
			}
		}
		return bytes + spareChunks*cellChunk + 3*chunkLen*leafSize
	}
	check := func(c *Cache, when string) {
		t.Helper()
		f := c.Footprint()
		t.Logf("%-28s %8d items, used %5.1f MiB, held %5.1f MiB, %.3f times as much; %.2f moves per item so far",
			when, c.Len(), float64(f.Used)/(1<<20), float64(f.Held)/(1<<20), float64(f.Held)/float64(f.Used), float64(f.Moved)/float64(c.Stamp()))
		if bound := f.Used + f.Used/8 + slack(c); f.Held > bound {
			t.Errorf("%s: %d bytes are held for %d used, want %d at most", when, f.Held, f.Used, bound)
		}
	}
	b := &budget{Cache: New(), limit: limit}
	random := rand.New(rand.NewPCG(1, 2))
	for _, size := range []int{16, 1000, 20, 5000, 40, 100_000, 16, 1 << 20, 100} {
		b.fill(random, size, 0.5)
		check(b.Cache, fmt.Sprintf("half of them now %d bytes", size))
		b.fill(random, size, 1)
		check(b.Cache, fmt.Sprintf("all of them now %d bytes", size))
	}
	// one in a hundred stays, wherever it is
	for i := range b.next {
		if i%100 != 0 {
			b.Remove(uint16(i%64), fmt.Appendf(nil, "key:%012d", i))
		}
	}
	check(b.Cache, "one in a hundred left")
	audit(t, b.Cache)
	for b.Len() > 0 {
		victim, _ := b.Oldest()
		b.Remove(victim.Slot, victim.Key)
	}
	if f := b.Footprint(); f.Used != 0 || f.Held > 2<<20 {
		t.Errorf("an empty cache uses %d bytes and holds %d, want 0 and under 2 MiB", f.Used, f.Held)
	}
}

// TestUpdatesOfSizesLeaveNoHoles gives the same keys values of other sizes, again and again.
func TestUpdatesOfSizesLeaveNoHoles(t *testing.T) {
	t.Parallel()
	const keys = 10_000
	c, value := New(), make([]byte, 3000)
	random := rand.New(rand.NewPCG(3, 4))
	for round, size := range []int{10, 3000, 60, 500, 10} {
		for range 3 * keys {
			i := random.IntN(keys)
			c.Put(uint16(i%16), fmt.Appendf(nil, "%d", i), Item{Value: value[:size/2+random.IntN(size/2+1)]})
		}
		f := c.Footprint()
		t.Logf("round %d, up to %d bytes: used %d, held %d", round, size, f.Used, f.Held)
		if bound := f.Used + f.Used/8 + 256*cellChunk/2 + 8*cellChunk; f.Held > bound {
			t.Errorf("round %d: %d bytes are held for %d used, want %d at most", round, f.Held, f.Used, bound)
		}
	}
	audit(t, c)
}

// TestNoCallMovesMuch bounds what one call does beside its own item, whatever came before:
// no call waits for the table to grow or for memory to be put in order.
func TestNoCallMovesMuch(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ slots, items int }{
		"one slot": {1, 60_000}, "many slots": {1024, 60_000},
		"a slot with the longest directory": {1, 1_700_000},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			slots, items := c.slots, c.items
			c, value := New(), make([]byte, 20)
			worst := uint64(0)
			measure := func(call func()) {
				before := c.moved
				call()
				worst = max(worst, c.moved-before)
			}
			for i := range items {
				measure(func() { c.Put(uint16(i%slots), numbered(i), Item{Value: value[:i%20], Deadline: int64(i % 7)}) })
			}
			for i := range items {
				measure(func() { c.Remove(uint16(i%slots), numbered(i)) })
			}
			// A split moves the entries of a leaf, a merge of some leaves those of one each. Either may
			// write a directory, in proportion to the slot's items and no more than 256 KiB.
			if most := uint64(3*leafLen + min(64<<10, items/slots/leafLen*8)); worst == 0 || worst > most {
				t.Errorf("a call moved %d items and entries, want %d at most", worst, most)
			}
			if places := c.expiry.places.held(); c.Len() != 0 || c.leafCount > 1 || places > chunkLen {
				t.Errorf("%d items, %d leaves, %d places in the expiry order are left", c.Len(), c.leafCount-1, places)
			}
		})
	}
}

// TestCellsFitClosely: of all sizes of cells a record gets the smallest that holds it, and
// wastes a thirty-second of it up to 1 KiB, an eighth of it above, but for a few bytes.
func TestCellsFitClosely(t *testing.T) {
	t.Parallel()
	a := newCells()
	for value := range coarseMax - cellHead + 1 {
		size, kind := cellHead+value, a.classOf(0, value)
		class := a.classes[kind]
		if int(class.size) < size || kind > 0 && int(a.classes[kind-1].size) >= size {
			t.Fatalf("%d bytes get a cell of %d", size, class.size)
		}
		if most := max(fineStep-1, size/32); size <= fineMax && int(class.size)-size > most {
			t.Fatalf("%d bytes get a cell of %d", size, class.size)
		}
		if size > fineMax && int(class.size)-size > size/8 {
			t.Fatalf("%d bytes get a cell of %d", size, class.size)
		}
	}
	if kind := a.classOf(0, coarseMax-cellHead+1); !a.isSingle(kind) {
		t.Fatalf("more than %d bytes share a chunk", coarseMax)
	}
}

// pieces is how many allocations a vector has.
func pieces[T any](v vector[T]) (n int) {
	for i := 0; i < len(v.chunks); i += v.step(i) {
		n++
	}
	return n
}

// TestFewPieces: a collection's sweep takes about a microsecond for each allocation,
// whatever its size, so there must be few.
func TestFewPieces(t *testing.T) {
	t.Parallel()
	const items = 300_000
	c, value := New(), make([]byte, 136)
	for i := range items {
		slot, key := uint16(i%256), fmt.Appendf(nil, "key:%012d", i)
		c.Put(slot, key, Item{Value: value, Deadline: int64(1 + i)})
	}
	pieces := pieces(c.nodes) + pieces(c.leaves) + pieces(c.expiry.heap) + len(c.expiry.places.chunks)/4 // which share spans of 8 KiB
	for _, class := range c.cells.classes {
		pieces += len(class.chunks)
	}
	if most := int(c.Footprint().Held / (64 << 10)); pieces < 100 || pieces > most {
		t.Errorf("%d pieces of memory for %d items, want %d at most", pieces, items, most)
	}
	audit(t, c)
}
