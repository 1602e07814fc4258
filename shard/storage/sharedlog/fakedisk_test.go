package sharedlog

import (
	"errors"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
)

var (
	errCrash = errors.New("the machine is off")
	errFault = errors.New("injected disk fault")
)

// sector is what a disk writes whole or not at all, in bytes.
const sector = 512

// fakeDisk is a disk in memory that forgets what was not synced, at any step.
type fakeDisk struct {
	mu      sync.Mutex
	rand    *rand.Rand
	names   map[string]*fakeInode // as a running process sees them
	durable map[string]*fakeInode
	renames []func(map[string]*fakeInode) // of names, not synced

	steps   int // done so far
	crashAt int // the step at which the machine goes off; 0: never
	failAt  int // the first step that fails; 0: none does
	failFor int // how many steps fail from there
	crashed bool
}

// fakeInode is a file's content.
type fakeInode struct {
	current, durable []byte
	dirty            []fakeWrite
}

type fakeWrite struct {
	off int64
	b   []byte
}

func newFakeDisk(seed uint64) *fakeDisk {
	return &fakeDisk{
		rand:    rand.New(rand.NewPCG(seed, 1)),
		names:   map[string]*fakeInode{},
		durable: map[string]*fakeInode{},
	}
}

// step counts an operation. With errFault it fails; with errCrash the machine goes off
// in the middle of it, and later ones do nothing.
func (d *fakeDisk) step() error {
	if d.crashed {
		return errCrash
	}
	d.steps++
	if d.steps == d.crashAt {
		d.crashed = true
		return errCrash
	}
	if d.failAt != 0 && d.steps >= d.failAt && d.steps < d.failAt+d.failFor {
		return errFault
	}
	return nil
}

// off reports whether the machine is off before an operation begins.
func (d *fakeDisk) off() bool { return d.crashed }

// restart returns the disk as it is found after the machine went off: of what was not
// synced, any part may be there.
func (d *fakeDisk) restart() *fakeDisk {
	d.mu.Lock()
	defer d.mu.Unlock()
	next := newFakeDisk(d.rand.Uint64())
	for _, rename := range d.renames {
		if d.rand.IntN(2) == 0 {
			rename(d.durable)
		}
	}
	for name, inode := range d.durable {
		inode.tear(d.rand)
		left := &fakeInode{current: slices.Clone(inode.durable), durable: slices.Clone(inode.durable)}
		next.names[name], next.durable[name] = left, left
	}
	return next
}

// revive lets another process begin where one was killed: what the system has taken is
// there, synced or not.
func (d *fakeDisk) revive() *fakeDisk {
	d.mu.Lock()
	defer d.mu.Unlock()
	return &fakeDisk{rand: d.rand, names: d.names, durable: d.durable, renames: d.renames}
}

// tear puts any sectors of what was not synced on disk.
func (f *fakeInode) tear(r *rand.Rand) {
	for _, w := range f.dirty {
		all, none := r.IntN(4) == 0, r.IntN(4) == 0
		for from := 0; from < len(w.b); {
			to := min(len(w.b), from+sector-int(w.off+int64(from))%sector)
			if !none && (all || r.IntN(2) == 0) {
				f.durable = overwrite(f.durable, w.off+int64(from), w.b[from:to])
			}
			from = to
		}
	}
	f.dirty = nil
}

func overwrite(content []byte, off int64, b []byte) []byte {
	if end := int(off) + len(b); end > len(content) {
		content = append(content, make([]byte, end-len(content))...)
	}
	copy(content[off:], b)
	return content
}

func (d *fakeDisk) create(name string) (file, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.off() {
		return nil, errCrash
	}
	if err := d.step(); err == errFault {
		return nil, err
	}
	inode := &fakeInode{}
	d.change(func(names map[string]*fakeInode) { names[name] = inode })
	return &fakeFile{d, inode}, nil
}

func (d *fakeDisk) change(change func(map[string]*fakeInode)) {
	change(d.names)
	d.renames = append(d.renames, change)
}

func (d *fakeDisk) open(name string) (file, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.off() {
		return nil, errCrash
	}
	inode := d.names[name]
	if inode == nil {
		return nil, fs.ErrNotExist
	}
	return &fakeFile{d, inode}, nil
}

func (d *fakeDisk) rename(from, to string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.off() {
		return errCrash
	}
	err := d.step()
	if err == errFault {
		return err
	}
	inode := d.names[from]
	if inode == nil {
		return fs.ErrNotExist
	}
	d.change(func(names map[string]*fakeInode) {
		delete(names, from)
		names[to] = inode
	})
	return err
}

func (d *fakeDisk) remove(name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.off() {
		return errCrash
	}
	err := d.step()
	if err == errFault {
		return err
	}
	if d.names[name] == nil {
		return fs.ErrNotExist
	}
	d.change(func(names map[string]*fakeInode) { delete(names, name) })
	return err
}

func (d *fakeDisk) list() ([]string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.off() {
		return nil, errCrash
	}
	return slices.Collect(maps.Keys(d.names)), nil
}

func (d *fakeDisk) sync() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.step(); err != nil {
		return err
	}
	for _, rename := range d.renames {
		rename(d.durable)
	}
	d.renames = nil
	return nil
}

// bytes returns what all files take.
func (d *fakeDisk) bytes() (sum int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, inode := range d.names {
		sum += int64(len(inode.current))
	}
	return sum
}

type fakeFile struct {
	disk  *fakeDisk
	inode *fakeInode
}

func (f *fakeFile) ReadAt(b []byte, off int64) (int, error) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if f.disk.off() {
		return 0, errCrash
	}
	if off >= int64(len(f.inode.current)) {
		return 0, io.EOF
	}
	n := copy(b, f.inode.current[off:])
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

// WriteAt writes half of b if it fails.
func (f *fakeFile) WriteAt(b []byte, off int64) (int, error) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if f.disk.off() {
		return 0, errCrash
	}
	err := f.disk.step()
	if err == errFault {
		b = b[:len(b)/2]
	}
	f.inode.current = overwrite(f.inode.current, off, b)
	f.inode.dirty = append(f.inode.dirty, fakeWrite{off, slices.Clone(b)})
	return len(b), err
}

// sync, if it fails, loses any part of what was written: the system shows it, and takes
// it for written from then on.
func (f *fakeFile) sync() error {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if f.disk.off() {
		return errCrash
	}
	err := f.disk.step()
	switch err {
	case nil:
		for _, w := range f.inode.dirty {
			f.inode.durable = overwrite(f.inode.durable, w.off, w.b)
		}
		f.inode.dirty = nil
	case errFault:
		f.inode.tear(f.disk.rand)
	}
	return err
}

func (f *fakeFile) reserve(int64) error {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	return f.disk.step()
}

func (f *fakeFile) size() (int64, error) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	return int64(len(f.inode.current)), nil
}

func (f *fakeFile) Close() error { return nil }
