package placement_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/ringraft/ringraft/placement"
)

// Which replicas a cluster gets depends on three numbers alone, so small clusters
// are all tried.
func TestReplicasAreSpreadEvenly(t *testing.T) {
	t.Parallel()
	for nodes := 1; nodes <= 8; nodes++ {
		for _, replicas := range []int{1, 3, 5, 7} {
			t.Run(fmt.Sprintf("nodes=%d/replicas=%d", nodes, replicas), func(t *testing.T) {
				t.Parallel()
				for groups := 1; groups <= 40; groups++ {
					checkSpread(t, newMap(t, nodes, groups, replicas))
				}
			})
		}
	}
	for _, big := range []struct{ nodes, groups, replicas int }{
		{3, 1024, 3}, {4, 999, 3}, {5, 1000, 5}, {9, 1024, 7}, {12, 144, 3}, {20, 333, 5}, {64, 64, 3}, {64, 1024, 3}, {200, 40, 7},
	} {
		t.Run(fmt.Sprintf("nodes=%d/groups=%d", big.nodes, big.groups), func(t *testing.T) {
			t.Parallel()
			checkSpread(t, newMap(t, big.nodes, big.groups, big.replicas))
		})
	}
}

// checkSpread asserts the bounds that the package promises for replicas, leaders,
// and leaders with any one node missing.
func checkSpread(t *testing.T, m placement.Map) {
	t.Helper()
	replicas := make(map[string]int)
	for _, g := range m.Groups {
		on := make(map[string]bool)
		for _, r := range g.Replicas {
			replicas[r.Node]++
			on[r.Node] = true
		}
		if len(on) != len(g.Replicas) {
			t.Fatalf("%d groups: group %d has two replicas on one node: %v", len(m.Groups), g.ID, g.Replicas)
		}
	}
	if least, most := extremes(m, replicas, ""); most-least > 1 {
		t.Fatalf("%d groups: nodes have between %d and %d replicas, want a difference of at most 1", len(m.Groups), least, most)
	}
	if least, most := extremes(m, leaders(m, ""), ""); most-least > 1 {
		t.Fatalf("%d groups: nodes lead between %d and %d groups, want a difference of at most 1", len(m.Groups), least, most)
	}
	for _, missing := range m.Nodes {
		if len(m.Nodes) == 1 {
			return
		}
		others := len(m.Nodes) - 1
		bound := (len(m.Groups)+others-1)/others + 1
		if _, most := extremes(m, leaders(m, missing.ID), missing.ID); most > bound {
			t.Fatalf("%d groups, %s missing: a node leads %d groups, want at most %d", len(m.Groups), missing.ID, most, bound)
		}
	}
}

// leaders counts the groups that each node leads while one is missing.
func leaders(m placement.Map, missing string) map[string]int {
	led := make(map[string]int)
	for _, g := range m.Groups {
		i := slices.IndexFunc(g.Replicas, func(r placement.Replica) bool { return r.Node != missing })
		if i >= 0 {
			led[g.Replicas[i].Node]++
		}
	}
	return led
}

// extremes returns the least and the most that a node other than missing has.
func extremes(m placement.Map, count map[string]int, missing string) (least, most int) {
	least = len(m.Groups)
	for _, n := range m.Nodes {
		if n.ID != missing {
			least, most = min(least, count[n.ID]), max(most, count[n.ID])
		}
	}
	return least, most
}

// Three nodes are the common case: it comes out as even as can be.
func TestLeadersOfThreeNodesStayEven(t *testing.T) {
	t.Parallel()
	for groups := 1; groups <= 64; groups++ {
		m := newMap(t, 3, groups, 3)
		for _, missing := range m.Nodes {
			if least, most := extremes(m, leaders(m, missing.ID), missing.ID); most-least > 1 {
				t.Errorf("%d groups, %s missing: the others lead %d and %d", groups, missing.ID, least, most)
			}
		}
	}
}
