package sharedlog

import (
	"testing"
)

// FuzzSegment opens a log whose only segment holds anything, also with checksums that
// match: the log is refused, or all that it shows can be read, and it goes on.
func FuzzSegment(f *testing.F) {
	d, _, _ := writtenDisk(f)
	names := d.segments(f)
	f.Add(d.names[names[0]].current, false)
	f.Add([]byte{}, true)
	records := appendBounds(nil, ID{1, 1}, 0, 0)
	records = appendEntry(records, ID{1, 1}, entry(1, 1, 10))
	f.Add(records, true)
	f.Add(appendBounds(nil, ID{1, 1}, 1, 1<<62), true)
	f.Add(appendDrop(appendRelease(records, 7), ID{1, 1}), true)
	f.Fuzz(func(t *testing.T, b []byte, seal bool) {
		if seal {
			b = sealedSegment(b)
		}
		d := newFakeDisk(1)
		d.names[segmentName(1)] = &fakeInode{current: b, durable: b}
		l, err := open(d, Config{SegmentBytes: testSegment})
		if err != nil {
			return
		}
		defer l.Close()
		for _, id := range l.Views() {
			s, err := readState(l, id)
			if err != nil {
				t.Fatal(err)
			}
			_, last := s.bounds()
			v, err := l.View(id)
			if err != nil {
				t.Fatal(err)
			}
			if last+1 != 0 {
				store(t, v, entry(last+1, 1, 10))
			}
		}
	})
}

// sealedSegment returns a segment whose only flush holds the records, as far as these
// can be told apart.
func sealedSegment(records []byte) []byte {
	end := 0
	for n := nextRecord(records); n > 0; n = nextRecord(records[end:]) {
		end += n
	}
	records = append([]byte(nil), records[:end]...)
	h := flushHeader{uint32(len(records)), 1}
	size := segmentHead + h.total()
	b := segmentHeader{number: 1, oldest: 1, flush: 1, size: uint32(size)}.encode()
	b = append(b, make([]byte, flushHead)...)
	h.put(b[segmentHead:], 1, segmentHead)
	sealRecords(records, 1, segmentHead+flushHead)
	return alignedBytes(append(b, records...))
}

// FuzzRecord reads anything as a record, with a checksum that matches.
func FuzzRecord(f *testing.F) {
	f.Add(appendEntry(nil, ID{1, 2}, entry(3, 4, 5)))
	f.Add(appendBounds(nil, ID{1, 2}, 3, 4))
	f.Add(appendDrop(nil, ID{1, 2}))
	f.Add(appendRelease(nil, 1))
	f.Fuzz(func(t *testing.T, b []byte) {
		n := nextRecord(b)
		b = append([]byte(nil), b[:n]...)
		sealRecords(b, 1, 2)
		rec, err := openRecord(b, 1, 2)
		if err != nil {
			return
		}
		if _, err := openRecord(b, 1, 3); err == nil {
			t.Fatal("a record passes at another place")
		}
		if rec.kind != kindEntry {
			return
		}
		again := appendEntry(nil, rec.id, &rec.entry)
		if len(again) > recordSize(&rec.entry) {
			t.Fatalf("%d bytes, bound by %d", len(again), recordSize(&rec.entry))
		}
		sealRecords(again, 1, 2)
		if got, err := openRecord(again, 1, 2); err != nil || !sameEntry(&got.entry, &rec.entry) {
			t.Fatalf("%+v is read as %+v, %v", rec.entry, got.entry, err)
		}
	})
}
