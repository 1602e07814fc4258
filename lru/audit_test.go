package lru

// fataler is what an audit needs of testing.T and of rapid.T.
type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

// audit checks that the parts of a cache agree with each other, and that they are as
// dense as their docs promise.
func audit(t fataler, c *Cache) {
	t.Helper()
	nodes := auditTable(t, c)
	if len(nodes) != c.length {
		t.Fatalf("%d nodes in the table, want %d", len(nodes), c.length)
	}
	if in := inUse(c.numbers) - 1; in != c.length {
		t.Fatalf("%d numbers of nodes, want one for each of %d items", in, c.length)
	}
	cells := map[[2]uint32]bool{}
	expiring := uint32(0)
	for _, i := range nodes {
		n := c.nodes.at(i)
		cells[[2]uint32{uint32(c.classOf(n)), n.cell}] = true
		if got := owner(c.cell(n)); got != i {
			t.Fatalf("the cell of node %d names node %d", i, got)
		}
		if n.is(flagExpires) {
			expiring++
			if got := c.expiry.heap.at(c.expiry.places.get(i)).node; got != i {
				t.Fatalf("at the place of node %d in the expiry order is node %d", i, got)
			}
		}
	}
	if len(cells) != c.length {
		t.Fatalf("%d cells for %d items", len(cells), c.length)
	}
	if expiring != c.expiry.length {
		t.Fatalf("%d nodes in the expiry order, want %d", c.expiry.length, expiring)
	}
	auditMemory(t, c)
}

// auditTable returns the nodes of all tables.
func auditTable(t fataler, c *Cache) []uint32 {
	t.Helper()
	var nodes []uint32
	leaves, entries := uint32(0), int64(0)
	for slot := range c.slots {
		d := c.directory(uint16(slot))
		if d == nil {
			continue
		}
		length, fully := 0, 0
		entries += int64(d.entries()) - 1
		for at := 0; at < d.entries(); {
			head := c.leaves.at(d.at(at))
			first, end := d.span(head.prefix, head.depth)
			if first != at || head.slot != uint16(slot) {
				t.Fatalf("slot %d, entry %d: a leaf of slot %d for entry %d", slot, at, head.slot, first)
			}
			for i := first; i < end; i++ {
				if d.at(i) != d.at(at) {
					t.Fatalf("slot %d: entries %d and %d have not the same leaf", slot, at, i)
				}
			}
			for l := head; ; l = c.leaves.at(l.next) {
				leaves++
				if l != head && int(l.length) != leafLen {
					t.Fatalf("slot %d: a leaf behind another has %d entries", slot, l.length)
				}
				if l.next == 0 {
					break
				}
			}
			for n := range c.chain(head) {
				nodes = append(nodes, n)
				length++
				if h := c.hash(c.key(n)); d.leaf(h) != d.at(at) {
					t.Fatalf("slot %d: key %q is in another leaf than its own", slot, c.key(n))
				}
			}
			if head.depth == d.depth {
				fully++
			}
			at = end
		}
		if uint32(length) != d.length || uint32(fully) != d.fully {
			t.Fatalf("slot %d: %d items, %d leaves of full depth; the directory says %d, %d", slot, length, fully, d.length, d.fully)
		}
	}
	if want := max(c.leafCount, 1) - 1; leaves != want || entries != c.entries {
		t.Fatalf("%d leaves in the tables, want %d; %d entries, want %d", leaves, want, entries, c.entries)
	}
	return nodes
}

func auditMemory(t fataler, c *Cache) {
	t.Helper()
	in, single, held := inUse(c.cells.singles), int64(0), int64(len(c.cells.pool.spare)*cellChunk)
	for i := range c.cells.singles.length {
		single += int64(len(*c.cells.single.at(i)))
	}
	if single != c.cells.alone {
		t.Fatalf("%d bytes of cells of their own, want %d", c.cells.alone, single)
	}
	for _, class := range c.cells.classes {
		in += inUse(class.dense)
		bytes := 0
		for i, chunk := range class.chunks {
			if bytes += len(chunk); len(chunk) != cellChunk && (i > 0 || len(class.chunks) > 1) {
				t.Fatalf("the class of %d bytes has a chunk of %d", class.size, len(chunk))
			}
		}
		held += int64(bytes)
		if used := int(class.length * class.size); used > bytes || used+cellChunk <= bytes || used == 0 && bytes > 0 {
			t.Fatalf("the class of %d bytes holds %d for %d", class.size, bytes, used)
		}
	}
	if held != c.cells.pool.held {
		t.Fatalf("the chunks have %d bytes together, want %d", c.cells.pool.held, held)
	}
	if in != c.length {
		t.Fatalf("%d cells in use, want %d", in, c.length)
	}
	if free := len(c.nodes.chunks)*chunkLen - int(c.numbers.length); free >= (1+nodeChunks)*chunkLen {
		t.Fatalf("there is room for %d nodes more", free)
	}
	if f := c.Footprint(); f.Used > f.Held {
		t.Fatalf("%d bytes are used of %d", f.Used, f.Held)
	}
}

// inUse is how many numbers are taken.
func inUse(d dense) int {
	if d.hole != 0 {
		return int(d.length) - 1
	}
	return int(d.length)
}
