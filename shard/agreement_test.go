package shard

import (
	"cmp"
	"context"
	"encoding/gob"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/ringraft/ringraft/internal/bubble"
	"github.com/ringraft/ringraft/shard/storage"
)

// TestReplicasAgreeWhateverBecomesOfTheirDisks, links and processes: no two apply different entries
// at one index, and once all is well each has all that any of them ever applied. What callers were
// told is done is part of that, since a leader tells them once it has applied it.
//
// A seed determines what is done, but not when Raft stands for election: a failure may need
// the same seed several times.
func TestReplicasAgreeWhateverBecomesOfTheirDisks(t *testing.T) {
	for _, size := range []int{3, 5} {
		for seed := range uint64(20) {
			snapshotAfter := []uint64{1 << 20, 40}[seed%2]
			t.Run(fmt.Sprintf("%d replicas, snapshots after %d entries, seed %d", size, snapshotAfter, seed), func(t *testing.T) {
				bubble.Test(t, func(t *testing.T) { agree(t, size, seed, staging{snapshotAfter: snapshotAfter}) })
			})
		}
	}
}

// TestReplicasAgreeOnEveryLog is the same on disks, where each start recovers the log.
func TestReplicasAgreeOnEveryLog(t *testing.T) {
	for _, kind := range storage.LogKinds() {
		for seed := range uint64(4) {
			snapshotAfter := []uint64{1 << 20, 40}[seed%2]
			t.Run(fmt.Sprintf("%s, snapshots after %d entries, seed %d", kind, snapshotAfter, seed), func(t *testing.T) {
				bubble.Test(t, func(t *testing.T) { agree(t, 3, seed, staging{snapshotAfter: snapshotAfter, log: kind}) })
			})
		}
	}
}

func agree(t *testing.T, size int, seed uint64, s staging) {
	all := newAnnals(t)
	s.machine = func(node string) machine { return &history{node: node, annals: all} }
	n := &nemesis{random: rand.New(rand.NewPCG(seed, 0)), ensemble: newEnsemble(t, size, s)}
	defer n.close()
	for range 150 {
		if n.strike(); t.Failed() {
			return
		}
	}
	if n.forgotten == 0 {
		t.Error("no leader crashed without entries that a majority had with it: this proves little")
	}
	n.heal()
	end := n.end()
	want := until(all.deeds(), end)
	for _, node := range n.nodes {
		if got := until(n.replicas[node].machine.(*history).deeds(), end); !slices.Equal(got, want) {
			t.Errorf("in the end %s has applied\n%v, all together\n%v", node, got, want)
		}
	}
}

// deed is an entry that was applied.
type deed struct {
	Index, Term uint64
	Command     string
}

func (d deed) String() string {
	return fmt.Sprintf("%d of term %d: %q", d.Index, d.Term, d.Command)
}

// until returns those of deeds that go up to an index.
func until(deeds []deed, index uint64) []deed {
	return slices.DeleteFunc(deeds, func(d deed) bool { return d.Index > index })
}

// annals are what the replicas of a group have applied, one or another of them.
type annals struct {
	t *testing.T

	mu      sync.Mutex
	entries map[uint64]deed // by index
}

func newAnnals(t *testing.T) *annals { return &annals{t: t, entries: map[uint64]deed{}} }

// note takes down what a replica applies. The test fails if another has applied something else there.
func (a *annals) note(node string, d deed) {
	a.mu.Lock()
	defer a.mu.Unlock()
	was, known := a.entries[d.Index]
	if known && was != d {
		a.t.Errorf("%s applies %v, and another applied %v", node, d, was)
		return
	}
	a.entries[d.Index] = d
}

// deeds returns what was applied anywhere, by index.
func (a *annals) deeds() []deed {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.SortedFunc(maps.Values(a.entries), func(x, y deed) int { return cmp.Compare(x.Index, y.Index) })
}

// history is a state machine whose state is all that it has applied.
type history struct {
	node   string
	annals *annals

	mu   sync.Mutex
	done []deed
}

// Apply keeps an entry.
func (h *history) Apply(entry *raft.Log) any {
	d := deed{entry.Index, entry.Term, string(entry.Data)}
	h.annals.note(h.node, d)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.done = append(h.done, d)
	return nil
}

// ApplyBatch keeps entries.
func (h *history) ApplyBatch(entries []*raft.Log) []any {
	for _, entry := range entries {
		h.Apply(entry)
	}
	return make([]any, len(entries))
}

func (h *history) deeds() []deed {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.done)
}

// Applied returns the last index applied, 0 for none.
func (h *history) Applied() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.done) == 0 {
		return 0
	}
	return h.done[len(h.done)-1].Index
}

// Wait returns when index is applied, or with ctx's error.
func (h *history) Wait(ctx context.Context, index uint64) error {
	for h.Applied() < index {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
	return nil
}

// Snapshot returns all that was applied.
func (h *history) Snapshot() (raft.FSMSnapshot, error) { return writtenHistory(h.deeds()), nil }

type writtenHistory []deed

func (w writtenHistory) Persist(sink raft.SnapshotSink) error {
	if err := gob.NewEncoder(sink).Encode(w); err != nil {
		return err
	}
	return sink.Close()
}

func (w writtenHistory) Release() {}

// Restore replaces what was applied.
func (h *history) Restore(snapshot io.ReadCloser) error {
	var done []deed
	if err := gob.NewDecoder(snapshot).Decode(&done); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.done = done
	return nil
}
