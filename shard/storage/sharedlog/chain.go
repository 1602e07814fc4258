package sharedlog

import (
	"cmp"
	"errors"
	"slices"
	"sync"
)

// chain holds the segments that are in use, in order. Only the last one is written to.
type chain struct {
	mu   sync.RWMutex
	list []*segment
}

func (c *chain) get(number uint32) *segment {
	c.mu.RLock()
	defer c.mu.RUnlock()
	i, ok := slices.BinarySearchFunc(c.list, number, func(s *segment, n uint32) int { return cmp.Compare(s.number, n) })
	if !ok {
		return nil
	}
	return c.list[i]
}

// last returns the newest segment, nil if there is none.
func (c *chain) last() *segment {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if len(c.list) == 0 {
		return nil
	}
	return c.list[len(c.list)-1]
}

func (c *chain) add(s *segment) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = append(c.list, s)
}

// oldest returns the number of the first segment, 0 if there is none.
func (c *chain) oldest() uint32 {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if len(c.list) == 0 {
		return 0
	}
	return c.list[0].number
}

// needed returns the number of the first segment that is the last one or holds what a
// view needs, 0 if there is none.
func (c *chain) needed() uint32 {
	c.mu.RLock()
	defer c.mu.RUnlock()
	for i, s := range c.list {
		if i == len(c.list)-1 || s.live.Load() != 0 {
			return s.number
		}
	}
	return 0
}

// cut takes the segments below a number out.
func (c *chain) cut(number uint32) []*segment {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := slices.IndexFunc(c.list, func(s *segment) bool { return s.number >= number })
	below := slices.Clone(c.list[:n])
	c.list = slices.Delete(c.list, 0, n)
	return below
}

// oversized returns the oldest segment if there are others and the files are larger
// than twice the bytes of the entries that are needed, and slack; otherwise 0.
func (c *chain) oversized(slack int64) (oldest uint32) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	files, live := int64(0), int64(0)
	for _, s := range c.list {
		files += s.size
		live += s.live.Load()
	}
	if len(c.list) < 2 || files <= 2*live+slack {
		return 0
	}
	return c.list[0].number
}

// need books entries that are needed, release some that are not any more.
func (c *chain) need(places []place)    { c.book(places, 1) }
func (c *chain) release(places []place) { c.book(places, -1) }

func (c *chain) book(places []place, sign int64) {
	var s *segment
	for _, p := range places {
		if s == nil || s.number != p.segment {
			s = c.get(p.segment)
		}
		s.live.Add(sign * int64(p.size))
	}
}

func (c *chain) close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var errs []error
	for _, s := range c.list {
		errs = append(errs, s.file.Close())
	}
	return errors.Join(errs...)
}
