package sharedlog

import (
	"cmp"
	"fmt"
	"sync"

	"github.com/hashicorp/raft"
)

// View is a replica's log: a raft.LogStore and raft.MonotonicLogStore. An error of a
// write means that it is not done; after a crash it may be there all the same, as the
// log's last.
type View struct {
	log *Log
	id  ID

	writing sync.Mutex // held by the one write under way; guards staged
	staged  []place    // where that write's records stand in the flush
	done    chan error // gets its outcome; holds one

	mu      sync.RWMutex
	created bool
	index   index
	landed  index // of a write whose rest is to follow before any of it is shown
}

func newView(l *Log, id ID) *View { return &View{log: l, id: id, done: make(chan error, 1)} }

// IsMonotonic tells Raft that the log takes no gap.
func (v *View) IsMonotonic() bool { return true }

// FirstIndex returns the first index, 0 if the view is empty.
func (v *View) FirstIndex() (uint64, error) {
	first, _ := v.bounds()
	return first, nil
}

// LastIndex returns the last index, 0 if the view is empty.
func (v *View) LastIndex() (uint64, error) {
	_, last := v.bounds()
	return last, nil
}

func (v *View) bounds() (first, last uint64) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.index.bounds()
}

func (v *View) exists() bool {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.created
}

func (v *View) at(i uint64) (place, bool) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.index.at(i)
}

// GetLog reads an entry from its segment. It returns raft.ErrLogNotFound if the view
// does not have it, and ErrCorrupt if it is not what was stored.
func (v *View) GetLog(i uint64, entry *raft.Log) error {
	p, ok := v.at(i)
	for ok {
		_, rec, err := v.read(p, i)
		if err == nil {
			*entry = rec.entry
			return nil
		}
		was := p
		if p, ok = v.at(i); ok && p == was { // else the entry was moved, and its segment is gone
			return fmt.Errorf("log entry %d of replica %s: %w", i, v.id, err)
		}
	}
	return raft.ErrLogNotFound
}

// read returns the record at a place, as it is and decoded.
func (v *View) read(p place, i uint64) ([]byte, record, error) {
	seg := v.log.chain.get(p.segment)
	if seg == nil {
		return nil, record{}, fmt.Errorf("%w: %s is not there", ErrCorrupt, segmentName(p.segment))
	}
	raw := make([]byte, p.size)
	if _, err := seg.file.ReadAt(raw, int64(p.off)); err != nil {
		return nil, record{}, fmt.Errorf("read %s: %w", segmentName(p.segment), err)
	}
	rec, err := openRecord(raw, p.segment, int64(p.off))
	if err != nil || rec.id != v.id || rec.entry.Index != i {
		return nil, record{}, fmt.Errorf("%w: %s at %d", ErrCorrupt, segmentName(p.segment), p.off)
	}
	return raw, rec, nil
}

// StoreLog is StoreLogs of one entry.
func (v *View) StoreLog(entry *raft.Log) error { return v.StoreLogs([]*raft.Log{entry}) }

// StoreLogs returns once the entries are on disk. They must follow the last one; the
// first may be any where there is none. All are shown, or none.
func (v *View) StoreLogs(entries []*raft.Log) error {
	v.writing.Lock()
	defer v.writing.Unlock()
	if err := v.check(entries); err != nil {
		return err
	}
	for first := 0; first < len(entries); {
		n := chunk(entries[first:], v.log.limit)
		op := operation{view: v, kind: kindEntry, first: entries[0].Index, more: first+n < len(entries)}
		if err := v.write(op, v.encoder(entries[first:][:n])); err != nil {
			return err
		}
		first += n
	}
	return nil
}

// chunk returns how many of the entries are written at once: one at least, and no more
// than limit bytes.
func chunk(entries []*raft.Log, limit int) int {
	n, bytes := 1, recordSize(entries[0])
	for n < len(entries) {
		if bytes += recordSize(entries[n]); bytes > limit {
			break
		}
		n++
	}
	return n
}

func (v *View) check(entries []*raft.Log) error {
	_, last := v.bounds()
	for _, e := range entries {
		switch {
		case e.Index == 0 || last != 0 && e.Index != last+1:
			return fmt.Errorf("store log entry %d after %d", e.Index, last)
		case recordSize(e) > maxRecord:
			return fmt.Errorf("store log entry %d: %d bytes are too many", e.Index, len(e.Data)+len(e.Extensions))
		}
		last = e.Index
	}
	return nil
}

// encoder appends the records of entries, and stages their places in the flush.
func (v *View) encoder(entries []*raft.Log) func([]byte) []byte {
	return func(b []byte) []byte {
		v.staged = v.staged[:0]
		for _, e := range entries {
			from := len(b)
			b = appendEntry(b, v.id, e)
			v.stage(from, len(b))
		}
		return b
	}
}

func (v *View) stage(from, to int) {
	v.staged = append(v.staged, place{off: uint32(from), size: uint32(to - from)})
}

// DeleteRange removes entries at the beginning, at the end, or all.
func (v *View) DeleteRange(min, max uint64) error {
	v.writing.Lock()
	defer v.writing.Unlock()
	first, last := v.bounds()
	switch {
	case first == 0 || min > max || max < first || min > last:
		return nil
	case min <= first && max >= last:
		first, last = 0, 0
	case min <= first:
		first = max + 1
	case max >= last:
		last = min - 1
	default:
		return fmt.Errorf("delete log entries %d to %d out of %d to %d", min, max, first, last)
	}
	op := operation{view: v, kind: kindBounds, first: first, last: last}
	return v.write(op, func(b []byte) []byte { return appendBounds(b, v.id, first, last) })
}

// write submits an operation of the view, under writing.
func (v *View) write(op operation, encode func([]byte) []byte) error {
	op.done = v.done
	if op.kind != kindBounds && !v.exists() { // kindBounds may create it
		return ErrClosed
	}
	return v.log.submit(op, encode)
}

// settle notes that the staged records have landed, in a flush that stands at base. From
// now on their segment is needed. The writer calls it while the view's write is under
// way.
func (v *View) settle(op operation, segment uint32, base int64) {
	for i := range v.staged {
		v.staged[i].segment = segment
		v.staged[i].off += uint32(base)
	}
	v.log.chain.need(v.staged)
	v.mu.Lock()
	defer v.mu.Unlock()
	v.landed.append(op.first, v.staged...)
}

// forget gives up what has landed of a write that failed.
func (v *View) forget() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.log.chain.release(v.landed.places)
	v.landed.places = v.landed.places[:0]
}

// boundsOnDisk include what has landed and is not shown.
func (v *View) boundsOnDisk() (first, last uint64) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	first, last = v.index.bounds()
	if from, to := v.landed.bounds(); to != 0 {
		first, last = cmp.Or(first, from), to
	}
	return first, last
}

// apply shows what an operation has put on disk.
func (v *View) apply(op operation) {
	if !op.more {
		v.log.chain.release(v.change(op))
	}
}

// change returns the places that are not needed any more.
func (v *View) change(op operation) (dropped []place) {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch op.kind {
	case kindEntry:
		v.index.append(op.first, v.landed.places...)
	case kindMoved:
		dropped = v.index.move(op.first, v.landed.places)
	case kindBounds:
		v.created = true
		dropped = v.index.keep(op.first, op.last)
	case kindDrop:
		v.created = false
		dropped = v.index.keep(0, 0)
	}
	v.landed.places = v.landed.places[:0]
	return dropped
}
