package shard

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/ringraft/ringraft/internal/bubble"
)

// blankFSM has states of zeros.
type blankFSM struct {
	raft.BatchingFSM
	state int64 // bytes
}

func (f blankFSM) Snapshot() (raft.FSMSnapshot, error) { return f, nil }
func (blankFSM) Release()                              {}

// Persist writes the state as a state machine does, some at a time.
func (f blankFSM) Persist(sink raft.SnapshotSink) error {
	part := make([]byte, 64<<10)
	for left := f.state; left > 0; left -= int64(len(part)) {
		if _, err := sink.Write(part[:min(left, int64(len(part)))]); err != nil {
			return err
		}
	}
	return sink.Close()
}

// countingSink counts what is written.
type countingSink struct {
	written int64
	closed  bool
}

func (s *countingSink) Write(b []byte) (int, error) { s.written += int64(len(b)); return len(b), nil }
func (s *countingSink) Close() error                { s.closed = true; return nil }
func (s *countingSink) Cancel() error               { return nil }
func (s *countingSink) ID() string                  { return "" }

// writeSnapshots writes snapshots of states of those bytes at once, until ctx ends at
// their pace, and returns how long that took.
func writeSnapshots(ctx context.Context, t *testing.T, states ...int64) time.Duration {
	t.Helper()
	var p snapshotPace
	var wg sync.WaitGroup
	start := time.Now()
	for _, state := range states {
		wg.Go(func() {
			f := pacedFSM{
				BatchingFSM: blankFSM{state: state}, pace: &p, state: func() int64 { return state },
				wait: func(n int) { p.wait(ctx, n) },
			}
			snapshot, err := f.Snapshot()
			if err != nil {
				t.Error(err)
				return
			}
			var sink countingSink
			if err := snapshot.Persist(&sink); err != nil || sink.written != state || !sink.closed {
				t.Errorf("%v; %d bytes written of %d, closed: %v", err, sink.written, state, sink.closed)
			}
			snapshot.Release()
		})
	}
	wg.Wait()
	if p.states != 0 {
		t.Errorf("%d bytes are still counted", p.states)
	}
	return time.Since(start)
}

func TestSnapshotsShareAPace(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		states      []int64
		least, most time.Duration
	}{
		"a small one waits for nothing":          {[]int64{60 << 10}, 0, 0},
		"one":                                    {[]int64{10 * leastPace}, 9900 * time.Millisecond, 10 * time.Second},
		"four share it":                          {[]int64{leastPace, leastPace, leastPace, leastPace}, 3900 * time.Millisecond, 4 * time.Second},
		"large ones take no longer than that":    {[]int64{100 * leastPace, 50 * leastPace}, 50 * time.Second, 80 * time.Second},
		"a larger one makes the small one hurry": {[]int64{200 * leastPace, leastPace}, 59 * time.Second, 61 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble.Test(t, func(t *testing.T) {
				if took := writeSnapshots(t.Context(), t, tc.states...); took < tc.least || took > tc.most {
					t.Errorf("%v, want %v to %v", took, tc.least, tc.most)
				}
			})
		})
	}
}

// TestSnapshotOfAStoppingReplicaHurries cancels what the pace waits for.
func TestSnapshotOfAStoppingReplicaHurries(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if took := writeSnapshots(ctx, t, 50*leastPace); took != time.Second {
			t.Errorf("it took %v, want no more than until the stop", took)
		}
	})
}
