package storage

import (
	"errors"
	"fmt"
	"sync"

	"github.com/hashicorp/raft"
)

// ReplicaID names a replica of this node.
type ReplicaID struct{ Group, Generation uint64 }

func (id ReplicaID) String() string { return fmt.Sprintf("%d.%d", id.Group, id.Generation) }

// Replica is what the Raft instance of a replica writes. Shut that down before Close.
type Replica struct {
	Logs      raft.LogStore // also a raft.MonotonicLogStore
	Stable    raft.StableStore
	Snapshots raft.SnapshotStore

	id      ReplicaID
	gates   []*gate
	close   func() error
	closing sync.Once
	closed  error
}

// newReplica puts the stores behind their gates. The function close frees what the
// stores hold.
func newReplica(id ReplicaID, cfg Config, w *watchdog, logs logStore, stable raft.StableStore, snapshots raft.SnapshotStore, close func() error) *Replica {
	logGate := &gate{name: "log of replica " + id.String(), log: cfg.Logger, watchdog: w}
	stableGate := &gate{name: "stable store of replica " + id.String(), log: cfg.Logger, watchdog: w}
	return &Replica{
		Logs:      gatedLogs{logs, logGate},
		Stable:    gatedStable{stable, stableGate},
		Snapshots: snapshots,
		id:        id,
		gates:     []*gate{logGate, stableGate},
		close:     close,
	}
}

// WriteError returns the error of the last write to the log or to the stable
// store, nil if it succeeded. As long as it is not nil the replica should not lead.
func (r *Replica) WriteError() error {
	for _, g := range r.gates {
		if err := g.writeError(); err != nil {
			return err
		}
	}
	return nil
}

// Close waits for writes under way and closes the stores; later writes return
// ErrClosed. It may be called again.
func (r *Replica) Close() error {
	r.closing.Do(func() {
		for _, g := range r.gates {
			g.shut()
		}
		if err := r.close(); err != nil {
			r.closed = fmt.Errorf("close replica %s: %w", r.id, err)
		}
	})
	return r.closed
}

// isClosed reports whether Close has begun.
func (r *Replica) isClosed() bool { return r.gates[0].isShut() }

// replicaSet holds the replicas that are open. The owner locks it. nil is closed.
type replicaSet map[ReplicaID]*Replica

func (s *replicaSet) open(id ReplicaID, open func(ReplicaID) (*Replica, error)) (*Replica, error) {
	if *s == nil {
		return nil, fmt.Errorf("open replica %s: %w", id, ErrClosed)
	}
	if r := (*s)[id]; r != nil && !r.isClosed() {
		return nil, fmt.Errorf("open replica %s: it is open already", id)
	}
	r, err := open(id)
	if err != nil {
		return nil, fmt.Errorf("open replica %s: %w", id, err)
	}
	(*s)[id] = r
	return r, nil
}

func (s *replicaSet) writeError() error {
	for id, r := range *s {
		if err := r.WriteError(); err != nil {
			return fmt.Errorf("replica %s: %w", id, err)
		}
	}
	return nil
}

func (s *replicaSet) close() error {
	var errs []error
	for _, r := range *s {
		errs = append(errs, r.Close())
	}
	*s = nil
	return errors.Join(errs...)
}
