package lru

import "math/bits"

const (
	leafLen  = 48              // fills 256 bytes
	mergeLen = leafLen * 3 / 4 // two leaves with so few together become one

	everyByte = 0x0101010101010101
	highBits  = 0x8080808080808080
)

// leaf is the nodes whose hashes have a common prefix. Behind a leaf that is full and
// must not split there are others of the same prefix, which are full too. Number 0 is no
// leaf.
type leaf struct {
	next   uint32 // leaf behind this one, or 0
	prefix uint32 // the first depth bits of the hashes
	slot   uint16
	depth  uint8
	length uint8
	tags   [leafLen / 8]uint64 // a byte for each node, see tagOf; up to here it is one cache line
	nodes  [leafLen]uint32     // in any order
}

// first is the least hash with the leaf's prefix, end the one behind the greatest, 0 if
// there is none behind.
func (l *leaf) first() uint64 { return uint64(l.prefix) << (64 - l.depth) }
func (l *leaf) end() uint64   { return (uint64(l.prefix) + 1) << (64 - l.depth) }

func (l *leaf) tag(i int) uint8 { return uint8(l.tags[i/8] >> (i % 8 * 8)) }

func (l *leaf) setTag(i int, tag uint8) {
	shift := i % 8 * 8
	l.tags[i/8] = l.tags[i/8]&^(0xff<<shift) | uint64(tag)<<shift
}

func (l *leaf) add(n uint32, tag uint8) {
	l.setTag(int(l.length), tag)
	l.nodes[l.length] = n
	l.length++
}

// seek returns the first entry from i on that may have the tag: it compares eight at a
// time, and takes an entry behind one with the tag for another now and then.
func (l *leaf) seek(tag uint8, i int) (at int, ok bool) {
	for w, skip := i/8, i%8*8; w*8 < int(l.length); w, skip = w+1, 0 {
		x := l.tags[w] ^ uint64(tag)*everyByte
		if zero := (x - everyByte) &^ x & highBits >> skip << skip; zero != 0 {
			at = w*8 + bits.TrailingZeros64(zero)/8
			return at, at < int(l.length)
		}
	}
	return 0, false
}

// newLeaf returns the number of a new leaf that is l.
func (c *Cache) newLeaf(l leaf) uint32 {
	n := max(c.leafCount, 1)
	c.leafCount = n + 1
	c.leaves.fit(c.leafCount)
	*c.leaves.at(n) = l
	return n
}

// freeLeaf gives back a leaf that nothing points to. The last leaf takes its number.
func (c *Cache) freeLeaf(l uint32) {
	last := c.leafCount - 1
	if l != last {
		moved := c.leaves.at(last)
		*c.leaves.at(l) = *moved
		c.repoint(moved, last, l)
	}
	c.leafCount--
	c.leaves.fit(c.leafCount)
}

// repoint makes what points to the leaf from point to to.
func (c *Cache) repoint(moved *leaf, from, to uint32) {
	d := &c.slots[moved.slot]
	first, _ := d.span(moved.prefix, moved.depth)
	if d.at(first) == from {
		d.point(moved.prefix, moved.depth, to)
		return
	}
	at := c.leaves.at(d.at(first))
	for at.next != from {
		at = c.leaves.at(at.next)
	}
	at.next = to
}

// overflow moves what is in the first leaf of a prefix, which is full, to a leaf behind it.
func (c *Cache) overflow(head uint32) {
	full := c.newLeaf(*c.leaves.at(head))
	first := c.leaves.at(head)
	first.length, first.next = 0, full
}

// pull undoes overflow where the first leaf has become empty.
func (c *Cache) pull(head uint32) {
	first := c.leaves.at(head)
	full := first.next
	*first = *c.leaves.at(full)
	c.freeLeaf(full)
}

// add puts a node, whose key has hash h, at the head of its leaves.
func (c *Cache) add(d *directory, h uint64, n uint32) {
	head := d.leaf(h)
	if int(c.leaves.at(head).length) == leafLen {
		c.overflow(head)
	}
	c.leaves.at(head).add(n, tagOf(h))
}

// split divides the leaf of hash h, and those behind it, by one more bit.
func (c *Cache) split(d *directory, h uint64) {
	nodes := make([]uint32, 0, leafLen)
	for first := c.leaves.at(d.leaf(h)); ; first = c.leaves.at(d.leaf(h)) {
		nodes = append(nodes, first.nodes[:first.length]...)
		if first.next == 0 {
			break
		}
		c.pull(d.leaf(h))
	}
	one := c.leaves.at(d.leaf(h))
	if one.depth == d.depth {
		c.entries += int64(d.entries())
		d.double()
		c.moved += uint64(d.entries())
	}
	two := leaf{slot: one.slot, depth: one.depth + 1, prefix: one.prefix<<1 | 1}
	*one = leaf{slot: one.slot, depth: one.depth + 1, prefix: one.prefix << 1}
	d.point(two.prefix, two.depth, c.newLeaf(two))
	if two.depth == d.depth {
		d.fully += 2
	}
	c.moved += uint64(len(nodes))
	for _, n := range nodes {
		c.add(d, c.hash(c.key(n)), n)
	}
}

// merge undoes splits where what is left fits well into one leaf.
func (c *Cache) merge(d *directory, h uint64) {
	for {
		head := d.leaf(h)
		one := c.leaves.at(head)
		if one.depth == 0 {
			return
		}
		other, _ := d.span(one.prefix^1, one.depth)
		two := c.leaves.at(d.at(other))
		if two.depth != one.depth || one.next != 0 || two.next != 0 || one.length+two.length > mergeLen {
			return
		}
		c.moved += uint64(two.length)
		for i, n := range two.nodes[:two.length] {
			one.add(n, two.tag(i))
		}
		if one.depth == d.depth {
			d.fully -= 2
		}
		gone := d.at(other)
		one.depth--
		one.prefix >>= 1
		d.point(one.prefix, one.depth, head)
		c.freeLeaf(gone)
		c.shrink(d)
	}
}

// shrink halves a directory of which no leaf needs the last bit.
func (c *Cache) shrink(d *directory) {
	for d.fully == 0 && d.depth > 0 {
		d.halve()
		c.moved += uint64(d.entries())
		c.entries -= int64(d.entries())
	}
}
