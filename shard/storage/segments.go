package storage

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	walfs "github.com/hashicorp/raft-wal/fs"
	"github.com/hashicorp/raft-wal/segment"
	"github.com/hashicorp/raft-wal/types"
)

// checkAllocated refuses the log's last segment if it was cut off: raft-wal would go on
// from where it was cut. A segment is allocated in full before anything is written to
// it. What a crash or a full disk leaves of one that was not is short and holds
// nothing; it is removed, so that raft-wal allocates it again.
func checkAllocated(dir string, tail types.SegmentInfo) error {
	path := filepath.Join(dir, segment.FileName(tail))
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // raft-wal creates it
	}
	if err != nil {
		return err
	}
	defer f.Close()
	stat, err := f.Stat()
	if err != nil || stat.Size() >= int64(tail.SizeLimit) {
		return err
	}
	var header, unwritten [segmentHeaderBytes]byte
	if _, err := f.ReadAt(header[:], 0); err != nil && err != io.EOF {
		return err
	}
	if header == unwritten {
		return os.Remove(path)
	}
	return fmt.Errorf("%w: segment %s has %d bytes of %d; %s", ErrDamaged, segment.FileName(tail), stat.Size(), tail.SizeLimit, adviseRestore)
}

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
