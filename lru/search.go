package lru

// Search is a [Cache.Get] in steps. Every step but the last asks for memory that the next
// one needs and that no processor's cache may hold. Who has several keys to find takes each
// step with all of them before the next, and so waits for their memory together, not for
// one after the other. While there are searches the cache must not change.
type Search struct {
	cache *Cache
	slot  uint16
	asked uint8 // what came of the memory asked for; nobody needs it
	key   []byte
	hash  uint64 // of the key
	leaf  *leaf  // nil if the slot is empty
	place int    // in the leaf, of the first node that may have the key; -1 if there is none
	found uint32
	node  *node  // the one found, nil if there is none
	cell  []byte // its key and value, nil before they were asked for
}

const (
	// cacheLine is how many bytes one load brings.
	cacheLine = 64
	// fetchBytes is how much of a cell Fetch asks for at most: what follows in a longer one
	// the processor fetches by itself.
	fetchBytes = 8 * cacheLine
)

// Begin begins to look for the item at key, and asks for its slot's table.
func (s *Search) Begin(c *Cache, slot uint16, key []byte) {
	*s = Search{cache: c, slot: slot, key: key, hash: c.hash(key), place: -1}
	if d := c.directory(slot); d != nil {
		s.asked = d.depth
	}
}

// Enter asks for the leaf.
func (s *Search) Enter() {
	if d := s.cache.directory(s.slot); d != nil {
		s.leaf = s.cache.leaves.at(d.leaf(s.hash))
		s.asked = s.leaf.length
	}
}

// Choose finds which node may have the key, and asks for its number.
func (s *Search) Choose() {
	if s.leaf == nil {
		return
	}
	if i, ok := s.leaf.seek(tagOf(s.hash), 0); ok {
		s.place = i
		s.asked = uint8(s.leaf.nodes[i])
	}
}

// Approach asks for the node.
func (s *Search) Approach() {
	if s.place >= 0 {
		s.found = s.leaf.nodes[s.place]
		s.node = s.cache.nodes.at(s.found)
		s.asked = uint8(s.node.version) + uint8(s.node.slot) // it may lie in two cache lines
	}
}

// Fetch asks for the key and the value of the node.
func (s *Search) Fetch() {
	if s.node == nil {
		return
	}
	s.cell = s.cache.cell(s.node)
	asked := s.cell[len(s.cell)-1]
	for i := 0; i < min(len(s.cell), fetchBytes); i += cacheLine {
		asked += s.cell[i]
	}
	s.asked = asked
}

// fetchNeighbours asks for the nodes beside this one in the list, which change with it.
func (s *Search) fetchNeighbours() {
	if s.node != nil {
		nodes := &s.cache.nodes
		s.asked += uint8(nodes.at(s.node.older).younger + nodes.at(s.node.younger).older)
	}
}

// Item returns the item at key. It comes last, and is the only step that must be taken.
func (s *Search) Item() (Item, bool) {
	if s.cell == nil || !s.node.hasKey(s.cell, s.key) {
		s.found = s.cache.findBy(s.hash, s.slot, s.key)
		if s.found == 0 {
			return Item{}, false
		}
		s.node = s.cache.nodes.at(s.found)
		s.cell = s.cache.cell(s.node)
	}
	return s.cache.itemIn(s.found, s.node, s.cell), true
}
