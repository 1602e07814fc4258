package storage

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/hashicorp/raft"
)

// memorySnapshots keeps the newest snapshots in memory. Unlike Raft's own, it shows
// a snapshot only once it is whole, and holds as many as the one on disk.
type memorySnapshots struct {
	mu       sync.Mutex
	created  int              // makes ids unique
	finished []memorySnapshot // newest first
}

type memorySnapshot struct {
	meta  raft.SnapshotMeta
	state []byte
}

func (s *memorySnapshots) Create(version raft.SnapshotVersion, index, term uint64, configuration raft.Configuration, configurationIndex uint64, _ raft.Transport) (raft.SnapshotSink, error) {
	if version != raft.SnapshotVersionMax {
		return nil, fmt.Errorf("create snapshot: version %d is not supported", version)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.created++
	return &memorySink{store: s, meta: raft.SnapshotMeta{
		Version:            version,
		ID:                 fmt.Sprintf("%d-%d-%d", term, index, s.created),
		Index:              index,
		Term:               term,
		Configuration:      configuration.Clone(),
		ConfigurationIndex: configurationIndex,
	}}, nil
}

func (s *memorySnapshots) List() ([]*raft.SnapshotMeta, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	metas := make([]*raft.SnapshotMeta, len(s.finished))
	for i := range s.finished {
		meta := s.finished[i].meta
		metas[i] = &meta
	}
	return metas, nil
}

func (s *memorySnapshots) Open(id string) (*raft.SnapshotMeta, io.ReadCloser, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, snapshot := range s.finished {
		if snapshot.meta.ID == id {
			return &snapshot.meta, io.NopCloser(bytes.NewReader(snapshot.state)), nil
		}
	}
	return nil, nil, fmt.Errorf("open snapshot %s: there is none", id)
}

func (s *memorySnapshots) add(snapshot memorySnapshot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.finished = append([]memorySnapshot{snapshot}, s.finished...)
	slices.SortStableFunc(s.finished, func(a, b memorySnapshot) int {
		return cmp.Or(cmp.Compare(b.meta.Term, a.meta.Term), cmp.Compare(b.meta.Index, a.meta.Index))
	})
	s.finished = s.finished[:min(len(s.finished), retainSnapshots)]
}

// memorySink collects one snapshot. It has one writer.
type memorySink struct {
	store *memorySnapshots
	meta  raft.SnapshotMeta
	state bytes.Buffer
	done  bool
}

func (s *memorySink) ID() string { return s.meta.ID }

func (s *memorySink) Write(p []byte) (int, error) {
	if s.done {
		return 0, errors.New("write snapshot: it is finished")
	}
	return s.state.Write(p)
}

func (s *memorySink) Close() error {
	if !s.done {
		s.done = true
		s.meta.Size = int64(s.state.Len())
		s.store.add(memorySnapshot{s.meta, s.state.Bytes()})
	}
	return nil
}

func (s *memorySink) Cancel() error {
	s.done = true
	return nil
}
