package lru

const (
	// chunkLen is how many elements a chunk of a vector has.
	chunkLen = 512
	// piece is the most bytes that are allocated at once, for chunks or for cells. A
	// collection looks at each piece once, whatever its size, so they are large; whoever
	// needs one may wait for all its pages, so they are no larger.
	piece = 192 << 10
)

// vector is memory for elements that are numbered from 0 on. It grows and shrinks by
// pieces, so that nothing is copied and no call waits for more than one: by chunks as
// long as they are few, then by perPiece of them at once.
type vector[T any] struct {
	chunks   []*[chunkLen]T
	perPiece int // chunks; 0 is 1
}

// at returns the element i, for which fit has made room. It stays where it is.
func (v *vector[T]) at(i uint32) *T { return &v.chunks[i/chunkLen][i%chunkLen] }

// fit makes room for length elements, and lets go of pieces that they don't need, but
// for a chunk, so that a length that goes up and down by one allocates nothing.
func (v *vector[T]) fit(length uint32) {
	need := int((uint64(length) + chunkLen - 1) / chunkLen)
	for len(v.chunks) < need {
		chunks := make([][chunkLen]T, v.step(len(v.chunks)))
		for i := range chunks {
			v.chunks = append(v.chunks, &chunks[i])
		}
	}
	for {
		kept := len(v.chunks) - v.step(len(v.chunks)-1)
		if kept <= need {
			return
		}
		clear(v.chunks[kept:])
		v.chunks = v.chunks[:kept]
	}
}

// step returns how many chunks the piece has that the chunk i is in.
func (v *vector[T]) step(i int) int {
	if i < v.perPiece {
		return 1
	}
	return max(v.perPiece, 1)
}

// held returns for how many elements there is room.
func (v *vector[T]) held() int64 { return int64(len(v.chunks)) * chunkLen }

// dense hands out the numbers from 0 to its length, so that those in use lie side by
// side but for one hole at most. The hole makes taking and giving back in turn, as
// eviction does, free of moves.
type dense struct {
	length uint32
	hole   uint32 // the number that is not in use, plus one; 0 if there is none
}

// take returns a number that is not in use.
func (d *dense) take() uint32 {
	if d.hole != 0 {
		i := d.hole - 1
		d.hole = 0
		return i
	}
	d.length++
	return d.length - 1
}

// give takes i out of use. With moves, what has the number from is to be moved to i,
// and has that number from now on.
func (d *dense) give(i uint32) (from uint32, moves bool) {
	switch last := d.length - 1; {
	case i == last:
		d.length--
	case d.hole == 0:
		d.hole = i + 1
	case d.hole == last+1:
		d.length--
		d.hole = i + 1
	default:
		from, moves = last, true
		d.length--
	}
	if d.hole != 0 && d.hole == d.length {
		d.hole = 0
		d.length--
	}
	return from, moves
}
