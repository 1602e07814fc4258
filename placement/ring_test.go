package placement

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestClockwiseStartsAtTheSlotAndWrapsRound(t *testing.T) {
	t.Parallel()
	r := ring{{slot: 10, group: 1}, {slot: 20, group: 2}, {slot: 20, group: 3}, {slot: 4000, group: 1}}
	tests := map[uint16]struct {
		order    []uint64
		distance int
	}{
		0:    {[]uint64{1, 2, 3, 1}, 10},
		10:   {[]uint64{1, 2, 3, 1}, 0},
		11:   {[]uint64{2, 3, 1, 1}, 9},
		20:   {[]uint64{2, 3, 1, 1}, 0},
		21:   {[]uint64{1, 1, 2, 3}, 3979},
		4001: {[]uint64{1, 2, 3, 1}, 105},
		4095: {[]uint64{1, 2, 3, 1}, 11},
	}
	for slot, want := range tests {
		if got := slices.Collect(r.clockwise(slot)); !slices.Equal(got, want.order) {
			t.Errorf("clockwise(%d) = %v, want %v", slot, got, want.order)
		}
		if got := r.distance(slot); got != want.distance {
			t.Errorf("distance(%d) = %d, want %d", slot, got, want.distance)
		}
	}
}

// A group's points are where they are, whichever other groups there are.
func TestPointsDoNotDependOnOtherGroups(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		groups := rapid.SliceOfNDistinct(rapid.Uint64(), 1, 20, rapid.ID).Draw(t, "groups")
		all := newRing(groups)
		if !slices.IsSortedFunc(all, func(a, b point) int { return cmp.Compare(a.slot, b.slot) }) {
			t.Fatal("points are out of order")
		}
		for _, g := range groups {
			own := slices.DeleteFunc(slices.Clone(all), func(p point) bool { return p.group != g })
			if want := newRing([]uint64{g}); !slices.Equal(own, want) {
				t.Fatalf("group %d has the points %v, alone it has %v", g, own, want)
			}
			if len(own) != pointsPerGroup {
				t.Fatalf("group %d has %d points, want %d", g, len(own), pointsPerGroup)
			}
		}
	})
}

func TestNearestYieldsAllSlotsByDistance(t *testing.T) {
	t.Parallel()
	twins := ring{{slot: 5, group: 1}, {slot: 5, group: 2}, {slot: 900, group: 1}}
	for _, r := range []ring{twins, newRing([]uint64{7}), newRing([]uint64{1, 2, 3})} {
		slots := slices.Collect(r.nearest())
		if !slices.IsSortedFunc(slots, func(a, b uint16) int { return cmp.Compare(r.distance(a), r.distance(b)) }) {
			t.Error("a slot comes before one that is nearer")
		}
		if len(slots) != Slots {
			t.Errorf("%d slots, want %d", len(slots), Slots)
		}
		slices.Sort(slots)
		if n := len(slices.Compact(slots)); n != Slots {
			t.Errorf("%d different slots, want %d", n, Slots)
		}
	}
}
