package sharedlog

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ringraft/ringraft/internal/mutant"
)

const fileMode fs.FileMode = 0o600

// disk is the directory of the log.
type disk interface {
	// create makes an empty file, also in the place of another.
	create(name string) (file, error)
	open(name string) (file, error)
	rename(from, to string) error
	remove(name string) error
	list() ([]string, error)
	// sync makes the names outlive a crash.
	sync() error
}

// file is a file of the log. What is written outlives a crash once sync has returned.
type file interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	// reserve fails where it is known that there is no room for size bytes.
	reserve(size int64) error
	sync() error
	size() (int64, error)
}

// directory is a disk in the file system, named by its path.
type directory string

func (d directory) path(name string) string { return filepath.Join(string(d), name) }

func (d directory) create(name string) (file, error) {
	return opened(os.OpenFile(d.path(name), os.O_CREATE|os.O_TRUNC|os.O_RDWR, fileMode))
}

func (d directory) open(name string) (file, error) {
	return opened(os.OpenFile(d.path(name), os.O_RDWR, 0))
}

func opened(f *os.File, err error) (file, error) {
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

func (d directory) rename(from, to string) error { return os.Rename(d.path(from), d.path(to)) }
func (d directory) remove(name string) error     { return os.Remove(d.path(name)) }

func (d directory) list() ([]string, error) {
	entries, err := os.ReadDir(string(d))
	if err != nil {
		return nil, err
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names, nil
}

func (d directory) sync() error {
	if mutant.SkipDirSync {
		return nil
	}
	f, err := os.Open(string(d))
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}

type osFile struct{ *os.File }

func (f osFile) reserve(size int64) error { return reserve(f.File, size) }

func (f osFile) sync() error {
	if mutant.SkipSync {
		return nil
	}
	return syncContent(f.File)
}

func (f osFile) size() (int64, error) {
	stat, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return stat.Size(), nil
}
