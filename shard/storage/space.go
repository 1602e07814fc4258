package storage

import (
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// spacePeriod is how old an answer of the file system may be.
const spacePeriod = 500 * time.Millisecond

// space watches the room that is left on the disk. Writes stop while there is still
// enough of it for what must not fail: votes, terms, and the entries under way.
type space struct {
	path string
	min  int64
	look atomic.Int64 // when to look again, in ns since the Unix epoch
	free atomic.Int64 // bytes
}

func newSpace(path string, min int64) (*space, error) {
	s := &space{path: path, min: min}
	return s, s.measure()
}

func (s *space) measure() error {
	var fs unix.Statfs_t
	if err := unix.Statfs(s.path, &fs); err != nil {
		return fmt.Errorf("the free space cannot be read: %w", err)
	}
	s.free.Store(int64(fs.Bavail) * int64(fs.Bsize))
	return nil
}

// full returns an error that says how much is free, if it is too little.
func (s *space) full() error {
	if now, due := time.Now().UnixNano(), s.look.Load(); now >= due && s.look.CompareAndSwap(due, now+int64(spacePeriod)) {
		if err := s.measure(); err != nil {
			return err
		}
	}
	if free := s.free.Load(); free < s.min {
		return fmt.Errorf("disk full: %d bytes are free at %s, writes need %d", free, s.path, s.min)
	}
	return nil
}

// Full returns why the disk takes no more writes, or nil. It is cheap.
func (d *Dir) Full() error { return d.space.full() }

// Full is as for [Dir]: it returns the error set by SetFull.
func (m *Memory) Full() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.fullError
}

// SetFull makes Full return err: a disk that is full, or, with nil, is not.
func (m *Memory) SetFull(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fullError = err
}
