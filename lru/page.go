package lru

import (
	"bytes"
	"cmp"
	"iter"
	"slices"
)

// Slots returns the slots that hold items, ascending. The cache must not change
// during the iteration.
func (c *Cache) Slots() iter.Seq[uint16] {
	return func(yield func(uint16) bool) {
		for slot := range c.slots {
			if !c.slots[slot].empty() && !yield(uint16(slot)) {
				return
			}
		}
	}
}

// Rank returns where a key stands in its slot, for [Cache.Walk]. Keys may share a rank.
func (c *Cache) Rank(key []byte) uint64 { return c.hash(key) }

// Walk visits the items of a slot whose ranks are from or higher, those of lower ranks
// first. It stops once what it has visited has so many logical bytes, at the end of the
// leaf of its table that it is in, and returns the lowest rank that it has not come to; 0,
// when it has come to all. The cache must not change during a walk, but may before the
// next one.
func (c *Cache) Walk(slot uint16, from uint64, bytes int64, visit func(Ref)) (next uint64) {
	d := c.directory(slot)
	if d == nil {
		return 0
	}
	for next = from; ; {
		head := c.leaves.at(d.leaf(next))
		merged := next > head.first() // with a leaf that has been visited
		for n := range c.chain(head) {
			if !merged || c.hash(c.key(n)) >= next {
				visit(c.ref(n))
				bytes -= c.nodes.at(n).cost()
			}
		}
		if next = head.end(); next == 0 || bytes <= 0 {
			return next
		}
	}
}

// place is a node with what orders it in its slot.
type place struct {
	hash uint64
	key  []byte
	node uint32
}

func byHash(a, b place) int { return cmp.Or(cmp.Compare(a.hash, b.hash), bytes.Compare(a.key, b.key)) }

// chain returns the nodes of a leaf and of those behind it.
func (c *Cache) chain(l *leaf) iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		for {
			for _, n := range l.nodes[:l.length] {
				if !yield(n) {
					return
				}
			}
			if l.next == 0 {
				return
			}
			l = c.leaves.at(l.next)
		}
	}
}

// Page returns items of a slot whose keys start with prefix, limit of them at most and
// one at least. The keys of a slot have an order, which is the same on all replicas; the
// page holds those that come after the key after, which need not be there. An empty after
// is before all, and an empty key is on no page. To go on, ask for what comes after next;
// without it there is no more.
//
// It ends with the items of the leaf of its table in which it has looked at look of them,
// so a page may have fewer than limit and still a next; looked tells at how many it has.
// That is what its time is in proportion to.
func (c *Cache) Page(slot uint16, after, prefix []byte, limit, look int) (page []Ref, next []byte, looked int) {
	d := c.directory(slot)
	if d == nil {
		return nil, nil, 0
	}
	start := place{key: after}
	if len(after) > 0 {
		start.hash = c.hash(after)
	}
	limit = max(limit, 1)
	var places []place // kept for its memory
	for at := int(start.hash >> (64 - d.depth)); at < d.entries(); {
		if len(next) > 0 && looked >= look {
			return page, next, looked
		}
		head := c.leaves.at(d.at(at))
		places = c.after(places[:0], head, start)
		for _, p := range places {
			looked++
			next = p.key
			if bytes.HasPrefix(p.key, prefix) {
				page = append(page, c.ref(p.node))
			}
			if len(page) == limit {
				return page, next, looked
			}
		}
		_, at = d.span(head.prefix, head.depth)
	}
	return page, nil, looked
}

// after appends the places of a leaf, and of those behind it, that come after start,
// sorted.
func (c *Cache) after(places []place, head *leaf, start place) []place {
	for n := range c.chain(head) {
		p := place{key: c.key(n), node: n}
		p.hash = c.hash(p.key)
		if len(p.key) > 0 && byHash(start, p) < 0 {
			places = append(places, p)
		}
	}
	slices.SortFunc(places, byHash)
	return places
}
