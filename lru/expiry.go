package lru

import (
	"bytes"
	"cmp"
)

// expiry is a heap of the nodes with a deadline, in which each has up to heapFan below
// it. Slot and key break ties, so that the order of expiry does not depend on the order
// in which the heap was built. The methods that need slot and key are the cache's.
type expiry struct {
	heap   vector[due]
	length uint32
	places sparse // of each node in the heap
}

const heapFan = 4

// due is a node's deadline, which is kept nowhere else.
type due struct {
	deadline int64
	node     uint32
}

// put gives a node its place.
func (e *expiry) put(at uint32, d due) {
	*e.heap.at(at) = d
	e.places.set(d.node, at)
}

// rename gives the place of the node from to its copy, the node to.
func (e *expiry) rename(from, to uint32) {
	at := e.places.get(from)
	e.put(at, due{e.heap.at(at).deadline, to})
}

// deadline returns when the node ends, 0 if never.
func (c *Cache) deadline(n uint32) int64 {
	if !c.nodes.at(n).is(flagExpires) {
		return 0
	}
	return c.expiry.heap.at(c.expiry.places.get(n)).deadline
}

// setDeadline changes a node's deadline, and with it whether and where it is in the heap.
func (c *Cache) setDeadline(n uint32, deadline int64) {
	switch before := c.deadline(n); {
	case before == deadline:
	case before == 0:
		c.expire(due{deadline, n})
	case deadline == 0:
		c.persist(n)
	default:
		c.settle(c.expiry.places.get(n), due{deadline, n})
	}
}

// expire puts a node into the heap.
func (c *Cache) expire(d due) {
	c.nodes.at(d.node).set(flagExpires, true)
	last := c.expiry.length
	c.expiry.length++
	c.expiry.heap.fit(c.expiry.length)
	c.settle(last, d)
}

// persist takes a node out of the heap.
func (c *Cache) persist(n uint32) {
	e := &c.expiry
	c.nodes.at(n).set(flagExpires, false)
	at := e.places.get(n)
	e.length--
	if at != e.length {
		c.settle(at, *e.heap.at(e.length))
	}
	e.heap.fit(e.length)
}

// settle puts d where it belongs, given that the place at is free: what ends later moves
// down to make way, or what ends earlier up.
func (c *Cache) settle(at uint32, d due) {
	e := &c.expiry
	for at > 0 {
		above := *e.heap.at((at - 1) / heapFan)
		if !c.endsBefore(d, above) {
			break
		}
		e.put(at, above)
		at = (at - 1) / heapFan
	}
	for {
		next := c.firstBelow(at)
		if next == 0 || !c.endsBefore(*e.heap.at(next), d) {
			break
		}
		e.put(at, *e.heap.at(next))
		at = next
	}
	e.put(at, d)
}

// firstBelow returns the place below at that ends first, 0 if there is none.
func (c *Cache) firstBelow(at uint32) uint32 {
	e := &c.expiry
	low := uint64(at)*heapFan + 1
	high := min(low+heapFan, uint64(e.length))
	if low >= high {
		return 0
	}
	first := uint32(low)
	for i := first + 1; i < uint32(high); i++ {
		if c.endsBefore(*e.heap.at(i), *e.heap.at(first)) {
			first = i
		}
	}
	return first
}

// endsBefore is a total order, by deadline, slot and key.
func (c *Cache) endsBefore(a, b due) bool {
	if a.deadline != b.deadline {
		return a.deadline < b.deadline
	}
	m, n := c.nodes.at(a.node), c.nodes.at(b.node)
	return cmp.Or(cmp.Compare(m.slot, n.slot), bytes.Compare(c.key(a.node), c.key(b.node))) < 0
}

// sparse is a number for some of the nodes, in chunks of which only those are there that
// have one.
type sparse struct {
	chunks []*[chunkLen]uint32
	there  int64 // chunks
}

func (s *sparse) get(i uint32) uint32 { return s.chunks[i/chunkLen][i%chunkLen] }

func (s *sparse) set(i, x uint32) {
	if missing := int(i/chunkLen) + 1 - len(s.chunks); missing > 0 {
		s.chunks = append(s.chunks, make([]*[chunkLen]uint32, missing)...)
	}
	chunk := &s.chunks[i/chunkLen]
	if *chunk == nil {
		*chunk = new([chunkLen]uint32)
		s.there++
	}
	(*chunk)[i%chunkLen] = x
}

// cut lets go of chunks that are for nodes from length on only.
func (s *sparse) cut(length uint32) {
	for need := int(length/chunkLen) + 1; len(s.chunks) > need; {
		last := len(s.chunks) - 1
		if s.chunks[last] != nil {
			s.there--
		}
		s.chunks[last] = nil
		s.chunks = s.chunks[:last]
	}
}

// held returns for how many nodes there is room.
func (s *sparse) held() int64 { return s.there * chunkLen }
