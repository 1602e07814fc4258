// Package lru holds a group's records: a hash table per slot, one list across all
// slots in order of use, and an order of expiry. It counts bytes but knows no
// limit; it orders deadlines but knows no time. Eviction and expiry are loops of
// its caller over [Cache.Oldest] and [Cache.NextDeadline].
//
// There is no clock, lock, goroutine or randomness, and no result depends on how
// memory is laid out: two caches that saw the same calls are equal. One
// goroutine at a time may write. Under the caller's read lock any number may call
// the methods that don't; [Search.Hint] is one of these.
//
// All items are in chunks without pointers, by number, so the garbage collector has
// nothing to do with them. Keys and values that a cache returns lie in these chunks: see
// [Item] for how long they are good.
package lru

import "github.com/ringraft/ringraft/internal/mutant"

// Overhead is what an item costs beside its key and value, in logical bytes.
const Overhead = 64

// Cost returns the logical bytes of an item with a key and a value of these lengths.
func Cost(key, value int) int64 { return int64(key) + int64(value) + Overhead }

// Item is what stands at a key. The value of an item that a cache returns is good until
// the next change of the cache, unless it has more than [Lasting] bytes: then it stays
// as it is. Nobody may write to it.
type Item struct {
	Value     []byte // nil and empty are the same
	Version   uint64
	Deadline  int64  // when it ends, in the caller's unit; 0 is never
	Protected bool   // kept out of the list, so that it cannot be evicted
	Stamp     uint64 // the cache's count of moves when this one last moved; from 1 on, unique
}

// Ref is an item with its place. A key that a cache returns is good until the next
// change of the cache.
type Ref struct {
	Slot uint16
	Key  []byte
	Item
}

// Cache is the items of a group. Make one with [New] or [Restore].
type Cache struct {
	hash      func(key []byte) uint64
	slots     []directory // by slot, as far as the highest slot used so far
	leaves    vector[leaf]
	leafCount uint32 // with number 0, unless there is none yet
	entries   int64  // of directories, beside the first of each

	nodes   vector[node]
	numbers dense // of nodes, with the root
	cells   cells
	order   order
	expiry  expiry

	length         int
	bytes          int64
	protectedBytes int64
	stamp          uint64
	moved          uint64
	sought         uint32 // the node that Seek found last, 0 if none or one was removed since
	warmed         warmed // is empty if a node was removed since
}

// New returns an empty cache.
func New() *Cache { return newCache(hashOf) }

func newCache(hash func(key []byte) uint64) *Cache {
	c := &Cache{hash: hash, cells: newCells(), numbers: dense{length: 1}}
	c.nodes.perPiece, c.expiry.heap.perPiece = nodeChunks, dueChunks
	c.nodes.fit(1)
	c.order.nodes = &c.nodes
	return c
}

// Len returns the number of items.
func (c *Cache) Len() int { return c.length }

// Bytes returns the logical bytes of all items, ProtectedBytes those of the protected ones.
func (c *Cache) Bytes() int64          { return c.bytes }
func (c *Cache) ProtectedBytes() int64 { return c.protectedBytes }

// Stamp returns the count of moves to the young end so far, which is the last stamp given.
func (c *Cache) Stamp() uint64 { return c.stamp }

// Get returns the item at key. It does not count as a use: see [Search.Hint] and [Cache.Touch].
func (c *Cache) Get(slot uint16, key []byte) (Item, bool) {
	n := c.find(slot, key)
	if n == 0 {
		return Item{}, false
	}
	return c.item(n), true
}

// Seek is Get for the one who writes: it remembers where it found the item, for the
// change that comes next. It need not look where [Cache.Warm] has found it.
func (c *Cache) Seek(slot uint16, key []byte) (Item, bool) {
	if c.sought = c.recall(slot, key); c.sought == 0 {
		c.sought = c.find(slot, key)
	}
	if c.sought == 0 {
		return Item{}, false
	}
	return c.item(c.sought), true
}

// locate is find for the one who writes.
func (c *Cache) locate(slot uint16, key []byte) uint32 {
	if c.stands(c.sought, slot, key) {
		return c.sought
	}
	return c.find(slot, key)
}

// Put inserts or replaces the item at key, moves it to the young end and returns
// what is stored, which is it with the next stamp. It evicts nothing. Key and value are
// copied. It panics if they have more
// bytes than [MaxKey] and [MaxValue].
func (c *Cache) Put(slot uint16, key []byte, it Item) Item {
	if err := checkLengths(key, it.Value); err != nil {
		panic("lru: " + err.Error())
	}
	n := c.locate(slot, key)
	if n == 0 {
		n = c.create(slot, key, it.Value)
	} else {
		c.detach(n)
		c.rewrite(n, it.Value)
	}
	return c.renew(n, it.Version, it.Deadline, it.Protected)
}

// Amend changes everything but the value of the item at key, moves it to the young
// end and returns what is stored. It reports false, and does nothing, if there is none.
func (c *Cache) Amend(slot uint16, key []byte, version uint64, deadline int64, protected bool) (Item, bool) {
	n := c.locate(slot, key)
	if n == 0 {
		return Item{}, false
	}
	c.detach(n)
	return c.renew(n, version, deadline, protected), true
}

// Touch moves the item at key to the young end if it is old, and then returns it
// as it was and as it is. Otherwise it does nothing and returns no items.
func (c *Cache) Touch(slot uint16, key []byte) (before, after Item, moved bool) {
	n := c.find(slot, key)
	if n == 0 || !c.nodes.at(n).is(flagOld) && !mutant.StaleTouch {
		return Item{}, Item{}, false
	}
	before = c.item(n)
	c.detach(n)
	return before, c.renew(n, before.Version, before.Deadline, before.Protected), true
}

// Remove takes out the item at key and reports whether there was one.
func (c *Cache) Remove(slot uint16, key []byte) bool {
	n := c.locate(slot, key)
	if n == 0 {
		return false
	}
	c.detach(n)
	c.setDeadline(n, 0)
	c.destroy(n)
	return true
}

// Oldest returns the next victim: of the items not protected, the one with the
// least stamp.
func (c *Cache) Oldest() (Ref, bool) {
	n := c.order.oldest()
	if n == 0 {
		return Ref{}, false
	}
	return c.ref(n), true
}

// NextDeadline returns the item that ends first: of those with a deadline the
// least by deadline, slot and key.
func (c *Cache) NextDeadline() (Ref, bool) {
	if c.expiry.length == 0 {
		return Ref{}, false
	}
	return c.ref(c.expiry.heap.at(0).node), true
}

// Old reports whether the item at key is old: among the oldest three quarters,
// rounded down, of the items not protected.
func (c *Cache) Old(slot uint16, key []byte) bool {
	n := c.find(slot, key)
	return n != 0 && c.nodes.at(n).is(flagOld)
}

// renew gives a detached node the next stamp, changes what may change beside its value,
// and attaches it.
func (c *Cache) renew(i uint32, version uint64, deadline int64, protected bool) Item {
	c.setDeadline(i, deadline)
	n := c.nodes.at(i)
	n.version = version
	n.set(flagProtected, protected)
	c.stamp++
	n.stamp = c.stamp
	c.attach(i)
	return c.item(i)
}

// attach counts the node's bytes and puts it at the young end of the list, unless
// it is protected. No attached node may have a higher stamp.
func (c *Cache) attach(i uint32) {
	n := c.nodes.at(i)
	c.bytes += n.cost()
	if !n.listed() {
		c.protectedBytes += n.cost()
		return
	}
	c.order.add(i)
}

// detach undoes attach. It comes before any change to what attach looked at.
func (c *Cache) detach(i uint32) {
	n := c.nodes.at(i)
	c.bytes -= n.cost()
	if !n.listed() {
		c.protectedBytes -= n.cost()
		return
	}
	c.order.remove(i)
}
