package sharedlog

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"time"

	"github.com/hashicorp/raft"
)

// recordKind says what a record tells of a view, or of the log.
type recordKind byte

const (
	// kindEntry: an entry is stored. Those of its index and above are no more.
	kindEntry recordKind = 1 + iota
	// kindMoved: an entry stored before is needed here, as its segment will go.
	kindMoved
	// kindBounds: there is a view, and it holds exactly the entries between two
	// indexes; 0 and 0 for none.
	kindBounds
	// kindDrop: there is no such view any more.
	kindDrop
	// kindRelease: segments below a number are not needed any more.
	kindRelease
)

const (
	// recordHead is the length of checksum and size in front of a record, recordKindAt
	// where its kind stands; its size counts from there.
	recordHead   = 8
	recordKindAt = recordHead
	// maxRecord bounds a record, in bytes: above it the offsets of a segment could
	// overflow 32 bits.
	maxRecord = 1 << 30
)

// record is one record, read. Which fields are set depends on the kind.
type record struct {
	kind        recordKind
	id          ID
	entry       raft.Log // its Data and Extensions share the memory that was read from
	first, last uint64
	oldest      uint32
}

var errRecord = errors.New("it cannot be read")

// beginRecord begins a record of a view; endRecord must follow. The record's checksum
// is set by sealRecords, when its place is known.
func beginRecord(b []byte, kind recordKind, id ID) []byte {
	b = append(b, 0, 0, 0, 0, 0, 0, 0, 0, byte(kind))
	b = binary.AppendUvarint(b, id.Group)
	return binary.AppendUvarint(b, id.Generation)
}

// endRecord sets the size of the record that begins at from.
func endRecord(b []byte, from int) []byte {
	binary.LittleEndian.PutUint32(b[from+4:], uint32(len(b)-from-recordHead))
	return b
}

func appendEntry(b []byte, id ID, e *raft.Log) []byte {
	from := len(b)
	b = beginRecord(b, kindEntry, id)
	b = binary.AppendUvarint(b, e.Index)
	b = binary.AppendUvarint(b, e.Term)
	b = append(b, byte(e.Type))
	b = binary.AppendVarint(b, appendedAt(e))
	b = binary.AppendUvarint(b, uint64(len(e.Extensions)))
	b = append(b, e.Extensions...)
	b = append(b, e.Data...)
	return endRecord(b, from)
}

// appendedAt is in ns since the Unix epoch, 0 for the zero time.
func appendedAt(e *raft.Log) int64 {
	if e.AppendedAt.IsZero() {
		return 0
	}
	return e.AppendedAt.UnixNano()
}

func appendMoved(b, raw []byte) []byte {
	from := len(b)
	b = append(b, raw...)
	b[from+recordKindAt] = byte(kindMoved)
	return b
}

func appendBounds(b []byte, id ID, first, last uint64) []byte {
	from := len(b)
	b = beginRecord(b, kindBounds, id)
	b = binary.AppendUvarint(b, first)
	b = binary.AppendUvarint(b, last)
	return endRecord(b, from)
}

func appendDrop(b []byte, id ID) []byte {
	from := len(b)
	return endRecord(beginRecord(b, kindDrop, id), from)
}

func appendRelease(b []byte, oldest uint32) []byte {
	from := len(b)
	b = beginRecord(b, kindRelease, ID{})
	b = binary.AppendUvarint(b, uint64(oldest))
	return endRecord(b, from)
}

// recordSize bounds what appendEntry appends, in bytes.
func recordSize(e *raft.Log) int {
	return recordHead + 1 + 6*binary.MaxVarintLen64 + 1 + len(e.Extensions) + len(e.Data)
}

// nextRecord returns the length of the first record in b, or 0 if it is cut off.
func nextRecord(b []byte) int {
	if len(b) < recordHead+1 {
		return 0
	}
	size := int64(recordHead) + int64(binary.LittleEndian.Uint32(b[4:]))
	if size <= recordHead || size > int64(len(b)) {
		return 0
	}
	return int(size)
}

// sealRecords sets the checksums of the records in b, the first of which will stand at
// an offset of a segment.
func sealRecords(b []byte, segment uint32, off int64) {
	for len(b) > 0 {
		n := nextRecord(b)
		binary.LittleEndian.PutUint32(b, checksum(segment, off, b[4:n]))
		b, off = b[n:], off+int64(n)
	}
}

// openRecord returns the record that b holds, if it is intact and belongs at the place.
func openRecord(b []byte, segment uint32, off int64) (record, error) {
	if n := nextRecord(b); n == 0 || n != len(b) || binary.LittleEndian.Uint32(b) != checksum(segment, off, b[4:]) {
		return record{}, errRecord
	}
	r := fields{b: b[recordKindAt+1:]}
	rec := record{kind: recordKind(b[recordKindAt]), id: ID{r.uvarint(), r.uvarint()}}
	switch rec.kind {
	case kindEntry, kindMoved:
		rec.entry = r.entry()
	case kindBounds:
		rec.first, rec.last = r.uvarint(), r.uvarint()
		r.bad = r.bad || (rec.first == 0) != (rec.last == 0) || rec.first > rec.last
	case kindDrop:
	case kindRelease:
		oldest := r.uvarint()
		rec.oldest = uint32(oldest)
		r.bad = r.bad || uint64(rec.oldest) != oldest
	default:
		r.bad = true
	}
	if r.bad || len(r.b) > 0 {
		return record{}, errRecord
	}
	return rec, nil
}

// checksum covers where bytes stand and what they are.
func checksum(segment uint32, off int64, b []byte) uint32 {
	var place [12]byte
	binary.LittleEndian.PutUint32(place[0:], segment)
	binary.LittleEndian.PutUint64(place[4:], uint64(off))
	table := crc32.MakeTable(crc32.Castagnoli)
	return crc32.Update(crc32.Checksum(place[:], table), table, b)
}

// fields reads a record's body from its front.
type fields struct {
	b   []byte
	bad bool // something was missing
}

func (f *fields) uvarint() uint64 {
	v, n := binary.Uvarint(f.b)
	f.skip(n)
	return v
}

func (f *fields) varint() int64 {
	v, n := binary.Varint(f.b)
	f.skip(n)
	return v
}

func (f *fields) skip(n int) {
	if n <= 0 {
		f.b, f.bad = nil, true
		return
	}
	f.b = f.b[n:]
}

func (f *fields) byte() byte {
	if len(f.b) == 0 {
		f.bad = true
		return 0
	}
	v := f.b[0]
	f.b = f.b[1:]
	return v
}

// entry reads to the end of the body.
func (f *fields) entry() raft.Log {
	e := raft.Log{Index: f.uvarint(), Term: f.uvarint(), Type: raft.LogType(f.byte())}
	if at := f.varint(); at != 0 {
		e.AppendedAt = time.Unix(0, at)
	}
	n := f.uvarint()
	if n > uint64(len(f.b)) || e.Index == 0 {
		f.bad = true
		return e
	}
	if n > 0 {
		e.Extensions = f.b[:n:n]
	}
	if data := f.b[n:]; len(data) > 0 {
		e.Data = data[:len(data):len(data)]
	}
	f.b = nil
	return e
}
