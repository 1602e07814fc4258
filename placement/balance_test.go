package placement

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// balance finds what trying all assignments finds.
func TestBalanceIsOptimal(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 5).Draw(t, "candidates")
		option := rapid.IntRange(0, n-1)
		candidates := rapid.SliceOfN(rapid.SliceOfNDistinct(option, 1, min(n, 3), rapid.ID), 0, 6).Draw(t, "options")
		before := rapid.SliceOfN(rapid.IntRange(0, 4), n, n).Draw(t, "before")

		load := slices.Clone(before)
		assigned := make([]int, len(candidates))
		for item, options := range candidates {
			assigned[item] = options[0]
			load[options[0]]++
		}
		balance(candidates, assigned, load)

		carried := slices.Clone(before)
		for item, c := range assigned {
			if !slices.Contains(candidates[item], c) {
				t.Fatalf("item %d went to %d, its candidates are %v", item, c, candidates[item])
			}
			carried[c]++
		}
		if !slices.Equal(load, carried) {
			t.Fatalf("loads %v, but the assignment makes %v", load, carried)
		}
		if got, want := cost(load), leastCost(candidates, before); got != want {
			t.Fatalf("loads %v: sum of squares %d, want %d", load, got, want)
		}
	})
}

func cost(load []int) (sum int) {
	for _, n := range load {
		sum += n * n
	}
	return sum
}

// leastCost tries every assignment.
func leastCost(candidates [][]int, load []int) int {
	if len(candidates) == 0 {
		return cost(load)
	}
	var costs []int
	for _, c := range candidates[0] {
		next := slices.Clone(load)
		next[c]++
		costs = append(costs, leastCost(candidates[1:], next))
	}
	return slices.Min(costs)
}
