package sharedlog

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"sync/atomic"
)

const (
	segmentMagic  = "ringlog"
	segmentFormat = '1'
	segmentHead   = 64 // bytes of a segment's header
	flushMagic    = 0x676f6c66
	flushHead     = 24 // bytes of a flush's header
	flushAlign    = 8
)

// segment is a file of the log.
type segment struct {
	number uint32 // from 1, in the order of their use; never used again
	size   int64  // bytes of the file
	file   file

	end  int64        // where the flushes that are on disk end; the writer's
	live atomic.Int64 // bytes of entries that views need
}

func segmentName(number uint32) string { return fmt.Sprintf("%010d.seg", number) }

// segmentHeader is what a segment begins with.
type segmentHeader struct {
	number  uint32
	prev    uint32 // the segment before, 0 for none
	prevEnd uint32 // where that one ends
	oldest  uint32 // the first segment that is needed
	size    uint32 // bytes of the file
	flush   uint64 // the number of the first flush
}

func (h segmentHeader) encode() []byte {
	b := append(make([]byte, 0, segmentHead), segmentMagic...)
	b = append(b, segmentFormat, 0, 0, 0, 0)
	for _, v := range []uint32{h.number, h.prev, h.prevEnd, h.oldest, h.size} {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	b = binary.LittleEndian.AppendUint64(b, h.flush)
	b = b[:segmentHead]
	binary.LittleEndian.PutUint32(b[8:], checksum(h.number, 0, b[12:]))
	return b
}

// decodeSegmentHeader reports whether b is the header of this segment. It is not where
// the segment was never written to, or had another number when it was.
func decodeSegmentHeader(b []byte, number uint32) (h segmentHeader, ok bool, err error) {
	if len(b) < segmentHead || !bytes.HasPrefix(b, []byte(segmentMagic)) {
		return h, false, nil
	}
	if format := b[len(segmentMagic)]; format != segmentFormat {
		return h, false, fmt.Errorf("%s has format %q, this program knows %q", segmentName(number), format, segmentFormat)
	}
	h = segmentHeader{
		number:  binary.LittleEndian.Uint32(b[12:]),
		prev:    binary.LittleEndian.Uint32(b[16:]),
		prevEnd: binary.LittleEndian.Uint32(b[20:]),
		oldest:  binary.LittleEndian.Uint32(b[24:]),
		size:    binary.LittleEndian.Uint32(b[28:]),
		flush:   binary.LittleEndian.Uint64(b[32:]),
	}
	ok = h.number == number && h.prev < number && h.oldest <= number && binary.LittleEndian.Uint32(b[8:]) == checksum(number, 0, b[12:segmentHead])
	return h, ok, nil
}

// flushHeader is what a flush begins with.
type flushHeader struct {
	length uint32 // bytes of the records behind it
	number uint64 // one more than that of the flush before, also across segments
}

// total is what the flush takes in the file, in bytes.
func (h flushHeader) total() int64 { return aligned(flushHead + int64(h.length)) }

// put encodes the header at the beginning of b, for a place in a segment.
func (h flushHeader) put(b []byte, segment uint32, off int64) {
	binary.LittleEndian.PutUint32(b[0:], flushMagic)
	binary.LittleEndian.PutUint32(b[8:], segment)
	binary.LittleEndian.PutUint32(b[12:], h.length)
	binary.LittleEndian.PutUint64(b[16:], h.number)
	binary.LittleEndian.PutUint32(b[4:], checksum(segment, off, b[8:flushHead]))
}

// decodeFlushHeader reports whether b begins with the header of a flush at this place.
func decodeFlushHeader(b []byte, segment uint32, off int64) (h flushHeader, ok bool) {
	if len(b) < flushHead || binary.LittleEndian.Uint32(b) != flushMagic || binary.LittleEndian.Uint32(b[8:]) != segment {
		return h, false
	}
	h = flushHeader{length: binary.LittleEndian.Uint32(b[12:]), number: binary.LittleEndian.Uint64(b[16:])}
	return h, binary.LittleEndian.Uint32(b[4:]) == checksum(segment, off, b[8:flushHead])
}

func aligned(n int64) int64 { return (n + flushAlign - 1) / flushAlign * flushAlign }

func alignedBytes(b []byte) []byte {
	var zeros [flushAlign]byte
	return append(b, zeros[:aligned(int64(len(b)))-int64(len(b))]...)
}
