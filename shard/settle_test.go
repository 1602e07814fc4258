package shard

import (
	"fmt"
	"io"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/ringraft/ringraft/internal/bubble"
	"github.com/ringraft/ringraft/op"
	"github.com/ringraft/ringraft/placement"
	"github.com/ringraft/ringraft/shard/storage"
	"github.com/ringraft/ringraft/transport/peer"
)

func TestSettleLogRepairsOnlyAConflict(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		index, term uint64
		want        []uint64 // terms of the entries from 3 on
	}{
		"entry of another term":   {5, 4, []uint64{2, 2, 4, 2, 2}},
		"entry of that term":      {5, 2, []uint64{2, 2, 2, 2, 2}},
		"the last entry":          {7, 4, []uint64{2, 2, 2, 2, 4}},
		"snapshot behind the log": {9, 4, []uint64{2, 2, 2, 2, 2}},
		"snapshot before the log": {2, 4, []uint64{2, 2, 2, 2, 2}},
	} {
		t.Run(name, func(t *testing.T) {
			logs := raft.NewInmemStore()
			for i := uint64(3); i <= 7; i++ {
				if err := logs.StoreLog(&raft.Log{Index: i, Term: 2, Type: raft.LogCommand}); err != nil {
					t.Fatal(err)
				}
			}
			if err := settleLog(logs, tc.index, tc.term); err != nil {
				t.Fatal(err)
			}
			var got []uint64
			for i := uint64(3); i <= 7; i++ {
				var l raft.Log
				if err := logs.GetLog(i, &l); err != nil {
					t.Fatalf("entry %d: %v", i, err)
				}
				got = append(got, l.Term)
				if l.Term == 4 && l.Type != raft.LogNoop {
					t.Errorf("entry %d is a %v, want a no-op", i, l.Type)
				}
			}
			if fmt.Sprint(got) != fmt.Sprint(tc.want) {
				t.Errorf("terms %v, want %v", got, tc.want)
			}
		})
	}
}

func TestSettleLogOfAnEmptyLog(t *testing.T) {
	t.Parallel()
	if err := settleLog(raft.NewInmemStore(), 9, 1); err != nil {
		t.Errorf("got %v, want nil", err)
	}
}

func TestGapLogsDropWhatDoesNotConnect(t *testing.T) {
	t.Parallel()
	inner := raft.NewInmemStore()
	logs := gapLogs{inner}
	for _, i := range []uint64{1, 2, 3, 10, 11} {
		if err := logs.StoreLog(&raft.Log{Index: i, Term: 1}); err != nil {
			t.Fatal(err)
		}
	}
	first, _ := logs.FirstIndex()
	last, _ := logs.LastIndex()
	if first != 10 || last != 11 {
		t.Errorf("the log is [%d, %d], want [10, 11]", first, last)
	}
	if err := logs.StoreLog(&raft.Log{Index: 11, Term: 2}); err != nil {
		t.Fatal(err)
	}
	if first, _ := logs.FirstIndex(); first != 10 {
		t.Errorf("an overwritten entry made the log begin at %d", first)
	}
}

// restoreCounter counts the snapshots that a state machine has restored.
type restoreCounter struct {
	*metaFSM
	restored atomic.Int32
}

func (c *restoreCounter) Restore(snapshot io.ReadCloser) error {
	if c.restored.Add(1) > 1 {
		time.Sleep(time.Second) // without a pause, fake time would never go on
	}
	return c.metaFSM.Restore(snapshot)
}

// TestSnapshotIsInstalledOnce stages what a follower's log may be when the leader's begins
// behind its snapshot. Raft would have the snapshot installed again and again.
func TestSnapshotIsInstalledOnce(t *testing.T) {
	const base, term = 100, 3 // where the leader's snapshot ends
	for name, stray := range map[string]func(*testing.T, *storage.Replica){
		"a deposed leader's entries, at the snapshot's end and behind": func(t *testing.T, st *storage.Replica) {
			stageLog(t, st, 1, base+20, term-1)
		},
		"a deposed leader's entries, up to the snapshot's end": func(t *testing.T, st *storage.Replica) {
			stageLog(t, st, 1, base, term-1)
		},
		"the same snapshot, and entries of a deposed leader": func(t *testing.T, st *storage.Replica) {
			stageSnapshot(t, st, base, term)
			stageLog(t, st, base+1, base+3, term)
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) { installOnce(t, base, term, stray) })
		})
	}
}

func installOnce(t *testing.T, base, term uint64, stray func(*testing.T, *storage.Replica)) {
	last := base + 5
	fabric := peer.NewFabric()
	machines := map[string]*restoreCounter{}
	for _, id := range []string{"n1", "n2", "n3"} {
		store, err := storage.NewMemory(storage.Config{Node: id}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := store.MarkBorn(metaGroup, 1); err != nil {
			t.Fatal(err)
		}
		st, err := store.OpenReplica(metaGroup, 1)
		if err != nil {
			t.Fatal(err)
		}
		if id == "n3" {
			stray(t, st)
		} else {
			stageSnapshot(t, st, base, term)
			stageLog(t, st, base+1, last, term+1)
		}
		if err := st.Close(); err != nil {
			t.Fatal(err)
		}
		self := peer.Identity{Cluster: "c", Node: id, Incarnation: id}
		net, err := fabric.Network(peer.Config{Self: self})
		if err != nil {
			t.Fatal(err)
		}
		machines[id] = &restoreCounter{metaFSM: newMetaFSM(func(placement.Map) {})}
		r, err := openReplica(replicaConfig{
			group: metaGroup, self: placement.Replica{Node: id, Generation: 1}, store: store,
			peers: fabricPeers{net}, machine: machines[id], takeover: func() []byte { return op.EncodeDetail(metaCommand{}) },
			log: slog.New(slog.DiscardHandler), timing: Timing{}.withDefaults(), snapshotAfter: 16384,
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			net.Close()
			r.close()
		})
	}
	follower := machines["n3"]
	for stop := time.Now().Add(time.Minute); follower.Applied() <= last; time.Sleep(100 * time.Millisecond) {
		if time.Now().After(stop) {
			t.Fatalf("the follower applied %d, want more than %d; it restored %d snapshots", follower.Applied(), last, follower.restored.Load())
		}
	}
	time.Sleep(10 * time.Second)
	if n := follower.restored.Load(); n != 1 {
		t.Errorf("the follower restored %d snapshots, want one", n)
	}
}

type fabricPeers struct{ *peer.Network }

func (fabricPeers) Join(string) {}

func stagedConfiguration() raft.Configuration {
	return raft.Configuration{Servers: metaServers(map[string]string{"n1": "", "n2": "", "n3": ""})}
}

// stageLog writes entries first to last of a term; index 1 is the configuration.
func stageLog(t *testing.T, st *storage.Replica, first, last, term uint64) {
	t.Helper()
	for i := first; i <= last; i++ {
		l := &raft.Log{Index: i, Term: term, Type: raft.LogCommand, Data: op.EncodeDetail(metaCommand{})}
		if i == 1 {
			l.Type, l.Term, l.Data = raft.LogConfiguration, 1, raft.EncodeConfiguration(stagedConfiguration())
		}
		if err := st.Logs.StoreLog(l); err != nil {
			t.Fatal(err)
		}
	}
	if err := st.Stable.SetUint64([]byte("CurrentTerm"), term); err != nil {
		t.Fatal(err)
	}
}

func stageSnapshot(t *testing.T, st *storage.Replica, index, term uint64) {
	t.Helper()
	sink, err := st.Snapshots.Create(1, index, term, stagedConfiguration(), 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	m := newMetaFSM(func(placement.Map) {})
	m.set(placement.Map{}, index, false)
	snapshot, err := m.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	if err := snapshot.Persist(sink); err != nil {
		t.Fatal(err)
	}
}
