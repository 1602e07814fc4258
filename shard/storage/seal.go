package storage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	walfs "github.com/hashicorp/raft-wal/fs"
	"github.com/hashicorp/raft-wal/metadb"
	"github.com/hashicorp/raft-wal/segment"
	"github.com/hashicorp/raft-wal/types"
)

// The layout of a segment, raft-wal v0.4.1: a file header, then frames of a header
// (type, three zeros, length) and a payload that zeros fill up to a multiple of 8
// bytes. Commit frames have a checksum for a length, and no payload.
const (
	segmentHeaderBytes = 32
	frameHeaderBytes   = 8
)

// walMeta is the metadata of a raft-wal log: which segments there are. It outlives
// the wal that uses it, so that the log can be opened anew beside the old one, and
// it completes a rotation that a crash, a Close or a full disk cut short.
//
// raft-wal v0.4.1 seals a full segment with an index block when it stores a batch,
// and names the next segment in the metadata afterwards. If that does not happen,
// it finds at the next open a sealed segment at the end of the log, and appends to
// it fail for ever.
type walMeta struct{ metadb.BoltMetaDB }

// Close leaves the database open. Its owner closes the BoltMetaDB.
func (m *walMeta) Close() error { return nil }

// Load returns the segments of the log, the last of them fit for appending.
func (m *walMeta) Load(dir string) (types.PersistentState, error) {
	state, err := m.BoltMetaDB.Load(dir)
	if err != nil || len(state.Segments) == 0 {
		return state, err
	}
	tail := &state.Segments[len(state.Segments)-1]
	if !tail.SealTime.IsZero() {
		return state, nil
	}
	if err := checkAllocated(dir, *tail); err != nil {
		return state, err
	}
	sealed, err := recoverSeal(dir, tail)
	if err != nil {
		return state, fmt.Errorf("recover segment %s: %w", segment.FileName(*tail), err)
	}
	if !sealed {
		return state, nil
	}
	next := *tail
	next.ID = state.NextSegmentID
	next.BaseIndex, next.MinIndex, next.MaxIndex = tail.MaxIndex+1, tail.MaxIndex+1, 0
	next.IndexStart, next.CreateTime, next.SealTime = 0, time.Now(), time.Time{}
	state.Segments = append(state.Segments, next)
	state.NextSegmentID++
	return state, m.CommitState(state)
}

// recoverSeal reports whether the log's last segment ends with an intact index
// block, and if so notes that in tail. A torn one is erased: raft-wal would take
// the segment for sealed by it.
func recoverSeal(dir string, tail *types.SegmentInfo) (sealed bool, err error) {
	fs := walfs.New()
	w, err := segment.NewFiler(dir, fs).RecoverTail(*tail)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil // raft-wal creates it
	}
	if err != nil {
		return false, err
	}
	defer w.Close()
	sealed, indexStart, err := w.Sealed()
	if err != nil || !sealed {
		return false, err
	}
	f, err := fs.OpenWriter(dir, segment.FileName(*tail))
	if err != nil {
		return false, err
	}
	defer f.Close()
	intact, err := intactIndex(f, int64(indexStart), w.LastIndex()+1-tail.BaseIndex)
	if err != nil {
		return false, err
	}
	if !intact {
		return false, eraseFrame(f, int64(indexStart)-frameHeaderBytes)
	}
	tail.MaxIndex, tail.IndexStart, tail.SealTime = w.LastIndex(), indexStart, time.Now()
	return true, nil
}

// intactIndex reports whether the index block whose array begins at indexStart
// lists the offsets of the entries before it, and these are the recovered ones.
func intactIndex(r io.ReaderAt, indexStart int64, recovered uint64) (bool, error) {
	offsets, err := entryOffsets(r, indexStart-frameHeaderBytes)
	if err != nil || uint64(len(offsets)) != recovered {
		return false, err
	}
	want := appendFrameHeader(nil, segment.FrameIndex, uint32(len(offsets)*4))
	for _, o := range offsets {
		want = binary.LittleEndian.AppendUint32(want, o)
	}
	got := make([]byte, len(want))
	if _, err := r.ReadAt(got, indexStart-frameHeaderBytes); err != nil && err != io.EOF {
		return false, err
	}
	return slices.Equal(got, want), nil
}

// entryOffsets returns where the entries in front of end begin.
func entryOffsets(r io.ReaderAt, end int64) ([]uint32, error) {
	var offsets []uint32
	var header [frameHeaderBytes]byte
	for off := int64(segmentHeaderBytes); off < end; off += frameHeaderBytes {
		if _, err := r.ReadAt(header[:], off); err != nil {
			return nil, err
		}
		if header[0] == segment.FrameEntry {
			offsets = append(offsets, uint32(off))
			length := int64(binary.LittleEndian.Uint32(header[4:]))
			off += (length + frameHeaderBytes - 1) / frameHeaderBytes * frameHeaderBytes
		}
	}
	return offsets, nil
}

func appendFrameHeader(b []byte, kind byte, length uint32) []byte {
	return binary.LittleEndian.AppendUint32(append(b, kind, 0, 0, 0), length)
}

// eraseFrame makes recovery end in front of the frame at off.
func eraseFrame(f types.WritableFile, off int64) error {
	if _, err := f.WriteAt(make([]byte, frameHeaderBytes), off); err != nil {
		return err
	}
	return f.Sync()
}
