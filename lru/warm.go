package lru

// Place is where an item is, or would be.
type Place struct {
	Slot uint16
	Key  []byte
}

const (
	// warmTogether is how many items Warm looks for side by side: more than the loads that
	// a processor has under way at a time, few enough for its nearest cache.
	warmTogether = 64
	// warmBytes is how much of a cell Warm reads at most, and a cacheLine what one load
	// brings. What follows in a longer cell the processor fetches by itself.
	warmBytes = 512
	cacheLine = 64
)

// Warm reads what a change of the items at these places will read and write, and changes
// nothing. On its way to an item a change waits for memory five times. Warm takes each step
// for all items before the next step, so that the waits overlap.
func (c *Cache) Warm(places []Place) {
	if len(places) < 2 {
		return
	}
	for len(places) > 0 {
		n := min(len(places), warmTogether)
		c.warmed += c.warm(places[:n])
		places = places[n:]
	}
}

// warm returns a sum of what it has read, without which nothing would be read.
func (c *Cache) warm(places []Place) (sum uint64) {
	var trails [warmTogether]struct {
		hash       uint64
		leaf, node uint32
	}
	for i, p := range places {
		trails[i].hash = c.hash(p.Key)
		if d := c.directory(p.Slot); d != nil {
			sum += uint64(d.root)
		}
	}
	for i, p := range places {
		if d := c.directory(p.Slot); d != nil {
			trails[i].leaf = d.leaf(trails[i].hash)
			sum += c.leaves.at(trails[i].leaf).tags[0]
		}
	}
	for i := range places {
		t := &trails[i]
		if t.leaf == 0 {
			continue
		}
		leaf := c.leaves.at(t.leaf)
		if at, ok := leaf.seek(tagOf(t.hash), 0); ok {
			t.node = leaf.nodes[at]
		}
	}
	for i := range places {
		if n := trails[i].node; n != 0 {
			sum += c.nodes.at(n).version
		}
	}
	for i := range places {
		if trails[i].node == 0 {
			continue
		}
		n := c.nodes.at(trails[i].node)
		sum += c.nodes.at(n.older).version + c.nodes.at(n.younger).version
		cell := c.cell(n)
		for at := 0; at < min(len(cell), warmBytes); at += cacheLine {
			sum += uint64(cell[at])
		}
	}
	return sum
}
