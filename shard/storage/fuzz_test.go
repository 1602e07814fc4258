package storage

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/cespare/xxhash/v2"
)

// FuzzSavedMap: what stands in the file is either the map that was saved, or damage.
func FuzzSavedMap(f *testing.F) {
	f.Add([]byte{})
	f.Add(binary.BigEndian.AppendUint64([]byte("map"), xxhash.Sum64([]byte("map"))))
	f.Fuzz(func(t *testing.T, b []byte) {
		d := &Dir{path: t.TempDir()}
		if err := os.WriteFile(filepath.Join(d.path, mapFile), b, fileMode); err != nil {
			t.Fatal(err)
		}
		m, err := d.LoadMap()
		if err != nil {
			if !errors.Is(err, ErrDamaged) {
				t.Fatalf("%v is not called damage", err)
			}
			return
		}
		if !bytes.Equal(binary.BigEndian.AppendUint64(bytes.Clone(m), xxhash.Sum64(m)), b) {
			t.Fatalf("%x was read as %x", b, m)
		}
	})
}

// FuzzSegmentFrames: a segment's frames are found or refused, whatever they say.
func FuzzSegmentFrames(f *testing.F) {
	f.Add(make([]byte, 64), uint16(40))
	f.Add(appendFrameHeader(make([]byte, 32), 1, 1<<31), uint16(32))
	f.Fuzz(func(t *testing.T, b []byte, index uint16) {
		r := bytes.NewReader(b)
		offsets, err := entryOffsets(r, int64(len(b)))
		if err != nil {
			return
		}
		for _, o := range offsets {
			if int(o) >= len(b) {
				t.Fatalf("an entry at %d in a segment of %d bytes", o, len(b))
			}
		}
		if intact, err := intactIndex(r, int64(index), 1); intact && (err != nil || int(index) > len(b)) {
			t.Fatalf("an index at %d of %d bytes is intact, %v", index, len(b), err)
		}
	})
}
