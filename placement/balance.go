package placement

// balance moves items between their candidates until the loads are as even as they
// can be: no assignment has a lower sum of squares. assigned holds the candidate
// that each item has, and load, by candidate, its items and whatever else it
// carries; both are changed in place.
//
// An assignment is that even when no chain of moves leads from one candidate to
// another with at least two items less (Harvey, Ladner, Lovász, Tamir: Semi-matchings
// for bipartite graphs and load balancing, 2006).
func balance(candidates [][]int, assigned, load []int) {
	for from := 0; from < len(load); from++ {
		if relieve(from, candidates, assigned, load) {
			from = -1 // others may have a way out now
		}
	}
}

// relieve searches breadth first for a chain of items that can each move on, from
// the candidate from to one with at least two items less, and moves them.
func relieve(from int, candidates [][]int, assigned, load []int) bool {
	via := make(map[int]int) // the item by whose move the search reached a candidate
	for queue := []int{from}; len(queue) > 0; queue = queue[1:] {
		for item, at := range assigned {
			if at != queue[0] {
				continue
			}
			for _, next := range candidates[item] {
				if _, seen := via[next]; seen || next == from {
					continue
				}
				via[next] = item
				if load[next]+2 <= load[from] {
					moveAlong(via, from, next, assigned)
					load[from]--
					load[next]++
					return true
				}
				queue = append(queue, next)
			}
		}
	}
	return false
}

// moveAlong moves the items on the way that the search took from from to to.
func moveAlong(via map[int]int, from, to int, assigned []int) {
	for to != from {
		item := via[to]
		to, assigned[item] = assigned[item], to
	}
}
