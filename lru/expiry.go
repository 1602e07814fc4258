package lru

import "container/heap"

// expiry is a heap of the nodes with a deadline. Slot and key break ties, so that
// the order of expiry does not depend on the order in which the heap was built.
type expiry []*node

// set changes a node's deadline, and with it whether and where it is in the heap.
func (e *expiry) set(n *node, deadline int64) {
	before := n.deadline
	n.deadline = deadline
	switch {
	case before == deadline:
	case before == 0:
		heap.Push(e, n)
	case deadline == 0:
		heap.Remove(e, n.place)
	default:
		heap.Fix(e, n.place)
	}
}

// Len, Less, Swap, Push and Pop are for container/heap.
func (e expiry) Len() int { return len(e) }

func (e expiry) Less(i, j int) bool {
	a, b := e[i], e[j]
	if a.deadline != b.deadline {
		return a.deadline < b.deadline
	}
	if a.slot != b.slot {
		return a.slot < b.slot
	}
	return a.key < b.key
}

func (e expiry) Swap(i, j int) {
	e[i], e[j] = e[j], e[i]
	e[i].place, e[j].place = i, j
}

func (e *expiry) Push(x any) {
	n := x.(*node)
	n.place = len(*e)
	*e = append(*e, n)
}

func (e *expiry) Pop() any {
	last := len(*e) - 1
	n := (*e)[last]
	(*e)[last] = nil // let go of the node
	*e = (*e)[:last]
	return n
}
