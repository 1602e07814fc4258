package placement_test

import (
	"cmp"
	"slices"
	"testing"

	"github.com/ringraft/ringraft/placement"
	"pgregory.net/rapid"
)

func TestNewDealsSlotsEvenly(t *testing.T) {
	t.Parallel()
	for _, groups := range []int{1, 2, 3, 4, 5, 7, 16, 63, 64, 100, 255, 1000, 1023, 1024} {
		checkEven(t, newMap(t, 3, groups, 3))
	}
}

// fatalf is what checkEven needs of *testing.T and *rapid.T.
type fatalf interface {
	Fatalf(format string, args ...any)
}

// checkEven fails if a group owns two slots more than another.
func checkEven(t fatalf, m placement.Map) {
	held := held(m)
	least, most := placement.Slots, 0
	for _, g := range m.Groups {
		least, most = min(least, held[g.ID]), max(most, held[g.ID])
	}
	if most-least > 1 {
		t.Fatalf("%d groups own between %d and %d slots each, want a difference of at most 1", len(m.Groups), least, most)
	}
}

func held(m placement.Map) map[uint64]int {
	n := make(map[uint64]int)
	for _, owner := range m.Slots {
		n[owner]++
	}
	return n
}

// Groups that join and leave in any order keep the table even and move no slot that
// need not move.
func TestPlansMoveNoMoreThanTheyMust(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		groups := rapid.OneOf(rapid.IntRange(1, 8), rapid.IntRange(1, 64), rapid.IntRange(1000, 1024)).Draw(t, "groups")
		m, err := placement.New("c1", testNodes(1), groups, 1, placement.Settings{})
		if err != nil {
			t.Fatal(err)
		}
		for range rapid.IntRange(1, 4).Draw(t, "changes") {
			m = addOrRemove(t, m)
			checkEven(t, m)
		}
	})
}

func addOrRemove(t *rapid.T, m placement.Map) placement.Map {
	mayAdd, mayRemove := len(m.Groups) < placement.MaxGroups, len(m.Groups) > 1
	if mayRemove && (!mayAdd || rapid.Bool().Draw(t, "remove")) {
		return removeGroup(t, m, rapid.SampledFrom(m.Groups).Draw(t, "group").ID)
	}
	isNew := func(id uint64) bool { _, known := m.Group(id); return !known }
	return addGroup(t, m, rapid.Uint64Range(1, 5000).Filter(isNew).Draw(t, "id"))
}

func addGroup(t *rapid.T, m placement.Map, id uint64) placement.Map {
	plan, err := m.PlanGroupAdded(id)
	if err != nil {
		t.Fatal(err)
	}
	moved := carryOut(t, m, plan)
	for _, mv := range plan.Moves {
		if mv.To != id {
			t.Fatalf("group %d joined, but %+v does not lead to it", id, mv)
		}
	}
	if want := placement.Slots / (len(m.Groups) + 1); moved != want {
		t.Fatalf("%d slots move to the new group of %d, want %d", moved, len(m.Groups)+1, want)
	}
	m.Groups = append(slices.Clone(m.Groups), placement.Group{ID: id, Replicas: m.Groups[0].Replicas})
	slices.SortFunc(m.Groups, func(a, b placement.Group) int { return cmp.Compare(a.ID, b.ID) })
	return withTable(t, m, plan.Slots)
}

func removeGroup(t *rapid.T, m placement.Map, id uint64) placement.Map {
	plan, err := m.PlanGroupRemoved(id)
	if err != nil {
		t.Fatal(err)
	}
	moved := carryOut(t, m, plan)
	for _, mv := range plan.Moves {
		if mv.From != id {
			t.Fatalf("group %d left, but %+v does not start from it", id, mv)
		}
	}
	if want := held(m)[id]; moved != want {
		t.Fatalf("%d slots move, want the %d of the group that left", moved, want)
	}
	m.Groups = slices.DeleteFunc(slices.Clone(m.Groups), func(g placement.Group) bool { return g.ID == id })
	return withTable(t, m, plan.Slots)
}

func withTable(t *rapid.T, m placement.Map, table []uint64) placement.Map {
	m.Slots = table
	if err := m.Check(); err != nil {
		t.Fatalf("the plan makes a bad map: %v", err)
	}
	return m
}

// carryOut checks that the moves lead from the map's table to the planned one, are
// in order and as long as can be, and returns how many slots they move.
func carryOut(t *rapid.T, m placement.Map, plan placement.Plan) (moved int) {
	table := slices.Clone(m.Slots)
	for i, mv := range plan.Moves {
		if i > 0 && mv.First <= plan.Moves[i-1].Last {
			t.Fatalf("%+v follows %+v", mv, plan.Moves[i-1])
		}
		if i > 0 && mv.First == plan.Moves[i-1].Last+1 && mv.From == plan.Moves[i-1].From && mv.To == plan.Moves[i-1].To {
			t.Fatalf("%+v and %+v should be one", plan.Moves[i-1], mv)
		}
		for slot := int(mv.First); slot <= int(mv.Last); slot++ {
			if table[slot] != mv.From {
				t.Fatalf("%+v: slot %d belongs to group %d", mv, slot, table[slot])
			}
			table[slot] = mv.To
			moved++
		}
	}
	if !slices.Equal(table, plan.Slots) {
		t.Fatal("the moves do not lead to the planned table")
	}
	return moved
}

// A scan makes one request per run of slots with one owner. A group has 16 points;
// each can begin a run and end the one before it, and few more runs may come from
// shares that fill up.
func TestRunsStayLong(t *testing.T) {
	t.Parallel()
	m := newMap(t, 1, 4, 1)
	for n := 4; n <= 12; n++ {
		if got, bound := runs(m), 20*n; got > bound {
			t.Errorf("%d groups: %d runs, want at most %d", n, got, bound)
		}
		plan, err := m.PlanGroupAdded(uint64(n) + 1)
		if err != nil {
			t.Fatal(err)
		}
		m.Groups = append(m.Groups, placement.Group{ID: uint64(n) + 1})
		m.Slots = plan.Slots
	}
}

func runs(m placement.Map) (n int) {
	for slot := 0; slot < placement.Slots; n++ {
		slot = int(m.Run(uint16(slot))) + 1
	}
	return n
}

func TestPlansRefuse(t *testing.T) {
	t.Parallel()
	small, full := newMap(t, 1, 1, 1), newMap(t, 1, placement.MaxGroups, 1)
	tests := map[string]struct {
		plan  func(uint64) (placement.Plan, error)
		group uint64
		want  string
	}{
		"adding the meta group":     {small.PlanGroupAdded, 0, "meta group"},
		"adding a known group":      {small.PlanGroupAdded, 1, "already"},
		"adding to a full cluster":  {full.PlanGroupAdded, 5000, "1024"},
		"removing an unknown group": {full.PlanGroupRemoved, 5000, "5000"},
		"removing the meta group":   {full.PlanGroupRemoved, 0, "0 is not"},
		"removing the last group":   {small.PlanGroupRemoved, 1, "last"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := tt.plan(tt.group)
			wantRefusal(t, err, "group", tt.want)
		})
	}
}

// A table that is not even is no reason to fail: the group that joins or leaves
// still gets or loses its slots, and no others move.
func TestPlansCopeWithUnevenTables(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		groups := rapid.IntRange(2, 12).Draw(t, "groups")
		m, err := placement.New("c1", testNodes(1), groups, 1, placement.Settings{})
		if err != nil {
			t.Fatal(err)
		}
		for range rapid.IntRange(1, 5).Draw(t, "grabs") {
			first := rapid.IntRange(0, placement.Slots-1).Draw(t, "first")
			last := rapid.IntRange(first, placement.Slots-1).Draw(t, "last")
			owner := rapid.Uint64Range(1, uint64(groups)).Draw(t, "owner")
			for slot := first; slot <= last; slot++ {
				m.Slots[slot] = owner
			}
		}
		addGroup(t, m, uint64(groups)+1)
		removeGroup(t, m, rapid.Uint64Range(1, uint64(groups)).Draw(t, "group"))
	})
}
