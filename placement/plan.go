package placement

import "slices"

// Plan is how slots move when the set of groups changes.
type Plan struct {
	Slots []uint64 // the table as it shall become: owner group of each slot
	Moves []Move   // what differs from the table as it is, in the order of slots
}

// Move takes the slots First to Last, inclusive, from one group to another.
type Move struct {
	First, Last uint16
	From, To    uint64
}

// PlanGroupAdded plans the moves that give a group that joins its share of the
// slots. All moves lead to it. It refuses ids that the map has or cannot have, and
// a group past [MaxGroups].
func (m Map) PlanGroupAdded(group uint64) (Plan, error) {
	_, known := m.Group(group)
	switch {
	case group == noGroup:
		return Plan{}, refuse("group", "0 is the meta group, which owns no slots")
	case known:
		return Plan{}, refuse("group", "%d is in the cluster already", group)
	case len(m.Groups) >= MaxGroups:
		return Plan{}, refuse("group", "there are %d already, the limit", MaxGroups)
	}
	groups := append(m.groupIDs(), group)
	table := slices.Clone(m.Slots)
	draw(table, groups, group)
	return newPlan(m.Slots, table), nil
}

// PlanGroupRemoved plans the moves that empty a group. All moves start from it. It
// refuses unknown groups and the last one.
func (m Map) PlanGroupRemoved(group uint64) (Plan, error) {
	groups := m.groupIDs()
	i := slices.Index(groups, group)
	switch {
	case i < 0:
		return Plan{}, refuse("group", "%d is not in the cluster", group)
	case len(groups) == 1:
		return Plan{}, refuse("group", "%d is the last one; its slots have nowhere to go", group)
	}
	groups = slices.Delete(groups, i, i+1)
	table := slices.Clone(m.Slots)
	for slot, owner := range table {
		if owner == group {
			table[slot] = noGroup
		}
	}
	deal(table, groups)
	return newPlan(m.Slots, table), nil
}

// newPlan finds the runs of slots that have other owners in after than in before.
func newPlan(before, after []uint64) Plan {
	p := Plan{Slots: after}
	for i := range after {
		if before[i] == after[i] {
			continue
		}
		slot := uint16(i)
		if n := len(p.Moves); n > 0 && p.Moves[n-1].continues(slot, before[i], after[i]) {
			p.Moves[n-1].Last = slot
			continue
		}
		p.Moves = append(p.Moves, Move{First: slot, Last: slot, From: before[i], To: after[i]})
	}
	return p
}

// continues reports whether a move of slot prolongs mv.
func (mv Move) continues(slot uint16, from, to uint64) bool {
	return mv.Last+1 == slot && mv.From == from && mv.To == to
}
