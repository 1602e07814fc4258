package lru

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strings"
)

// table is a slot's hash map. It is nil while the slot is empty.
type table map[string]*node

// table returns the slot's table, which is not to be written to.
func (c *Cache) table(slot uint16) table {
	if int(slot) >= len(c.slots) {
		return nil
	}
	return c.slots[slot]
}

// find returns the node at key, or nil.
func (c *Cache) find(slot uint16, key []byte) *node {
	return c.table(slot)[string(key)]
}

// insert puts a node in its slot's table, where its key must not be yet.
func (c *Cache) insert(n *node) {
	if missing := int(n.slot) + 1 - len(c.slots); missing > 0 {
		c.slots = append(c.slots, make([]table, missing)...)
	}
	if c.slots[n.slot] == nil {
		c.slots[n.slot] = table{}
	}
	c.slots[n.slot][n.key] = n
	c.length++
}

// erase takes a node out of its slot's table. An empty table goes, too, since a Go
// map keeps the memory of its largest size.
func (c *Cache) erase(n *node) {
	delete(c.slots[n.slot], n.key)
	if len(c.slots[n.slot]) == 0 {
		c.slots[n.slot] = nil
	}
	c.length--
}

// Slots returns the slots that hold items, ascending. The cache must not change
// during the iteration.
func (c *Cache) Slots() iter.Seq[uint16] {
	return func(yield func(uint16) bool) {
		for slot, t := range c.slots {
			if len(t) > 0 && !yield(uint16(slot)) {
				return
			}
		}
	}
}

// Slot returns all items of a slot in ascending order of their keys. The cache
// must not change during the iteration.
func (c *Cache) Slot(slot uint16) iter.Seq[Ref] {
	return func(yield func(Ref) bool) {
		for _, n := range slices.SortedFunc(maps.Values(c.table(slot)), byKey) {
			if !yield(n.ref()) {
				return
			}
		}
	}
}

// Page returns the limit items of a slot with the least keys that start with
// prefix and are greater than after, in ascending order, and whether there are
// more. A limit under 1 counts as 1. An empty key is on no page.
//
// Of n keys it keeps twice limit at most, and takes O(n log limit) time.
func (c *Cache) Page(slot uint16, after, prefix []byte, limit int) (page []Ref, more bool) {
	least := leastKeys{limit: max(limit, 1)}
	start, stem := string(after), string(prefix)
	// any order: the least keys are the same whatever the order of offers
	for key, n := range c.table(slot) {
		if key > start && strings.HasPrefix(key, stem) {
			least.offer(n)
		}
	}
	least.cut()
	for _, n := range least.nodes {
		page = append(page, n.ref())
	}
	return page, least.more
}

// leastKeys selects the nodes with the least keys of those it is offered. It
// gathers twice as many as it wants before it sorts, so a sort is paid for by as
// many offers as it leaves nodes.
type leastKeys struct {
	limit int
	nodes []*node
	more  bool   // it has dropped a node
	bound string // with more: only lesser keys can be among the least
}

func (l *leastKeys) offer(n *node) {
	if l.more && n.key > l.bound {
		return
	}
	l.nodes = append(l.nodes, n)
	if len(l.nodes)/2 >= l.limit {
		l.cut()
	}
}

// cut sorts the nodes and drops those over the limit.
func (l *leastKeys) cut() {
	slices.SortFunc(l.nodes, byKey)
	if len(l.nodes) > l.limit {
		l.nodes = l.nodes[:l.limit]
		l.more = true
		l.bound = l.nodes[l.limit-1].key
	}
}

func byKey(a, b *node) int { return cmp.Compare(a.key, b.key) }
