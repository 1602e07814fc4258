package sharedlog

// operation is what a record, or a run of records, changes once it is on disk.
type operation struct {
	view        *View // nil for kindRelease
	kind        recordKind
	segment     uint32 // kindRelease: the first that is needed
	first, last uint64 // as kindBounds has them; kindEntry and kindMoved: of the first entry
	more        bool   // kindEntry: the rest follows, nothing is shown before
	done        chan error
}

// batch is what is written with one flush.
type batch struct {
	buf []byte // room for the flush's header, then records
	ops []operation
}

// maxIdleBatch is the most memory that a batch keeps while it is empty, in bytes.
const maxIdleBatch = 1 << 20

// add encodes an operation into the batch. Encode may look at the length of its
// argument: that is where the record will stand, from the beginning of the flush.
func (b *batch) add(op operation, encode func([]byte) []byte) {
	if len(b.buf) == 0 {
		b.buf = append(b.buf, make([]byte, flushHead)...)
	}
	b.buf = encode(b.buf)
	b.ops = append(b.ops, op)
}

// emptied returns the batch without content.
func (b batch) emptied() batch {
	if cap(b.buf) > maxIdleBatch {
		b.buf = nil
	}
	clear(b.ops)
	return batch{buf: b.buf[:0], ops: b.ops[:0]}
}
