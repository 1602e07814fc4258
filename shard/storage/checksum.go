package storage

import (
	"encoding/binary"
	"fmt"

	"github.com/cespare/xxhash/v2"
	"github.com/hashicorp/raft"

	"github.com/ringraft/ringraft/internal/mutant"
)

const checksumBytes = 8

// checkedLogs puts a checksum behind the extensions of every entry and verifies it
// on the way back. raft-wal has checksums too but looks at that of the last batch
// only, at open, and trusts the index blocks that say where an entry lies.
type checkedLogs struct{ logStore }

// GetLog returns ErrDamaged for an entry that is not the one that was stored.
func (l checkedLogs) GetLog(index uint64, entry *raft.Log) error {
	var got raft.Log
	if err := l.logStore.GetLog(index, &got); err != nil {
		return err
	}
	if !removeChecksum(&got) || got.Index != index {
		return fmt.Errorf("log entry %d: %w; %s", index, ErrDamaged, adviseRestore)
	}
	*entry = got
	return nil
}

func (l checkedLogs) StoreLog(entry *raft.Log) error { return l.StoreLogs([]*raft.Log{entry}) }

func (l checkedLogs) StoreLogs(entries []*raft.Log) error {
	copies := make([]raft.Log, len(entries)) // Raft sends its own to other replicas
	stored := make([]*raft.Log, len(entries))
	for i, e := range entries {
		copies[i] = *e
		appendChecksum(&copies[i])
		stored[i] = &copies[i]
	}
	return l.logStore.StoreLogs(stored)
}

func appendChecksum(e *raft.Log) {
	ext := make([]byte, len(e.Extensions), len(e.Extensions)+checksumBytes)
	copy(ext, e.Extensions)
	e.Extensions = binary.LittleEndian.AppendUint64(ext, checksum(e))
}

// removeChecksum takes the checksum off and reports whether it is the entry's.
func removeChecksum(e *raft.Log) bool {
	n := len(e.Extensions) - checksumBytes
	if n < 0 {
		return false
	}
	want := binary.LittleEndian.Uint64(e.Extensions[n:])
	if e.Extensions = e.Extensions[:n]; n == 0 {
		e.Extensions = nil
	}
	return checksum(e) == want || mutant.SkipLogChecksum
}

// checksum covers all that matters: AppendedAt tells people how old an entry is.
func checksum(e *raft.Log) uint64 {
	var head [25]byte
	binary.LittleEndian.PutUint64(head[0:], e.Index)
	binary.LittleEndian.PutUint64(head[8:], e.Term)
	binary.LittleEndian.PutUint64(head[16:], uint64(len(e.Data)))
	head[24] = byte(e.Type)
	var d xxhash.Digest
	d.Reset()
	_, _ = d.Write(head[:]) // never fails
	_, _ = d.Write(e.Data)
	_, _ = d.Write(e.Extensions)
	return d.Sum64()
}
