package lru

// chunkLen is how many elements a chunk of a vector has.
const chunkLen = 512

// vector is memory for elements that are numbered from 0 on. It grows and shrinks by
// chunks, so that nothing is copied and no call waits for more than one chunk.
type vector[T any] struct{ chunks []*[chunkLen]T }

// at returns the element i, for which fit has made room. It stays where it is.
func (v *vector[T]) at(i uint32) *T { return &v.chunks[i/chunkLen][i%chunkLen] }

// fit makes room for length elements, and lets go of chunks that they don't need but
// for one, so that a length that goes up and down by one allocates nothing.
func (v *vector[T]) fit(length uint32) {
	need := int((uint64(length) + chunkLen - 1) / chunkLen)
	for len(v.chunks) < need {
		v.chunks = append(v.chunks, new([chunkLen]T))
	}
	for len(v.chunks) > need+1 {
		last := len(v.chunks) - 1
		v.chunks[last] = nil
		v.chunks = v.chunks[:last]
	}
}

// held returns for how many elements there is room.
func (v *vector[T]) held() int64 { return int64(len(v.chunks)) * chunkLen }

// rowLen is how many small elements lie where a vector has one.
const rowLen = 8

// rows is a vector of small elements, which has a chunk for more of them: a collection
// looks at each chunk once, whatever its size.
type rows[T any] struct{ vector vector[[rowLen]T] }

func (r *rows[T]) at(i uint32) *T { return &r.vector.at(i / rowLen)[i%rowLen] }

func (r *rows[T]) fit(length uint32) {
	r.vector.fit(uint32((uint64(length) + rowLen - 1) / rowLen))
}

func (r *rows[T]) held() int64 { return r.vector.held() * rowLen }

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
