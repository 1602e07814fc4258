package lru

// Sizes in bytes of what chunks consist of.
const (
	nodeSize      = 40
	leafSize      = 256
	entrySize     = 5 // of a leaf: a number and a tag
	dueSize       = 16
	numberSize    = 4
	directorySize = 40
)

// How many chunks are allocated at once: an even number, so that they fill pages of Go's
// heap.
const (
	nodeChunks = piece / (chunkLen * nodeSize) &^ 1
	dueChunks  = piece / (chunkLen * dueSize) &^ 1
)

// Footprint is a replica's memory for its items. It depends on the history of the cache,
// and is no part of the state that replicas agree on.
type Footprint struct {
	Used  int64  // bytes of keys, values, and what an item needs beside them
	Held  int64  // bytes of the memory that they lie in, with what is free there
	Moved uint64 // items and table entries that were moved to keep it dense, since New
}

// Footprint tells how much memory the cache has.
func (c *Cache) Footprint() Footprint {
	payload := c.bytes - int64(c.length)*Overhead
	each := int64(cellHead + nodeSize + entrySize)
	table := c.leaves.held()*leafSize + c.entries*numberSize + int64(len(c.slots))*directorySize
	return Footprint{
		Used:  payload + int64(c.length)*each + int64(c.expiry.length)*(dueSize+numberSize),
		Held:  c.nodes.held()*nodeSize + table + c.cells.held() + c.expiry.held(),
		Moved: c.moved,
	}
}

func (e *expiry) held() int64 { return e.heap.held()*dueSize + e.places.held()*numberSize }
