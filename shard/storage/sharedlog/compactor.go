package sharedlog

import (
	"errors"
	"fmt"
)

// moveBytes is about how much is written once more at a time, so that others wait for
// little.
const moveBytes = 256 << 10

// slackSegments is how many segments there may be beside twice what is needed.
const slackSegments = 4

// compactor gives up the oldest segments, and keeps the log's size in proportion to
// what is needed of it.
type compactor struct {
	log  *Log
	wake chan struct{} // holds one
	quit chan struct{}
	done chan error // gets the outcome of a release; holds one
	fail bool       // the last try failed

	freed []*segment // what a release has taken out of the chain; set by the writer before it answers
}

func newCompactor(l *Log) *compactor {
	return &compactor{log: l, wake: make(chan struct{}, 1), quit: make(chan struct{}), done: make(chan error, 1)}
}

func (c *compactor) run() {
	for {
		select {
		case <-c.quit:
			return
		case <-c.wake:
			c.note(c.compact())
		}
	}
}

// note logs where compaction begins to fail. It is tried again when segments change, or bounds.
func (c *compactor) note(err error) {
	if err != nil && !c.fail && !errors.Is(err, ErrClosed) {
		c.log.log.Warn("the log cannot give up a segment", "err", err)
	}
	c.fail = err != nil
}

// compact gives up what is not needed, until the log is small enough.
func (c *compactor) compact() error {
	for {
		if err := c.giveUp(); err != nil {
			return err
		}
		oldest := c.log.chain.oversized(slackSegments * c.log.segmentBytes)
		if oldest == 0 {
			return nil
		}
		if err := c.evacuate(oldest); err != nil {
			return err
		}
	}
}

// giveUp removes the segments at the beginning that nobody needs: first the log says
// so, then their files go.
func (c *compactor) giveUp() error {
	next := c.log.chain.needed()
	if next == c.log.chain.oldest() {
		return nil
	}
	op := operation{kind: kindRelease, segment: next, done: c.done}
	if err := c.log.submit(op, func(b []byte) []byte { return appendRelease(b, next) }); err != nil {
		return err
	}
	var errs []error
	for _, seg := range c.freed {
		errs = append(errs, c.log.spares.retire(seg))
	}
	return errors.Join(errs...)
}

// evacuate writes what is needed of a segment once more at the end of the log.
func (c *compactor) evacuate(segment uint32) error {
	for _, v := range c.log.allViews() {
		for moved := true; moved; {
			var err error
			if moved, err = v.moveFrom(segment); err != nil {
				return err
			}
		}
	}
	if s := c.log.chain.get(segment); s.live.Load() != 0 {
		return fmt.Errorf("%d bytes of %s are needed by nobody known", s.live.Load(), segmentName(segment))
	}
	return nil
}

// moveFrom writes the first entries that stand in a segment once more, and reports
// whether there were any. No other write of the view comes in between.
func (v *View) moveFrom(segment uint32) (bool, error) {
	v.writing.Lock()
	defer v.writing.Unlock()
	first, places := v.inSegment(segment)
	if len(places) == 0 {
		return false, nil
	}
	var raws [][]byte
	for i, p := range places {
		raw, _, err := v.read(p, first+uint64(i))
		if err != nil {
			return false, err
		}
		raws = append(raws, raw)
	}
	err := v.write(operation{view: v, kind: kindMoved, first: first}, func(b []byte) []byte {
		v.staged = v.staged[:0]
		for _, raw := range raws {
			from := len(b)
			b = appendMoved(b, raw)
			v.stage(from, len(b))
		}
		return b
	})
	return true, err
}

// inSegment returns the first run of places in a segment, of about moveBytes.
func (v *View) inSegment(segment uint32) (first uint64, run []place) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	bytes := 0
	for i, p := range v.index.places {
		if p.segment == segment && bytes < moveBytes {
			if len(run) == 0 {
				first = v.index.first + uint64(i)
			}
			run, bytes = append(run, p), bytes+int(p.size)
		} else if len(run) > 0 {
			break
		}
	}
	return first, run
}
