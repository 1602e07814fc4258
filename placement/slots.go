package placement

// Slots is the number of slots of the key space.
const Slots = 4096

// noGroup marks a slot that has no owner yet. Group 0, the meta group, owns none.
const noGroup = 0

// deal gives every slot without an owner to the first group clockwise whose share
// leaves room for it. This is consistent hashing with bounded loads (Mirrokni,
// Thorup, Zadimoghaddam, 2016) at the tightest bound: from an empty table, or one in
// which no two groups differ by more than one slot, it makes such a table.
func deal(table []uint64, groups []uint64) {
	r := newRing(groups)
	s := newShares(table, groups)
	for slot, owner := range table {
		if owner != noGroup {
			continue
		}
		for g := range r.clockwise(uint16(slot)) {
			if s.take(g) {
				table[slot] = g
				break
			}
		}
	}
}

// draw gives newcomer, one of groups, its share of a table that the others own. It
// takes the slots nearest before the newcomer's points from owners that have more
// than their share.
func draw(table []uint64, groups []uint64, newcomer uint64) {
	s := newShares(table, groups)
	for slot := range newRing([]uint64{newcomer}).nearest() {
		if s.held[newcomer] >= s.each {
			return
		}
		if s.give(table[slot]) {
			s.held[newcomer]++
			table[slot] = newcomer
		}
	}
}

// shares counts slots so that in the end each group has as many as every other, or
// one more where the division leaves a rest.
type shares struct {
	held  map[uint64]int
	each  int
	more  int // so many groups may still rise to each+1
	fewer int // so many groups may still come down to each
}

func newShares(table []uint64, groups []uint64) *shares {
	rest := Slots % len(groups)
	s := &shares{held: make(map[uint64]int), each: Slots / len(groups), more: rest, fewer: len(groups) - rest}
	for _, owner := range table {
		s.held[owner]++
	}
	for _, g := range groups {
		if s.held[g] > s.each {
			s.more--
		} else {
			s.fewer--
		}
	}
	return s
}

// take counts one slot more for g, unless its share is full.
func (s *shares) take(g uint64) bool {
	switch held := s.held[g]; {
	case held > s.each, held == s.each && s.more <= 0:
		return false
	case held == s.each:
		s.more--
	}
	s.held[g]++
	return true
}

// give counts one slot less for g, unless that would leave it short.
func (s *shares) give(g uint64) bool {
	switch over := s.held[g] - s.each; {
	case over <= 0, over == 1 && s.fewer <= 0:
		return false
	case over == 1:
		s.fewer--
	}
	s.held[g]--
	return true
}
