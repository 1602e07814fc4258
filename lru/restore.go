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
// were. It copies keys and values. It fails on the first error among the items, on a
// key that comes twice in a slot or has, or whose value has, more bytes than a cache
// takes, and on a stamp that is zero, given twice or over the cache's.
func Restore(stamp uint64, items iter.Seq2[Ref, error]) (*Cache, error) {
	c := New()
	c.stamp = stamp
	var moves []move
	for r, err := range items {
		if err != nil {
			return nil, fmt.Errorf("restore item %d: %w", len(moves), err)
		}
		n, err := c.restore(r)
		if err != nil {
			return nil, fmt.Errorf("restore item %d, key %q of slot %d: %w", len(moves), r.Key, r.Slot, err)
		}
		moves = append(moves, move{r.Stamp, n})
	}
	slices.SortFunc(moves, func(a, b move) int { return cmp.Compare(a.stamp, b.stamp) })
	for i, m := range moves {
		if i > 0 && m.stamp == moves[i-1].stamp {
			a, b := c.ref(moves[i-1].node), c.ref(m.node)
			return nil, fmt.Errorf("restore: keys %q of slot %d and %q of slot %d both have stamp %d", a.Key, a.Slot, b.Key, b.Slot, m.stamp)
		}
		c.attach(m.node)
	}
	return c, nil
}

// move is a node's last move to the young end.
type move struct {
	stamp uint64
	node  uint32
}

// restore makes a node of r and puts it everywhere but in the list.
func (c *Cache) restore(r Ref) (uint32, error) {
	if r.Stamp == 0 || r.Stamp > c.stamp {
		return 0, fmt.Errorf("stamp %d is not within 1 and %d", r.Stamp, c.stamp)
	}
	if err := checkLengths(r.Key, r.Value); err != nil {
		return 0, err
	}
	if c.find(r.Slot, r.Key) != 0 {
		return 0, errors.New("the key comes twice")
	}
	i := c.create(r.Slot, r.Key, r.Value)
	c.setDeadline(i, r.Deadline)
	n := c.nodes.at(i)
	n.version, n.stamp = r.Version, r.Stamp
	n.set(flagProtected, r.Protected)
	return i, nil
}
