package sharedlog

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
)

const (
	tmpEnd = ".tmp"
	// zeroStep is how much is zeroed between two syncs, in bytes: syncs of others wait
	// for no more than that.
	zeroStep = 1 << 20
	// maxRetired bounds the files that are kept to be used again.
	maxRetired = 2
)

// spares makes segments ahead of their use, so that the writer does not wait for them.
// Syncs of a file are fastest where its blocks were all written to before.
type spares struct {
	disk disk
	size int64 // bytes of a segment, if nothing larger must fit
	log  *slog.Logger
	wake chan struct{} // holds one
	quit chan struct{}
	wg   sync.WaitGroup // run

	mu      sync.Mutex // held while a segment is made
	next    uint32     // the number of the next segment
	ready   *segment   // or nil
	retired []string   // files of size that nobody needs
}

func newSpares(d disk, size int64, log *slog.Logger) *spares {
	return &spares{disk: d, size: size, log: log, next: 1, wake: make(chan struct{}, 1), quit: make(chan struct{})}
}

// adopt takes over the files that are not in use any more, and numbers new ones behind
// all of them.
func (s *spares) adopt(all []*found) error {
	var errs []error
	for _, f := range all {
		s.next = f.number + 1
		if f.file == nil {
			continue
		}
		errs = append(errs, s.retire(&segment{number: f.number, size: f.size, file: f.file}))
		f.file = nil
	}
	return errors.Join(errs...)
}

// start makes the spares ready whenever one was taken, until close.
func (s *spares) start() { s.wg.Go(s.run) }

func (s *spares) run() {
	for {
		select {
		case <-s.quit:
			return
		case <-s.wake:
			if err := s.prepare(); err != nil {
				s.log.Warn("the log's next segment cannot be made ahead", "err", err)
			}
		}
	}
}

func (s *spares) prepare() (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ready == nil {
		s.ready, err = s.make(s.size)
	}
	return err
}

// take returns an unused segment of at least size bytes, and has the next one made.
func (s *spares) take(size int64) (*segment, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	seg, err := s.takeLocked(size)
	if err == nil { // else there is no room for another one either
		wake(s.wake)
	}
	return seg, err
}

func (s *spares) takeLocked(size int64) (*segment, error) {
	if ready := s.ready; ready != nil {
		s.ready = nil
		if ready.size >= size {
			return ready, nil
		}
		if err := s.retireLocked(ready); err != nil { // segments are used in the order of their numbers
			return nil, err
		}
	}
	return s.make(max(size, s.size))
}

// retire takes a segment back that nobody needs.
func (s *spares) retire(seg *segment) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.retireLocked(seg)
}

func (s *spares) retireLocked(seg *segment) error {
	err := seg.file.Close()
	if err == nil && seg.size == s.size && len(s.retired) < maxRetired {
		s.retired = append(s.retired, segmentName(seg.number))
		return nil
	}
	return errors.Join(err, s.disk.remove(segmentName(seg.number)))
}

// make returns a segment whose file is on disk, name and all. A number is used once,
// even if this fails.
func (s *spares) make(size int64) (*segment, error) {
	seg := &segment{number: s.next, size: size}
	s.next++
	name := segmentName(seg.number)
	made, err := s.blank(seg)
	if err != nil {
		return nil, fmt.Errorf("make %s: %w", name, err)
	}
	if err := s.place(made, name); err != nil {
		return nil, errors.Join(fmt.Errorf("make %s: %w", name, err), seg.file.Close())
	}
	return seg, nil
}

// place gives a file its name for good, or removes it.
func (s *spares) place(file, name string) error {
	if err := s.disk.rename(file, name); err != nil {
		return errors.Join(err, s.disk.remove(file))
	}
	if err := s.disk.sync(); err != nil {
		return errors.Join(err, s.disk.remove(name))
	}
	return nil
}

// blank opens a file for the segment, a retired one if there is one of its size. What
// such a file holds counts for nothing in a segment of another number.
func (s *spares) blank(seg *segment) (name string, err error) {
	if n := len(s.retired); n > 0 && seg.size == s.size {
		name, s.retired = s.retired[n-1], s.retired[:n-1]
		seg.file, err = s.disk.open(name)
		return name, err
	}
	name = segmentName(seg.number) + tmpEnd
	if seg.file, err = s.disk.create(name); err != nil {
		return name, err
	}
	if err := zero(seg.file, seg.size); err != nil {
		return name, errors.Join(err, seg.file.Close(), s.disk.remove(name))
	}
	return name, nil
}

// zero fills a file with zeros and puts them on disk.
func zero(f file, size int64) error {
	if err := f.reserve(size); err != nil {
		return err
	}
	zeros := make([]byte, min(size, zeroStep))
	for off := int64(0); off < size; off += zeroStep {
		if _, err := f.WriteAt(zeros[:min(size-off, zeroStep)], off); err != nil {
			return err
		}
		if err := f.sync(); err != nil {
			return err
		}
	}
	return nil
}

// close stops the making, and closes what was made.
func (s *spares) close() error {
	close(s.quit)
	s.wg.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ready == nil {
		return nil
	}
	return s.ready.file.Close()
}

// wake lets the one who reads from c know, if he does not already.
func wake(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
