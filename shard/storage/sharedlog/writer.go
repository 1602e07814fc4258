package sharedlog

import (
	"fmt"
	"runtime"

	"github.com/ringraft/ringraft/internal/mutant"
)

// writer is the only one who writes segments. It writes what is pending, all at once,
// and syncs; meanwhile the next batch gathers.
type writer struct {
	log  *Log
	wake chan struct{} // holds one
	quit chan struct{}

	flush  uint64   // the number of the last flush on disk
	active *segment // where the next flush goes, or nil: into a new one
	spare  batch    // empty
}

func newWriter(l *Log) *writer {
	return &writer{log: l, wake: make(chan struct{}, 1), quit: make(chan struct{})}
}

// run writes until close; what is pending then is written last.
func (w *writer) run() {
	for {
		select {
		case <-w.quit:
			w.writePending()
			return
		case <-w.wake:
			runtime.Gosched() // those who run already may join the batch
			w.writePending()
		}
	}
}

func (w *writer) writePending() {
	b := w.log.takePending(w.spare)
	if len(b.ops) > 0 {
		w.finish(b, w.write(b))
	}
	w.spare = b.emptied()
}

// finish shows what is on disk, if err is nil, and answers those who wait.
func (w *writer) finish(b batch, err error) {
	for _, op := range b.ops {
		switch {
		case op.kind == kindRelease && err == nil:
			w.log.compactor.freed = w.log.chain.cut(op.segment) // before another header can name them
		case op.kind == kindRelease:
		case err == nil:
			op.view.apply(op)
		default:
			op.view.forget()
		}
		if op.kind == kindBounds || op.kind == kindDrop {
			wake(w.log.compactor.wake)
		}
		op.done <- err
	}
}

// write puts a batch on disk. After an error nobody knows what of it is there, so
// nothing is written behind it: the next batch goes into a new segment.
func (w *writer) write(b batch) error {
	records := b.buf[flushHead:]
	size := aligned(int64(len(b.buf)))
	if w.active == nil || w.active.end+size > w.active.size {
		return w.begin(b, records)
	}
	seg, off := w.active, w.active.end
	sealRecords(records, seg.number, off+flushHead)
	flushHeader{uint32(len(records)), w.flush + 1}.put(b.buf, seg.number, off)
	if err := put(seg, off, alignedBytes(b.buf)); err != nil {
		if !mutant.WriteBehindFailure {
			w.active = nil
		}
		return err
	}
	w.landed(seg, off+size, b, off)
	return nil
}

// begin puts a batch on disk as the first of a new segment, behind the bounds of all
// views.
func (w *writer) begin(b batch, records []byte) error {
	w.active = nil
	bounds := w.bounds()
	size := segmentHead + aligned(int64(flushHead+len(bounds)+len(records)))
	seg, err := w.log.spares.take(size)
	if err != nil {
		return err
	}
	head := w.header(seg).encode()
	head = append(head, make([]byte, flushHead)...)
	flushHeader{uint32(len(bounds) + len(records)), w.flush + 1}.put(head[segmentHead:], seg.number, segmentHead)
	sealRecords(bounds, seg.number, int64(len(head)))
	head = append(head, bounds...)
	sealRecords(records, seg.number, int64(len(head)))
	if err = write(seg, 0, head); err == nil {
		err = put(seg, int64(len(head)), alignedBytes(records))
	}
	if err != nil {
		w.discard(seg)
		return err
	}
	w.log.chain.add(seg)
	w.active = seg
	w.landed(seg, size, b, int64(len(head))-flushHead)
	wake(w.log.compactor.wake)
	return nil
}

// landed notes a flush that is on disk. Offsets in the batch count from base.
func (w *writer) landed(seg *segment, end int64, b batch, base int64) {
	seg.end = end
	w.flush++
	for _, op := range b.ops {
		if op.kind == kindEntry || op.kind == kindMoved {
			op.view.settle(op, seg.number, base)
		}
	}
}

// discard frees the room of a segment that was never used. If that fails, the next
// opening of the log does it.
func (w *writer) discard(seg *segment) {
	if err := w.log.spares.retire(seg); err != nil {
		w.log.log.Warn("a segment that could not be written cannot be removed", "err", err)
	}
}

func (w *writer) header(seg *segment) segmentHeader {
	h := segmentHeader{number: seg.number, size: uint32(seg.size), flush: w.flush + 1, oldest: seg.number}
	if last := w.log.chain.last(); last != nil {
		h.prev, h.prevEnd, h.oldest = last.number, uint32(last.end), w.log.chain.oldest()
	}
	return h
}

// bounds encodes the bounds of all views.
func (w *writer) bounds() []byte {
	var b []byte
	for _, v := range w.log.allViews() {
		if v.exists() {
			first, last := v.boundsOnDisk()
			b = appendBounds(b, v.id, first, last)
		}
	}
	return b
}

// put writes b at an offset of a segment, and returns once it is on disk.
func put(seg *segment, off int64, b []byte) error {
	if err := write(seg, off, b); err != nil {
		return err
	}
	if err := seg.file.sync(); err != nil {
		return fmt.Errorf("sync %s: %w", segmentName(seg.number), err)
	}
	return nil
}

func write(seg *segment, off int64, b []byte) error {
	if _, err := seg.file.WriteAt(b, off); err != nil {
		return fmt.Errorf("write %s: %w", segmentName(seg.number), err)
	}
	return nil
}
