package lru

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// A cell holds what is of variable length: the number of its node (4 bytes), the key
// and the value. Cells of one class have one size and lie side by side in chunks: one
// that is given back is filled with the last of its class. So the memory held follows
// the memory used, whatever the sizes do, at the cost of one copy of a cell for a
// removal or a change of size.
const (
	cellHead = 4

	fineStep   = 4        // bytes from one size to the next, up to 256; twice as many up to each doubling of that
	fineMax    = 1 << 10  // bytes of the largest small cell
	coarseMax  = 16 << 10 // bytes of the largest cell that shares its chunk
	coarseStep = 9        // the number of cells per chunk falls by a part in so many from one size to the next

	cellChunk   = piece
	cellPart    = cellChunk / 32 // the first that a class gets; doubled some times it is a chunk
	spareChunks = 4
)

// Lasting is the length in bytes over which a value is never written over: it lies in an
// allocation of its own, which a holder may keep. A value up to that length may change
// with the next change of the cache.
const Lasting = coarseMax

// cells is the memory of all keys and values. A cell is known by its class and its
// number in there; the classes are those of sizes, and behind them the one of cells that
// are allocations of their own.
type cells struct {
	classes     []class
	fineClasses int // of small cells, which come first
	pool        *pool
	singles     dense
	single      vector[[]byte]
	alone       int64 // bytes of single cells
}

// class is the cells of one size.
type class struct {
	dense
	size     uint32
	perChunk uint32
	chunks   [][]byte // a lone one may be shorter
	pool     *pool
}

func newCells() cells {
	a := cells{pool: new(pool)}
	for size, step := fineStep, fineStep; size <= fineMax; size += step {
		a.classes = append(a.classes, newClass(size, a.pool))
		if size == 64*step {
			step *= 2
		}
	}
	a.fineClasses = len(a.classes)
	for n := cellChunk / fineMax; n >= cellChunk/coarseMax; n -= max(1, n/coarseStep) {
		if size := cellChunk / n; size > fineMax {
			a.classes = append(a.classes, newClass(size, a.pool))
		}
	}
	return a
}

func newClass(size int, from *pool) class {
	return class{size: uint32(size), perChunk: uint32(cellChunk / size), pool: from}
}

// classOf returns the class of the smallest cells that hold a key and a value of these
// lengths.
func (a *cells) classOf(key, value int) int {
	size := cellHead + key + value
	if size <= fineMax {
		doublings := max(0, bits.Len(uint(size-1))-8) // of 256, up to which there are 64 classes; 32 for each
		return (size-1)>>(2+doublings) + 32*doublings
	}
	i, _ := slices.BinarySearchFunc(a.classes[a.fineClasses:], size, func(c class, size int) int { return int(c.size) - size })
	return a.fineClasses + i
}

// isSingle reports whether cells of the class are allocations of their own.
func (a *cells) isSingle(kind int) bool { return kind == len(a.classes) }

// at returns a cell with all that its class has room for.
func (a *cells) at(kind int, cell uint32) []byte {
	if a.isSingle(kind) {
		return *a.single.at(cell)
	}
	return a.classes[kind].at(cell)
}

func (c *class) at(cell uint32) []byte {
	start := cell % c.perChunk * c.size
	return c.chunks[cell/c.perChunk][start : start+c.size : start+c.size]
}

// take returns a cell for a key and a value of these lengths.
func (a *cells) take(key, value int) (kind int, cell uint32) {
	kind = a.classOf(key, value)
	if a.isSingle(kind) {
		cell = a.singles.take()
		a.single.fit(a.singles.length)
		size := cellHead + key + value
		*a.single.at(cell) = make([]byte, size)
		a.alone += int64(size)
		return kind, cell
	}
	cell = a.classes[kind].take()
	a.classes[kind].fit()
	return kind, cell
}

// give gives a cell back. With moves, the node moved has its cell at this number from
// now on.
func (a *cells) give(kind int, cell uint32) (moved uint32, moves bool) {
	if a.isSingle(kind) {
		return a.giveSingle(cell)
	}
	c := &a.classes[kind]
	from, moves := c.give(cell)
	if moves {
		moved = owner(c.at(from))
		copy(c.at(cell), c.at(from))
	}
	c.fit()
	return moved, moves
}

func (a *cells) giveSingle(cell uint32) (moved uint32, moves bool) {
	at := a.single.at(cell)
	a.alone -= int64(len(*at))
	*at = nil
	from, moves := a.singles.give(cell)
	if moves {
		last := a.single.at(from)
		moved = owner(*last)
		*at, *last = *last, nil
	}
	a.single.fit(a.singles.length)
	return moved, moves
}

// fit gives the class the chunks that it needs, no more.
func (c *class) fit() {
	need := int((uint64(c.length) + uint64(c.perChunk) - 1) / uint64(c.perChunk))
	for last := len(c.chunks) - 1; last >= max(need, 1); last-- {
		c.pool.give(c.chunks[last])
		c.chunks[last] = nil
		c.chunks = c.chunks[:last]
	}
	if need <= 1 {
		c.fitFirst(int(c.length) * int(c.size))
		return
	}
	if len(c.chunks) <= 1 {
		c.fitFirst(cellChunk)
	}
	for len(c.chunks) < need {
		c.chunks = append(c.chunks, c.pool.take(cellChunk))
	}
}

// fitFirst gives a class without a second chunk a first one for need bytes. It grows when it
// is full and shrinks when three quarters are free, so that a class of few cells does not
// hold a whole chunk.
func (c *class) fitFirst(need int) {
	var first []byte
	if len(c.chunks) > 0 {
		first = c.chunks[0]
	}
	if need <= len(first) && need > len(first)/4 {
		return
	}
	c.chunks = nil
	if need > 0 {
		c.chunks = [][]byte{c.pool.take(need)}
		copy(c.chunks[0], first)
	}
	if len(first) > 0 {
		c.pool.give(first)
	}
}

// held returns the bytes of all chunks and single cells.
func (a *cells) held() int64 { return a.pool.held + a.alone }

// pool is chunks and parts of them. It keeps a few whole ones that no class needs.
type pool struct {
	held  int64 // bytes of all chunks
	spare [][]byte
}

// take returns a chunk for need bytes, of a part or two, four, eight … parts.
func (p *pool) take(need int) []byte {
	length := cellPart
	for length < need {
		length *= 2
	}
	if last := len(p.spare) - 1; last >= 0 && length == cellChunk {
		chunk := p.spare[last]
		p.spare[last], p.spare = nil, p.spare[:last]
		return chunk
	}
	p.held += int64(length)
	return make([]byte, length)
}

func (p *pool) give(chunk []byte) {
	if len(chunk) == cellChunk && len(p.spare) < spareChunks {
		p.spare = append(p.spare, chunk)
		return
	}
	p.held -= int64(len(chunk))
}

// owner is the number of the node that a cell belongs to.
func owner(cell []byte) uint32 { return binary.LittleEndian.Uint32(cell) }

func setOwner(cell []byte, n uint32) { binary.LittleEndian.PutUint32(cell, n) }
