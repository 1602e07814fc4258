package lru

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"slices"
)

// Restore builds the cache that had this stamp and these items, which come in any
// order and keep their stamps: list, old items, deadlines and counts are what they
// were. It keeps the values. It fails on the first error among the items, on a
// key that comes twice in a slot, and on a stamp that is zero, given twice or over
// the cache's.
func Restore(stamp uint64, items iter.Seq2[Ref, error]) (*Cache, error) {
	c := New()
	c.stamp = stamp
	var nodes []*node
	for r, err := range items {
		if err != nil {
			return nil, fmt.Errorf("restore item %d: %w", len(nodes), err)
		}
		n, err := c.restore(r)
		if err != nil {
			return nil, fmt.Errorf("restore item %d, key %q of slot %d: %w", len(nodes), r.Key, r.Slot, err)
		}
		nodes = append(nodes, n)
	}
	slices.SortFunc(nodes, func(a, b *node) int { return cmp.Compare(a.stamp, b.stamp) })
	for i, n := range nodes {
		if i > 0 && n.stamp == nodes[i-1].stamp {
			return nil, fmt.Errorf("restore: keys %q of slot %d and %q of slot %d both have stamp %d",
				nodes[i-1].key, nodes[i-1].slot, n.key, n.slot, n.stamp)
		}
		c.attach(n)
	}
	return c, nil
}

// restore makes a node of r and puts it everywhere but in the list.
func (c *Cache) restore(r Ref) (*node, error) {
	if r.Stamp == 0 || r.Stamp > c.stamp {
		return nil, fmt.Errorf("stamp %d is not within 1 and %d", r.Stamp, c.stamp)
	}
	if _, twice := c.table(r.Slot)[r.Key]; twice {
		return nil, errors.New("the key comes twice")
	}
	n := &node{slot: r.Slot, key: r.Key, value: r.Value, version: r.Version, protected: r.Protected, stamp: r.Stamp}
	c.insert(n)
	c.expiry.set(n, r.Deadline)
	return n, nil
}
