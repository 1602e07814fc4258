package lru

import "testing"

// TestVectorGrowsAndShrinks takes a vector up and down, past where its chunks come one by
// one: elements keep their places and what is in them, what is free is bounded, and a
// length that goes up and down by one allocates nothing.
func TestVectorGrowsAndShrinks(t *testing.T) {
	t.Parallel()
	const (
		per     = nodeChunks
		longest = 5*per*chunkLen + 100
	)
	v := vector[node]{perPiece: per}
	if size := per * chunkLen * nodeSize; per < 2 || size > piece {
		t.Fatalf("%d chunks of %d nodes are %d bytes, want some and %d at most", per, chunkLen, size, piece)
	}
	fit := func(length uint32) {
		v.fit(length)
		if free := v.held() - int64(length); free < 0 || free >= int64(per+1)*chunkLen {
			t.Fatalf("room for %d elements where %d are needed", v.held(), length)
		}
	}
	places := make([]*node, longest)
	check := func(i uint32) {
		if places[i] != v.at(i) || v.at(i).stamp != uint64(i) {
			t.Fatalf("element %d has become %d", i, v.at(i).stamp)
		}
	}
	for i := range uint32(longest) {
		fit(i + 1)
		places[i] = v.at(i)
		places[i].stamp = uint64(i)
	}
	for i := range uint32(longest) {
		check(i)
	}
	for i := uint32(longest); i > 0; i-- {
		fit(i)
		check(i - 1)
	}
	if fit(0); v.held() > chunkLen {
		t.Fatalf("room for %d elements is left", v.held())
	}
}

// Not parallel: allocations are counted for the whole process.
func TestVectorOnTheEdgeAllocatesNothing(t *testing.T) {
	for chunks := range uint32(40) {
		v := vector[node]{perPiece: nodeChunks}
		edge := chunks * chunkLen
		v.fit(edge + 1)
		if n := testing.AllocsPerRun(10, func() { v.fit(edge); v.fit(edge + 1) }); n > 0 {
			t.Errorf("%v allocations around %d elements, want none", n, edge)
		}
	}
}
