package storage

import (
	"sync"

	"github.com/hashicorp/raft"
)

// Memory has the methods of [Dir] and keeps everything in memory. Its content
// outlives Close, as a directory does: open the replicas again to restart the node.
type Memory struct {
	cfg      Config
	watchdog *watchdog
	fault    func(what string) error

	mu         sync.Mutex
	identity   Identity
	quarantine map[uint64]string
	born       map[ReplicaID]bool
	clusterMap []byte
	fullError  error
	content    map[ReplicaID]*memoryContent
	replicas   replicaSet
}

// memoryContent is what a replica has stored.
type memoryContent struct {
	store     *raft.InmemStore // log and stable store
	snapshots *memorySnapshots
}

// NewMemory returns the empty storage of a new node. If fault is not nil, every
// write to a log or stable store calls it first with what is being written: it may
// return an error, as a full disk does, or wait, as a hung one does.
func NewMemory(cfg Config, fault func(what string) error) (*Memory, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Memory{
		cfg:        cfg,
		watchdog:   newWatchdog(cfg),
		fault:      fault,
		identity:   newIdentity(cfg.Node, cfg.Log),
		quarantine: make(map[uint64]string),
		born:       make(map[ReplicaID]bool),
		content:    make(map[ReplicaID]*memoryContent),
		replicas:   replicaSet{},
	}, nil
}

// Identity is as for [Dir].
func (m *Memory) Identity() Identity {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.identity.clone()
}

// Form is as for [Dir].
func (m *Memory) Form(cluster string, members map[string]string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	formed, err := m.identity.formed(cluster, members)
	if err == nil {
		m.identity = formed
	}
	return err
}

// OpenReplica is as for [Dir].
func (m *Memory) OpenReplica(group, generation uint64) (*Replica, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.replicas.open(ReplicaID{group, generation}, m.openContent)
}

func (m *Memory) openContent(id ReplicaID) (*Replica, error) {
	c := m.content[id]
	if c == nil {
		c = &memoryContent{raft.NewInmemStore(), &memorySnapshots{}}
		m.content[id] = c
	}
	r := newReplica(id, m.cfg, m.watchdog, contiguousLogs{c.store}, c.store, c.snapshots, func() error { return nil })
	for _, g := range r.gates {
		g.fault = m.fault
	}
	return r, nil
}

// Quarantine is as for [Dir].
func (m *Memory) Quarantine(group uint64, reason string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.quarantine[group] = boundReason(reason)
	return nil
}

// Quarantined is as for [Dir].
func (m *Memory) Quarantined(group uint64) (reason string, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	reason, ok = m.quarantine[group]
	return reason, ok
}

// Stalled is as for [Dir].
func (m *Memory) Stalled() bool { return m.watchdog.stalled() }

// WriteError is as for [Dir].
func (m *Memory) WriteError() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.replicas.writeError()
}

// Close closes the replicas: a Raft instance that lives on writes nothing more.
func (m *Memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	err := m.replicas.close()
	m.watchdog.wait()
	m.replicas = replicaSet{}
	return err
}
