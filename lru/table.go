package lru

import (
	"math/bits"

	"github.com/cespare/xxhash/v2"
)

// A slot's table is a tree of one level: the first bits of a key's hash say where in the
// directory its leaf is, and a leaf that is full splits by one more bit. So no change
// touches more than some leaves, but for the doubling of a directory, which writes 256 KiB
// at most: a slot with more than three million items has leaves behind leaves. (Fagin, Nievergelt, Pippenger, Strong: Extendible hashing,
// ACM TODS 4(3), 1979.)

const maxDepth = 16 // bits of the longest prefix

// directory is the table of one slot. It has an entry for each value of the first depth
// bits, which is a leaf; several entries may have the same.
type directory struct {
	root   uint32 // the only leaf, at depth 0; 0 if the slot is empty
	length uint32 // items
	depth  uint8
	fully  uint32   // leaves whose depth is the directory's
	leaves []uint32 // the entries, at depths over 0
}

func (d *directory) empty() bool { return d.length == 0 }

func (d *directory) entries() int { return 1 << d.depth }

// at returns the leaf of an entry.
func (d *directory) at(entry int) uint32 {
	if d.depth == 0 {
		return d.root
	}
	return d.leaves[entry]
}

// leaf returns the leaf for a hash.
func (d *directory) leaf(h uint64) uint32 { return d.at(int(h >> (64 - d.depth))) }

// span returns which entries a leaf of this prefix and depth has.
func (d *directory) span(prefix uint32, depth uint8) (first, end int) {
	free := d.depth - depth
	return int(prefix) << free, int(prefix+1) << free
}

// point gives the entries of this prefix and depth the leaf l.
func (d *directory) point(prefix uint32, depth uint8, l uint32) {
	if d.depth == 0 {
		d.root = l
		return
	}
	first, end := d.span(prefix, depth)
	for i := first; i < end; i++ {
		d.leaves[i] = l
	}
}

// roomy reports whether the directory may double: it is small beside the slot's items.
// Otherwise a few keys with hashes alike would make it grow without end.
func (d *directory) roomy() bool {
	return d.entries() <= int(d.length)/leafLen*4 && d.depth < maxDepth
}

func (d *directory) double() {
	if d.depth == 0 {
		d.leaves = []uint32{d.root}
	}
	doubled := make([]uint32, 0, 2*len(d.leaves))
	for _, l := range d.leaves {
		doubled = append(doubled, l, l)
	}
	d.leaves, d.fully = doubled, 0
	d.depth++
}

// halve undoes double.
func (d *directory) halve() {
	halved := make([]uint32, d.entries()/2)
	for i := range halved {
		halved[i] = d.at(2 * i)
	}
	d.leaves, d.root, d.fully = halved, halved[0], 0
	d.depth--
	if d.depth == 0 {
		d.fully = 1
		return
	}
	for i := 0; i < len(halved); i += 2 {
		if halved[i] != halved[i+1] { // else they are one leaf's, whose depth is less
			d.fully += 2
		}
	}
}

// hashOf is the order of a slot's keys. Its first bits are others than those that make
// the slot of a key without a tag, as they are the same in all of the slot.
func hashOf(key []byte) uint64 { return bits.RotateLeft64(xxhash.Sum64(key), 12) }

// tagOf is what a leaf keeps of a hash: bits that neither choose the leaf nor the slot.
func tagOf(h uint64) uint8 { return uint8(h >> 16) }

// directory returns the slot's table, nil if it is empty.
func (c *Cache) directory(slot uint16) *directory {
	if int(slot) >= len(c.slots) || c.slots[slot].empty() {
		return nil
	}
	return &c.slots[slot]
}

// find returns the node at key, or 0.
func (c *Cache) find(slot uint16, key []byte) uint32 { return c.findBy(c.hash(key), slot, key) }

// findBy is find for who has the key's hash.
func (c *Cache) findBy(h uint64, slot uint16, key []byte) uint32 {
	d := c.directory(slot)
	if d == nil {
		return 0
	}
	for l := d.leaf(h); l != 0; l = c.leaves.at(l).next {
		leaf := c.leaves.at(l)
		for i, ok := leaf.seek(tagOf(h), 0); ok; i, ok = leaf.seek(tagOf(h), i+1) {
			if n := leaf.nodes[i]; c.hasKey(n, key) {
				return n
			}
		}
	}
	return 0
}

// insert puts a node, whose key its slot does not have yet, in the slot's table.
func (c *Cache) insert(n uint32, slot uint16, key []byte) {
	d := c.open(slot)
	h := c.hash(key)
	for first := c.leaves.at(d.leaf(h)); int(first.length) == leafLen; first = c.leaves.at(d.leaf(h)) {
		if first.depth == d.depth && !d.roomy() {
			break
		}
		c.split(d, h)
	}
	c.add(d, h, n)
	d.length++
}

// open returns the slot's table, which has a leaf from then on.
func (c *Cache) open(slot uint16) *directory {
	if missing := int(slot) + 1 - len(c.slots); missing > 0 {
		c.slots = append(c.slots, make([]directory, missing)...)
	}
	d := &c.slots[slot]
	if d.empty() {
		d.root, d.fully = c.newLeaf(leaf{slot: slot}), 1
	}
	return d
}

// erase takes a node out of its slot's table.
func (c *Cache) erase(n uint32, slot uint16, key []byte) {
	d := &c.slots[slot]
	h := c.hash(key)
	head := d.leaf(h)
	entry, first := c.entryOf(head, n, tagOf(h)), c.leaves.at(head)
	last := first.length - 1
	*entry.node = first.nodes[last]
	entry.leaf.setTag(entry.at, first.tag(int(last)))
	first.nodes[last] = 0
	first.length--
	d.length--
	switch {
	case d.length == 0:
		c.freeLeaf(head)
		*d = directory{}
	case first.length == 0 && first.next != 0:
		c.pull(head)
	default:
		c.merge(d, h)
	}
}

// renameEntry gives an entry of the slot's table that has the node from the node to, which
// has its key.
func (c *Cache) renameEntry(from, to uint32, slot uint16, key []byte) {
	h := c.hash(key)
	*c.entryOf(c.slots[slot].leaf(h), from, tagOf(h)).node = to
}

// entry is a place in a leaf.
type entry struct {
	leaf *leaf
	at   int
	node *uint32
}

// entryOf returns the entry of a node that is in the leaf l or one behind it.
func (c *Cache) entryOf(l, n uint32, tag uint8) entry {
	for ; l != 0; l = c.leaves.at(l).next {
		leaf := c.leaves.at(l)
		for i, ok := leaf.seek(tag, 0); ok; i, ok = leaf.seek(tag, i+1) {
			if leaf.nodes[i] == n {
				return entry{leaf, i, &leaf.nodes[i]}
			}
		}
	}
	panic("lru: an item is not in its slot's table") // its key has changed: memory is damaged
}
