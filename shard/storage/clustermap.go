package storage

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/cespare/xxhash/v2"
)

const (
	mapFile = "cluster-map"
	// maxMap bounds the encoded cluster map, in bytes.
	maxMap = 16 << 20
)

// SaveMap keeps the last cluster map that the node knew, followed on disk by its
// xxhash64.
func (d *Dir) SaveMap(encoded []byte) error {
	sealed := binary.BigEndian.AppendUint64(bytes.Clone(encoded), xxhash.Sum64(encoded))
	if err := writeAtomic(filepath.Join(d.path, mapFile), sealed); err != nil {
		return fmt.Errorf("save the cluster map: %w", err)
	}
	return nil
}

// LoadMap returns what SaveMap kept, nil if it never did.
func (d *Dir) LoadMap() ([]byte, error) {
	b, err := readBounded(filepath.Join(d.path, mapFile), maxMap)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	n := len(b) - checksumBytes
	if n < 0 || binary.BigEndian.Uint64(b[n:]) != xxhash.Sum64(b[:n]) {
		return nil, fmt.Errorf("data directory %s: %s: %w: wrong checksum; %s", d.path, mapFile, ErrDamaged, adviseRestore)
	}
	return b[:n], nil
}

// SaveMap is as for [Dir].
func (m *Memory) SaveMap(encoded []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.clusterMap = bytes.Clone(encoded)
	return nil
}

// LoadMap is as for [Dir].
func (m *Memory) LoadMap() ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.clusterMap, nil
}
