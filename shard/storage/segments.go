package storage

import (
	"bytes"
	"fmt"
	"io"

	walfs "github.com/hashicorp/raft-wal/fs"
	"github.com/hashicorp/raft-wal/types"
)

// segmentFS is raft-wal's file system, save that a segment which is written on after
// a restart is first cleared behind its last batch.
type segmentFS struct{ *walfs.FS }

func (fs segmentFS) OpenWriter(dir, name string) (types.WritableFile, error) {
	f, err := fs.FS.OpenWriter(dir, name)
	if err != nil {
		return nil, err
	}
	return &tailFile{WritableFile: f}, nil
}

// tailFile is a segment that another writer has left, perhaps in the middle of a
// batch. What the next batch does not overwrite of that one would be taken for
// frames at a later recovery, which trusts all commits but the last. So the rest
// of the file is zeroed before the first write.
type tailFile struct {
	types.WritableFile
	cleared bool
}

func (f *tailFile) WriteAt(b []byte, off int64) (int, error) {
	if !f.cleared {
		if err := zeroFrom(f.WritableFile, off); err != nil {
			return 0, fmt.Errorf("clear the rest of the segment: %w", err)
		}
		f.cleared = true
	}
	return f.WritableFile.WriteAt(b, off)
}

// zeroFrom makes all bytes of f from off on zero, on disk too. Space that was only
// allocated reads as zeros without I/O.
func zeroFrom(f types.WritableFile, off int64) error {
	const step = 64 << 10
	buf, zeros := make([]byte, step), make([]byte, step)
	dirty := false
	for {
		n, err := f.ReadAt(buf, off)
		if err != nil && err != io.EOF {
			return err
		}
		if !bytes.Equal(buf[:n], zeros[:n]) {
			if _, err := f.WriteAt(zeros[:n], off); err != nil {
				return err
			}
			dirty = true
		}
		if off += int64(n); err == io.EOF {
			break
		}
	}
	if !dirty {
		return nil
	}
	return f.Sync()
}
