package shard

import (
	"context"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// snapshotPace spreads the writing of a node's snapshots over time, which would otherwise take the
// processor and the disk from those whom the node serves. It lets leastPace bytes through
// in a second, or as many as it takes to be done within longestWriting. The zero value is
// ready.
type snapshotPace struct {
	mu     sync.Mutex
	states int64     // logical bytes of the states of which snapshots are being written
	due    time.Time // when what has been let through may have been written
}

const (
	leastPace      = 8 << 20 // bytes/s
	longestWriting = time.Minute

	// leastPause is what a timer is worth. Small snapshots never wait.
	leastPause = 2 * time.Millisecond
)

// begin says that a snapshot is being written of a state of so many bytes, end that it is
// no more.
func (p *snapshotPace) begin(state int64) { p.count(state) }
func (p *snapshotPace) end(state int64)   { p.count(-state) }

func (p *snapshotPace) count(state int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.states += state
}

// reserve returns how long to wait before n bytes are written.
func (p *snapshotPace) reserve(n int) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if p.due.Before(now) {
		p.due = now
	}
	wait := p.due.Sub(now)
	perSecond := max(leastPace, float64(p.states)/longestWriting.Seconds())
	p.due = p.due.Add(time.Duration(float64(n) / perSecond * float64(time.Second)))
	return wait
}

// wait returns when n more bytes may be written, or ctx ends.
func (p *snapshotPace) wait(ctx context.Context, n int) {
	wait := p.reserve(n)
	if wait < leastPause {
		return
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// pacedFSM is a state machine whose snapshots are written at a pace.
type pacedFSM struct {
	raft.BatchingFSM
	pace  *snapshotPace
	state func() int64 // bytes
	wait  func(n int)  // before n bytes are written
}

func (f pacedFSM) Snapshot() (raft.FSMSnapshot, error) {
	s, err := f.BatchingFSM.Snapshot()
	if err != nil {
		return nil, err
	}
	return pacedSnapshot{s, f}, nil
}

type pacedSnapshot struct {
	raft.FSMSnapshot
	fsm pacedFSM
}

func (s pacedSnapshot) Persist(sink raft.SnapshotSink) error {
	state := s.fsm.state()
	s.fsm.pace.begin(state)
	defer s.fsm.pace.end(state)
	return s.FSMSnapshot.Persist(pacedSink{sink, s.fsm.wait})
}

type pacedSink struct {
	raft.SnapshotSink
	wait func(n int)
}

func (s pacedSink) Write(b []byte) (int, error) {
	s.wait(len(b))
	return s.SnapshotSink.Write(b)
}
