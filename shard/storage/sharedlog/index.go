package sharedlog

// place is where an entry's record stands. The zero place is none.
type place struct {
	segment uint32
	off     uint32
	size    uint32 // bytes of the whole record
}

// index says where the entries of a view stand: 12 bytes per entry.
type index struct {
	first  uint64 // of places; anything if there are none
	places []place
}

// bounds returns the first and the last index, 0 and 0 for none.
func (x *index) bounds() (first, last uint64) {
	if len(x.places) == 0 {
		return 0, 0
	}
	return x.first, x.first + uint64(len(x.places)) - 1
}

func (x *index) at(i uint64) (place, bool) {
	// An index below the first wraps round to a large number.
	if i-x.first >= uint64(len(x.places)) {
		return place{}, false
	}
	return x.places[i-x.first], true
}

// append adds places from index i on, which follows the last one if there is one.
func (x *index) append(i uint64, places ...place) {
	if len(x.places) == 0 {
		x.first = i
	}
	x.places = append(x.places, places...)
}

// move replaces the places from index i on, which exist.
func (x *index) move(i uint64, places []place) (old []place) {
	at := x.places[i-x.first:][:len(places)]
	old = append(old, at...)
	copy(at, places)
	return old
}

// keep makes the index hold exactly what lies between first and last; 0 and 0 for
// nothing. Places that it does not have are zero. It returns those that it drops.
func (x *index) keep(first, last uint64) (dropped []place) {
	have, end := x.bounds()
	if first == 0 || len(x.places) == 0 || first > end || last < have {
		dropped, x.places = x.places, nil
		if first != 0 {
			x.first, x.places = first, make([]place, last-first+1)
		}
		return dropped
	}
	if last < end {
		n := last + 1 - have
		dropped = append(dropped, x.places[n:]...)
		x.places = x.places[:n]
	}
	if first > have {
		n := first - have
		dropped = append(dropped, x.places[:n]...)
		x.first, x.places = first, x.places[n:]
	}
	if first < have {
		x.first, x.places = first, append(make([]place, have-first), x.places...)
	}
	if last > end {
		x.places = append(x.places, make([]place, last-end)...)
	}
	return dropped
}
