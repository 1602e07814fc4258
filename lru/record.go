package lru

// create makes a node with a key, which its slot does not have yet, and a value. It is
// in its slot's table, not yet in the list or in the expiry order.
func (c *Cache) create(slot uint16, key, value []byte) uint32 {
	i := c.numbers.take()
	c.nodes.fit(c.numbers.length)
	n := c.nodes.at(i)
	*n = node{slot: slot, key: uint16(len(key))}
	c.write(i, key, value)
	c.insert(i, slot, key)
	c.length++
	return i
}

// write gives a node a new cell with its key and this value.
func (c *Cache) write(i uint32, key, value []byte) {
	n := c.nodes.at(i)
	kind, at := c.cells.take(len(key), len(value))
	cell := c.cells.at(kind, at)
	setOwner(cell, i)
	copy(cell[cellHead:], key)
	copy(cell[cellHead+len(key):], value)
	n.cell = at
	n.value = n.value&^lengthMask | uint32(len(value))
}

// rewrite replaces a node's value, in its cell if that has the right size.
func (c *Cache) rewrite(i uint32, value []byte) {
	n := c.nodes.at(i)
	before, after := c.classOf(n), c.cells.classOf(n.keyLen(), len(value))
	if before == after && !c.cells.isSingle(after) {
		copy(c.cells.at(after, n.cell)[cellHead+n.keyLen():], value)
		n.value = n.value&^lengthMask | uint32(len(value))
		return
	}
	cell := n.cell
	c.write(i, c.key(i), value)
	c.giveCell(before, cell)
}

// destroy gives back a node that is in its slot's table only, and all it has.
func (c *Cache) destroy(i uint32) {
	c.sought, c.warmed.length = 0, 0
	n := c.nodes.at(i)
	c.erase(i, n.slot, c.key(i))
	c.giveCell(c.classOf(n), n.cell)
	c.length--
	if from, moves := c.numbers.give(i); moves {
		c.rename(from, i)
	}
	c.nodes.fit(c.numbers.length)
	c.expiry.places.cut(c.numbers.length)
}

// giveCell gives a cell back, to which another one may move.
func (c *Cache) giveCell(kind int, cell uint32) {
	if moved, moves := c.cells.give(kind, cell); moves {
		c.nodes.at(moved).cell = cell
		c.moved++
	}
}

// rename moves the node from to the number to.
func (c *Cache) rename(from, to uint32) {
	n := c.nodes.at(to)
	*n = *c.nodes.at(from)
	setOwner(c.cell(n), to)
	c.renameEntry(from, to, n.slot, c.key(to))
	if n.listed() {
		c.order.rename(from, to)
	}
	if n.is(flagExpires) {
		c.expiry.rename(from, to)
	}
	c.moved++
}

func (c *Cache) classOf(n *node) int { return c.cells.classOf(n.keyLen(), n.valueLen()) }

func (c *Cache) cell(n *node) []byte { return c.cells.at(c.classOf(n), n.cell) }

// key returns a node's key, item and ref what the cache shows of it.
func (c *Cache) key(i uint32) []byte {
	n := c.nodes.at(i)
	end := cellHead + n.keyLen()
	return c.cell(n)[cellHead:end:end]
}

func (c *Cache) hasKey(i uint32, key []byte) bool {
	n := c.nodes.at(i)
	return n.keyLen() == len(key) && n.hasKey(c.cell(n), key)
}

// stands reports whether the node, if it is one, is what stands at key.
func (c *Cache) stands(i uint32, slot uint16, key []byte) bool {
	return i != 0 && c.nodes.at(i).slot == slot && c.hasKey(i, key)
}

// hasKey reports whether the node, whose cell this is, has that key.
func (n *node) hasKey(cell, key []byte) bool {
	return n.keyLen() == len(key) && string(cell[cellHead:cellHead+len(key)]) == string(key)
}

func (c *Cache) item(i uint32) Item {
	n := c.nodes.at(i)
	return c.itemIn(i, n, c.cell(n))
}

// itemIn is item for who has found the node and its cell.
func (c *Cache) itemIn(i uint32, n *node, cell []byte) Item {
	start := cellHead + n.keyLen()
	end := start + n.valueLen()
	return Item{
		Value: cell[start:end:end], Version: n.version, Deadline: c.deadline(i),
		Protected: n.is(flagProtected), Stamp: n.stamp,
	}
}

func (c *Cache) ref(i uint32) Ref {
	return Ref{Slot: c.nodes.at(i).slot, Key: c.key(i), Item: c.item(i)}
}
