package storage

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

const bornEnd = ".born"

// Born reports whether MarkBorn was called for a replica: it has been bootstrapped
// here once, so that if its files are gone it has lost its state and must not vote.
// A mark that cannot be looked at counts.
func (d *Dir) Born(group, generation uint64) bool {
	_, err := os.Lstat(d.bornFile(group, generation))
	return !errors.Is(err, fs.ErrNotExist)
}

// MarkBorn remembers, beside the replica's files, that it has been bootstrapped.
func (d *Dir) MarkBorn(group, generation uint64) error {
	return writeAtomic(d.bornFile(group, generation), nil)
}

func (d *Dir) bornFile(group, generation uint64) string {
	return filepath.Join(d.path, groupsDir, ReplicaID{group, generation}.String()+bornEnd)
}

// Born is as for [Dir].
func (m *Memory) Born(group, generation uint64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.born[ReplicaID{group, generation}]
}

// MarkBorn is as for [Dir].
func (m *Memory) MarkBorn(group, generation uint64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.born[ReplicaID{group, generation}] = true
	return nil
}
