package placement

import "slices"

// spread chooses which of n nodes hold the replicas of each group, and in which
// order of preference. Groups and nodes are indices; replicas is at most n. The
// outcome depends on the three numbers alone.
//
// No two nodes differ by more than one replica, nor by more than one group that
// prefers them. Second preferences are such that the groups of a node that fails
// even out with those that the others lead already.
func spread(groups, n, replicas int) [][]int {
	members := chooseMembers(groups, n, replicas)
	led := preferLeaders(members, n)
	if replicas > 1 {
		for failed := range n {
			preferSuccessors(members, failed, led)
		}
	}
	return members
}

// chooseMembers gives each group the nodes with the fewest replicas. Among these it
// prefers nodes that seldom met: then a node shares groups with many others, and
// many take over when it fails.
func chooseMembers(groups, n, replicas int) [][]int {
	t := newTally(n)
	members := make([][]int, groups)
	for g := range members {
		free := make([]int, n)
		for node := range free {
			free[node] = node
		}
		for range replicas {
			node := t.best(free, members[g])
			members[g] = append(members[g], node)
			free = slices.DeleteFunc(free, func(f int) bool { return f == node })
		}
		for _, node := range members[g] {
			t.add(node, members[g])
		}
	}
	return members
}

// preferLeaders puts one member of each group first, so that no node is first in
// two groups more than another, and in groups whose other members are as mixed as
// can be. It returns in how many groups each node is first.
func preferLeaders(members [][]int, n int) (led []int) {
	t := newTally(n)
	leaders := make([]int, len(members))
	for g, m := range members {
		leaders[g] = t.best(m, m)
		t.add(leaders[g], m)
	}
	balance(members, leaders, t.count)
	for g, m := range members {
		toFront(m, slices.Index(m, leaders[g]))
	}
	return t.count
}

// preferSuccessors puts a member second in each group that the node failed leads,
// so that the others, which lead what led says, end up even.
func preferSuccessors(members [][]int, failed int, led []int) {
	var followers [][]int
	var successors []int
	load := slices.Clone(led)
	for _, m := range members {
		if m[0] == failed {
			followers = append(followers, m[1:])
			successors = append(successors, m[1])
			load[m[1]]++
		}
	}
	balance(followers, successors, load)
	for i, f := range followers {
		toFront(f, slices.Index(f, successors[i]))
	}
}

// tally counts how often each node was chosen, and beside which others. A node may
// stand beside itself: that weighs the same for all that were chosen equally often.
type tally struct {
	count  []int
	beside [][]int
}

func newTally(n int) tally {
	t := tally{count: make([]int, n), beside: make([][]int, n)}
	for node := range t.beside {
		t.beside[node] = make([]int, n)
	}
	return t
}

// best returns the option chosen least often, among equals the one least often
// beside the others, among equals the first.
func (t tally) best(options, others []int) int {
	best, bestMeetings := options[0], t.meetings(options[0], others)
	for _, node := range options[1:] {
		meetings := t.meetings(node, others)
		if t.count[node] < t.count[best] || t.count[node] == t.count[best] && meetings < bestMeetings {
			best, bestMeetings = node, meetings
		}
	}
	return best
}

func (t tally) meetings(node int, others []int) int {
	sum := 0
	for _, other := range others {
		sum += t.beside[node][other]
	}
	return sum
}

func (t tally) add(node int, others []int) {
	t.count[node]++
	for _, other := range others {
		t.beside[node][other]++
	}
}
