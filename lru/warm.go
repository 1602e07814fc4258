package lru

// Place is where an item is, or would be.
type Place struct {
	Slot uint16
	Key  []byte
}

// warmTogether is how many items Warm looks for side by side: more than the loads that a
// processor has under way at a time, few enough for its nearest cache.
const warmTogether = 32

// Warm reads what a change of the items at these places will read and write, and changes
// nothing but what Seek finds sooner. It is for the one who writes. On its way to an item
// a change waits for memory five times, and once more to move the mark in the order of
// use. Warm takes each step of a [Search] for all items before the next step, so that the
// waits overlap.
func (c *Cache) Warm(places []Place) {
	if len(places) < 2 {
		return
	}
	for len(places) > 0 {
		n := min(len(places), warmTogether)
		c.warm(places[:n])
		places = places[n:]
	}
}

func (c *Cache) warm(places []Place) {
	var together [warmTogether]Search
	searches := together[:len(places)]
	for i, p := range places {
		searches[i].Begin(c, p.Slot, p.Key)
	}
	for i := range searches {
		searches[i].Enter()
	}
	for i := range searches {
		searches[i].Choose()
	}
	for i := range searches {
		searches[i].Approach()
	}
	mark := c.order.mark
	for i := range searches {
		searches[i].fetchNeighbours()
		searches[i].Fetch()
		mark = c.nodes.at(mark).younger // a change moves it one node on, or not
		c.warmed.nodes[i] = searches[i].found
	}
	c.warmed.next, c.warmed.length = 0, len(places)
}

// warmed is the nodes that Warm has come to last, in the order of their places, or 0 for
// those that there are none of. What comes to them later compares their keys.
type warmed struct {
	nodes        [warmTogether]uint32
	next, length int
}

// warmedAhead is how many places on recall looks: the changes come in the order of the
// places, but some never come.
const warmedAhead = 4

// recall returns the node at key if it is among the next that Warm has come to, or 0.
func (c *Cache) recall(slot uint16, key []byte) uint32 {
	w := &c.warmed
	for i := w.next; i < min(w.next+warmedAhead, w.length); i++ {
		if n := w.nodes[i]; c.stands(n, slot, key) {
			w.next = i + 1
			return n
		}
	}
	return 0
}
