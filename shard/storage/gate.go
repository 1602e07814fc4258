package storage

import (
	"log/slog"
	"sync"

	"github.com/hashicorp/raft"
)

// gate is what every write to a store passes: it is timed, its error is noted, and
// none passes after shut.
type gate struct {
	name     string
	log      *slog.Logger
	watchdog *watchdog
	fault    func(what string) error // of a simulated disk, or nil

	// passing is held for reading by writes under way, for writing by shut. It is
	// apart from mu, so that a hung write hides neither the error nor isShut.
	passing sync.RWMutex

	mu     sync.Mutex
	closed bool
	err    error // of the last write
}

func (g *gate) write(f func() error) error {
	g.passing.RLock()
	defer g.passing.RUnlock()
	if g.isShut() {
		return ErrClosed
	}
	if g.fault != nil {
		f = g.faulty(f)
	}
	err := g.watchdog.time(g.name, f)
	g.mu.Lock()
	was := g.err
	g.err = err
	g.mu.Unlock()
	g.report(was, err)
	return err
}

// report logs where writes begin to fail, and where they succeed again. The error
// that a follower's write returns is seen by nobody else: Raft tries again.
func (g *gate) report(was, now error) {
	switch {
	case was == nil && now != nil:
		g.log.Error("writes fail", "to", g.name, "err", now)
	case was != nil && now == nil:
		g.log.Info("writes succeed again", "to", g.name)
	}
}

func (g *gate) faulty(f func() error) func() error {
	return func() error {
		if err := g.fault(g.name); err != nil {
			return err
		}
		return f()
	}
}

// shut lets no more writes in and waits for those under way.
func (g *gate) shut() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.passing.Lock()
	defer g.passing.Unlock()
}

func (g *gate) isShut() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.closed
}

func (g *gate) writeError() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.err
}

// logStore is a log without gaps.
type logStore interface {
	raft.LogStore
	raft.MonotonicLogStore
}

// gatedLogs is a log whose writes pass a gate.
type gatedLogs struct {
	logStore
	gate *gate
}

func (l gatedLogs) StoreLog(entry *raft.Log) error { return l.StoreLogs([]*raft.Log{entry}) }

func (l gatedLogs) StoreLogs(entries []*raft.Log) error {
	return l.gate.write(func() error { return l.logStore.StoreLogs(entries) })
}

func (l gatedLogs) DeleteRange(min, max uint64) error {
	return l.gate.write(func() error { return l.logStore.DeleteRange(min, max) })
}

// gatedStable is a stable store whose writes pass a gate.
type gatedStable struct {
	raft.StableStore
	gate *gate
}

func (s gatedStable) Set(key, value []byte) error {
	return s.gate.write(func() error { return s.StableStore.Set(key, value) })
}

func (s gatedStable) SetUint64(key []byte, value uint64) error {
	return s.gate.write(func() error { return s.StableStore.SetUint64(key, value) })
}
