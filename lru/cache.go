// Package lru holds a group's records: a hash map per slot, one list across all
// slots in order of use, and an order of expiry. It counts bytes but knows no
// limit; it orders deadlines but knows no time. Eviction and expiry are loops of
// its caller over [Cache.Oldest] and [Cache.NextDeadline].
//
// There is no clock, lock, goroutine or randomness, and no result depends on the
// order in which Go walks a map: two caches that saw the same calls are equal. One
// goroutine at a time may write. Under the caller's read lock any number may call
// the methods that don't; [Cache.Hint] is one of these.
package lru

import "github.com/ringraft/ringraft/internal/mutant"

// Overhead is what an item costs beside its key and value, in logical bytes.
const Overhead = 64

// Cost returns the logical bytes of an item with a key and a value of these lengths.
func Cost(key, value int) int64 { return int64(key) + int64(value) + Overhead }

// Item is what stands at a key.
type Item struct {
	Value     []byte // never changed once stored; nil and empty are the same
	Version   uint64
	Deadline  int64  // when it ends, in the caller's unit; 0 is never
	Protected bool   // kept out of the list, so that it cannot be evicted
	Stamp     uint64 // the cache's count of moves when this one last moved; from 1 on, unique
}

// Ref is an item with its place.
type Ref struct {
	Slot uint16
	Key  string
	Item
}

// Cache is the items of a group. Make one with [New] or [Restore].
type Cache struct {
	slots          []table // by slot, as far as the highest slot used so far
	order          order
	expiry         expiry
	length         int
	bytes          int64
	protectedBytes int64
	stamp          uint64
}

// New returns an empty cache.
func New() *Cache {
	c := &Cache{}
	c.order.init()
	return c
}

// Len returns the number of items.
func (c *Cache) Len() int { return c.length }

// Bytes returns the logical bytes of all items, ProtectedBytes those of the protected ones.
func (c *Cache) Bytes() int64          { return c.bytes }
func (c *Cache) ProtectedBytes() int64 { return c.protectedBytes }

// Stamp returns the count of moves to the young end so far, which is the last stamp given.
func (c *Cache) Stamp() uint64 { return c.stamp }

// Get returns the item at key. It does not count as a use: see [Cache.Hint] and [Cache.Touch].
func (c *Cache) Get(slot uint16, key []byte) (Item, bool) {
	n := c.find(slot, key)
	if n == nil {
		return Item{}, false
	}
	return n.item(), true
}

// Put inserts or replaces the item at key, moves it to the young end and returns
// what is stored, which is it with the next stamp. It evicts nothing. The key is
// copied; the value is kept, and must not change from now on.
func (c *Cache) Put(slot uint16, key []byte, it Item) Item {
	n := c.find(slot, key)
	if n == nil {
		n = &node{slot: slot, key: string(key)}
		c.insert(n)
	} else {
		c.detach(n)
	}
	n.value, n.version, n.protected = it.Value, it.Version, it.Protected
	c.expiry.set(n, it.Deadline)
	return c.renew(n)
}

// Amend changes everything but the value of the item at key, moves it to the young
// end and returns what is stored. It reports false, and does nothing, if there is none.
func (c *Cache) Amend(slot uint16, key []byte, version uint64, deadline int64, protected bool) (Item, bool) {
	n := c.find(slot, key)
	if n == nil {
		return Item{}, false
	}
	c.detach(n)
	n.version, n.protected = version, protected
	c.expiry.set(n, deadline)
	return c.renew(n), true
}

// Touch moves the item at key to the young end if it is old, and then returns it
// as it was and as it is. Otherwise it does nothing and returns no items.
func (c *Cache) Touch(slot uint16, key []byte) (before, after Item, moved bool) {
	n := c.find(slot, key)
	if n == nil || !n.old && !mutant.StaleTouch {
		return Item{}, Item{}, false
	}
	before = n.item()
	c.detach(n)
	return before, c.renew(n), true
}

// Remove takes out the item at key and returns it.
func (c *Cache) Remove(slot uint16, key []byte) (Item, bool) {
	n := c.find(slot, key)
	if n == nil {
		return Item{}, false
	}
	it := n.item()
	c.detach(n)
	c.expiry.set(n, 0)
	c.erase(n)
	return it, true
}

// Oldest returns the next victim: of the items not protected, the one with the
// least stamp.
func (c *Cache) Oldest() (Ref, bool) {
	n := c.order.oldest()
	if n == nil {
		return Ref{}, false
	}
	return n.ref(), true
}

// NextDeadline returns the item that ends first: of those with a deadline the
// least by deadline, slot and key.
func (c *Cache) NextDeadline() (Ref, bool) {
	if len(c.expiry) == 0 {
		return Ref{}, false
	}
	return c.expiry[0].ref(), true
}

// Old reports whether the item at key is old: among the oldest three quarters,
// rounded down, of the items not protected.
func (c *Cache) Old(slot uint16, key []byte) bool {
	n := c.find(slot, key)
	return n != nil && n.old
}

// renew gives a detached node the next stamp and attaches it.
func (c *Cache) renew(n *node) Item {
	c.stamp++
	n.stamp = c.stamp
	c.attach(n)
	return n.item()
}

// attach counts the node's bytes and puts it at the young end of the list, unless
// it is protected. No attached node may have a higher stamp.
func (c *Cache) attach(n *node) {
	c.bytes += n.cost()
	if n.protected && !mutant.EvictProtected {
		c.protectedBytes += n.cost()
		return
	}
	c.order.add(n)
}

// detach undoes attach. It comes before any change to what attach looked at.
func (c *Cache) detach(n *node) {
	c.bytes -= n.cost()
	if n.protected && !mutant.EvictProtected {
		c.protectedBytes -= n.cost()
		return
	}
	c.order.remove(n)
}
