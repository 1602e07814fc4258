package placement

import (
	"cmp"
	"encoding/binary"
	"iter"
	"slices"

	"github.com/cespare/xxhash/v2"
)

// pointsPerGroup is how many points (virtual nodes) a group owns. Shares keep the
// balance, so points only weigh long runs of slots with one owner, which make scans
// cheap, against the number of neighbours from which a new group takes its slots.
const pointsPerGroup = 16

// ring holds the points of groups in clockwise order. Where a group's points lie
// depends on its id alone.
type ring []point

type point struct {
	slot  uint16
	group uint64
}

func newRing(groups []uint64) ring {
	r := make(ring, 0, len(groups)*pointsPerGroup)
	for _, g := range groups {
		for n := range uint64(pointsPerGroup) {
			r = append(r, point{slot: pointSlot(g, n), group: g})
		}
	}
	slices.SortFunc(r, func(a, b point) int {
		return cmp.Or(cmp.Compare(a.slot, b.slot), cmp.Compare(a.group, b.group))
	})
	return r
}

// pointSlot returns the slot at which the group's n-th point lies.
func pointSlot(group, n uint64) uint16 {
	b := binary.BigEndian.AppendUint64(nil, group)
	b = binary.BigEndian.AppendUint64(b, n)
	return uint16(xxhash.Sum64(b) % Slots)
}

// clockwise yields the owner of each point, from the first point at or after slot
// once round the ring.
func (r ring) clockwise(slot uint16) iter.Seq[uint64] {
	first := r.next(slot)
	return func(yield func(uint64) bool) {
		for i := range r {
			if !yield(r[(first+i)%len(r)].group) {
				return
			}
		}
	}
}

// nearest yields every slot once: those at the points, then those one slot before a
// point, and so on.
func (r ring) nearest() iter.Seq[uint16] {
	return func(yield func(uint16) bool) {
		for distance := range Slots {
			for i, p := range r {
				slot := uint16((int(p.slot) - distance + Slots) % Slots)
				twin := i > 0 && r[i-1].slot == p.slot
				if !twin && r.distance(slot) == distance && !yield(slot) {
					return
				}
			}
		}
	}
}

// distance returns how many slots the first point at or after slot is away.
func (r ring) distance(slot uint16) int {
	p := r[r.next(slot)]
	return (int(p.slot) - int(slot) + Slots) % Slots
}

// next returns the index of the first point at or after slot.
func (r ring) next(slot uint16) int {
	i, _ := slices.BinarySearchFunc(r, slot, func(p point, slot uint16) int {
		return cmp.Compare(p.slot, slot)
	})
	return i % len(r)
}
