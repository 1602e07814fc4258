package op

import (
	"bytes"
	"encoding/binary"
)

// Scan reads a page of the keys that start with Prefix, slot by slot and within a slot
// in an order that is the same on all replicas but means nothing. It runs from Cursor to
// the end of slot Last; all slots between must belong to one group. A key that is there
// from the scan's start to its end is returned; one that comes or goes may be, and an
// attached record is not. Result: Items, perhaps none, and Next, the cursor to go on
// with, empty when slot Last is done.
type Scan struct {
	Prefix []byte
	Cursor []byte // from ScanCursor, or a result's Next
	Last   uint16 // slot
	Limit  int    // keys in the page, 1 to MaxKeys
	Values bool   // whether Items hold the values too
}

// ScanCursor returns the cursor of the keys of slot that come after the key after, and of
// the slots behind it.
func ScanCursor(slot uint16, after []byte) []byte {
	return append(binary.BigEndian.AppendUint16(nil, slot), after...)
}

// SplitCursor returns a cursor's slot and the key to go on after.
func SplitCursor(cursor []byte) (slot uint16, after []byte, err *Error) {
	if len(cursor) < 2 || len(cursor) > 2+MaxKey {
		return 0, nil, Invalid("cursor", "has %d bytes; it has 2 to %d", len(cursor), 2+MaxKey)
	}
	slot = binary.BigEndian.Uint16(cursor)
	if slot >= Slots {
		return 0, nil, Invalid("cursor", "names slot %d; the last one is %d", slot, Slots-1)
	}
	return slot, cursor[2:], nil
}

func (Scan) Code() Code { return CodeScan }

// NumSlots counts the slots from the cursor to Last.
func (o Scan) NumSlots() int {
	first, _, err := SplitCursor(o.Cursor)
	if err != nil || o.Last < first {
		return 0
	}
	return int(o.Last-first) + 1
}

// Slot returns the i-th slot of the range.
func (o Scan) Slot(i int) uint16 {
	first, _, _ := SplitCursor(o.Cursor)
	return first + uint16(i)
}

// Check refuses malformed cursors and ranges.
func (o Scan) Check(Limits) *Error {
	first, _, err := SplitCursor(o.Cursor)
	switch {
	case err != nil:
		return err
	case o.Last < first || o.Last >= Slots:
		return Invalid("last", "slot %d does not lie between the cursor's, %d, and %d", o.Last, first, Slots-1)
	case len(o.Prefix) > MaxKey:
		return Invalid("prefix", "has %d bytes; the limit is %d", len(o.Prefix), MaxKey)
	case o.Limit < 1 || o.Limit > MaxKeys:
		return Invalid("limit", "is %d; it must lie between 1 and %d", o.Limit, MaxKeys)
	}
	return nil
}

// Covers reports whether key lies in the scan's range.
func (o Scan) Covers(key []byte) bool {
	slot := SlotOf(key)
	first, _, _ := SplitCursor(o.Cursor)
	return slot >= first && slot <= o.Last && bytes.HasPrefix(key, o.Prefix)
}

// AppendTo appends [prefix, cursor, last, limit, values].
func (o Scan) AppendTo(b []byte) []byte {
	b = appendBytes(b, o.Prefix)
	b = appendBytes(b, o.Cursor)
	b = appendUint(b, uint64(o.Last))
	b = appendInt(b, int64(o.Limit))
	return appendBool(b, o.Values)
}

func (r *reader) scan() Op {
	o := Scan{Prefix: r.bytes("prefix"), Cursor: r.bytes("cursor")}
	last := r.uint("last")
	if last >= Slots {
		r.fail("last: slot %d is over the limit %d", last, Slots-1)
	}
	o.Last, o.Limit, o.Values = uint16(last), int(r.int("limit")), r.bool("values")
	return o
}

// pageBytes bounds a page's keys and values, unless its first key alone has more: so
// a page fits into one answer, whatever the sizes of what it holds.
const pageBytes = 1 << 20

// pageLook is at about how many records a page looks, whatever their keys start with: so
// a scan that finds little keeps nobody waiting for more than some milliseconds.
const pageLook = 16 << 10

// Read collects the page.
func (o Scan) Read(v View) Result {
	slot, after, err := SplitCursor(o.Cursor)
	if err != nil {
		return Fail(err)
	}
	var res Result
	size, look := 0, pageLook
	for ; slot <= o.Last; slot, after = slot+1, nil {
		page, next, looked := v.Page(slot, after, o.Prefix, o.Limit-len(res.Items), look)
		look -= looked
		for _, k := range page {
			if _, attached := attachedSlot(k.Key); attached {
				after = []byte(k.Key)
				continue
			}
			if !o.Values {
				k.Value = nil
			}
			size += len(k.Key) + len(k.Value)
			if size > pageBytes && len(res.Items) > 0 {
				res.Next = ScanCursor(slot, after)
				return res
			}
			res.Items = append(res.Items, newItem(k, v.Now()))
			after = []byte(k.Key)
		}
		switch {
		case len(next) > 0:
			res.Next = ScanCursor(slot, next)
			return res
		case (len(res.Items) == o.Limit || look <= 0) && slot < o.Last:
			res.Next = ScanCursor(slot+1, nil)
			return res
		}
	}
	return res
}
