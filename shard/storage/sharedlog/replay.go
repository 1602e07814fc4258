package sharedlog

import "fmt"

// replay builds chain and views from the segments that are in use. It fails unless
// they are whole.
func (l *Log) replay(used []*found) error {
	r := replay{log: l}
	for _, f := range used {
		r.most += uint64(f.size) / recordHead
	}
	for i, f := range used {
		var next segmentHeader
		if i+1 < len(used) {
			next = used[i+1].header
		}
		if err := r.read(f, next); err != nil {
			return err
		}
	}
	l.writer.flush = r.flush
	return r.settle()
}

type replay struct {
	log   *Log
	most  uint64 // entries that the files can hold
	reach        // of the newest segment
}

// read replays a segment, the newest one if next is zero.
func (r *replay) read(f *found, next segmentHeader) error {
	at, err := f.scan(int64(next.prevEnd), r.apply)
	if err != nil {
		return err
	}
	if next.number != 0 && (at.end != int64(next.prevEnd) || at.flush+1 != next.flush) {
		return fmt.Errorf("%w: %s at %d", ErrCorrupt, segmentName(f.number), at.end)
	}
	r.log.chain.add(&segment{number: f.number, size: f.size, file: f.file, end: at.end})
	r.reach = at
	f.file = nil
	return nil
}

// apply does to the views what a record says.
func (r *replay) apply(p placed) error {
	if p.kind == kindRelease {
		return nil
	}
	v := r.log.view(p.id)
	if !v.created && p.kind != kindBounds {
		return fmt.Errorf("there is no replica %s", p.id)
	}
	first, last := v.index.bounds()
	i := p.entry.Index
	switch p.kind {
	case kindEntry:
		if last != 0 && i != last+1 {
			return fmt.Errorf("entry %d of replica %s follows %d", i, p.id, last)
		}
		v.index.append(i, p.place)
	case kindMoved:
		if first == 0 || i < first || i > last {
			return fmt.Errorf("entry %d of replica %s is moved out of %d to %d", i, p.id, first, last)
		}
		v.index.move(i, []place{p.place})
	case kindBounds:
		return r.bound(v, p.record)
	case kindDrop:
		v.created, v.index = false, index{}
	}
	return nil
}

// bound applies the bounds of a view. At its first mention, entries in front of the
// first segment count as there: they must have been moved behind it.
func (r *replay) bound(v *View, rec record) error {
	first, last := v.index.bounds()
	if v.created && rec.first != 0 && (rec.first < first || rec.last > last) || rec.last-rec.first > r.most {
		return fmt.Errorf("replica %s has entries %d to %d, not %d to %d", v.id, first, last, rec.first, rec.last)
	}
	v.created = true
	v.index.keep(rec.first, rec.last)
	return nil
}

// settle checks that no entry is missing, and counts what is needed.
func (r *replay) settle() error {
	for _, v := range r.log.allViews() {
		for i, p := range v.index.places {
			if p.segment == 0 {
				return fmt.Errorf("%w: entry %d of replica %s is missing", ErrCorrupt, v.index.first+uint64(i), v.id)
			}
		}
		r.log.chain.need(v.index.places)
	}
	return r.secure()
}

// secure makes sure that what was written last is on disk. The process that wrote it
// may have ended before its sync, or the sync may have failed: then the system shows
// what the disk does not have, and takes it for written. So it is written once more.
func (r *replay) secure() error {
	newest := r.log.chain.last()
	if newest == nil {
		return nil
	}
	b := make([]byte, r.end-r.last)
	if _, err := newest.file.ReadAt(b, r.last); err != nil {
		return fmt.Errorf("read %s: %w", segmentName(newest.number), err)
	}
	return put(newest, r.last, b)
}
