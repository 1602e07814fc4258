package sharedlog

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
)

// placed is a record and where it stands.
type placed struct {
	record
	place
}

// reach says how far a segment was read.
type reach struct {
	end   int64  // where its flushes end
	last  int64  // where what was written last begins
	flush uint64 // the number of the last flush
}

// scan calls visit for the records of all flushes up to an offset, 0 for as far as they
// are intact.
func (f *found) scan(limit int64, visit func(placed) error) (reach, error) {
	at := reach{end: segmentHead, flush: f.header.flush - 1}
	for limit == 0 || at.end < limit {
		records, size, err := f.flush(at.end, at.flush+1)
		if err != nil || size == 0 {
			return at, err
		}
		for _, r := range records {
			if err := visit(r); err != nil {
				return at, fmt.Errorf("%w: %s at %d: %w", ErrCorrupt, segmentName(f.number), r.off, err)
			}
		}
		if at.end != segmentHead { // the first flush was written together with the header
			at.last = at.end
		}
		at.end, at.flush = at.end+size, at.flush+1
	}
	return at, nil
}

// flush reads the flush of a number at an offset. Its size is 0 if it is not there, or
// not as it was written. The next call overwrites what the records point to.
func (f *found) flush(off int64, number uint64) (records []placed, size int64, err error) {
	var head [flushHead]byte
	if ok, err := f.readAt(head[:], off); !ok {
		return nil, 0, err
	}
	h, ok := decodeFlushHeader(head[:], f.number, off)
	if !ok || h.number != number || off+h.total() > f.size {
		return nil, 0, nil
	}
	f.buf = slices.Grow(f.buf[:0], int(h.length))[:h.length]
	b := f.buf
	off += flushHead
	if ok, err := f.readAt(b, off); !ok {
		return nil, 0, err
	}
	for len(b) > 0 {
		n := nextRecord(b)
		rec, err := openRecord(b[:n], f.number, off)
		if err != nil {
			return nil, 0, nil
		}
		records = append(records, placed{rec, place{f.number, uint32(off), uint32(n)}})
		b, off = b[n:], off+int64(n)
	}
	return records, h.total(), nil
}

// readAt fills b, and reports whether the file is long enough for that.
func (f *found) readAt(b []byte, off int64) (bool, error) {
	_, err := f.file.ReadAt(b, off)
	if err == io.EOF {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read %s: %w", segmentName(f.number), err)
	}
	return true, nil
}

// findFlush returns where, from an offset on, there is the header of a flush with at
// least that number, or 0.
func (f *found) findFlush(from int64, number uint64) (int64, error) {
	const step = 64 << 10
	magic := binary.LittleEndian.AppendUint32(nil, flushMagic)
	buf := make([]byte, step+flushHead)
	for ; from < f.size; from += step {
		b := buf[:min(int64(len(buf)), f.size-from)]
		if ok, err := f.readAt(b, from); !ok {
			return 0, err
		}
		for i := 0; i < len(b); i += flushAlign {
			at := bytes.Index(b[i:], magic)
			if at < 0 {
				break
			}
			i = int(aligned(int64(i + at)))
			if h, ok := decodeFlushHeader(b[min(i, len(b)):], f.number, from+int64(i)); ok && h.number >= number {
				return from + int64(i), nil
			}
		}
	}
	return 0, nil
}
