package shard

import (
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/ringraft/ringraft/internal/bubble"
	"github.com/ringraft/ringraft/op"
	"github.com/ringraft/ringraft/placement"
	"github.com/ringraft/ringraft/shard/storage"
	"github.com/ringraft/ringraft/transport/peer"
)

func TestTrailingEntriesFitTheirBytes(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		entries, bytes int64
		want           uint64
	}{
		"nothing applied": {0, 0, leastTrailing},
		"small entries":   {1 << 20, 64 << 20, mostTrailing},
		"of 64 KiB":       {1 << 10, 64 << 20, keepBytes / (64 << 10)},
		"of 16 MiB":       {4, 64 << 20, leastTrailing},
	} {
		var a appliedLog
		a.entries.Store(tc.entries)
		a.bytes.Store(tc.bytes)
		if got := a.trailing(); got != tc.want {
			t.Errorf("%s: %d, want %d", name, got, tc.want)
		}
	}
}

func TestCompactionWaitsForAsMuchAsTheStateHas(t *testing.T) {
	t.Parallel()
	var a appliedLog
	a.bytes.Store(leastShare)
	if !a.due(leastShare, 0) || !a.due(leastShare, leastShare) || a.due(leastShare, leastShare+1) || a.due(leastShare+1, 0) {
		t.Error("due with a smaller share and a smaller state only")
	}
}

func TestReplicasShareTheLog(t *testing.T) {
	t.Parallel()
	for replicas, want := range map[int]int64{0: mostShare, 1: mostShare, 4: nodeLogBytes / 4, 8: nodeLogBytes / 8, 16: nodeLogBytes / 16, 64: leastShare} {
		if got := logShare(replicas); got != want {
			t.Errorf("%d replicas: %d bytes each, want %d", replicas, got, want)
		}
	}
}

// TestLargeEntriesDoNotFillTheLog writes far more than a log may keep, in far fewer
// entries than make Raft take a snapshot.
func TestLargeEntriesDoNotFillTheLog(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		store, err := storage.NewMemory(storage.Config{Node: "n1"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		net, err := peer.NewFabric().Network(peer.Config{Self: peer.Identity{Cluster: "c", Node: "n1", Incarnation: "i"}})
		if err != nil {
			t.Fatal(err)
		}
		defer net.Close()
		r, err := openReplica(replicaConfig{
			group: metaGroup, self: placement.Replica{Node: "n1", Generation: 1}, store: store,
			servers: metaServers(map[string]string{"n1": ""}), peers: fabricPeers{net},
			machine: newMetaFSM(func(placement.Map) {}), takeover: func() []byte { return op.EncodeDetail(metaCommand{}) },
			log: slog.New(slog.DiscardHandler), timing: Timing{}.withDefaults(),
		})
		if err != nil {
			t.Fatal(err)
		}
		defer r.close()
		for r.readyTerm() == 0 {
			time.Sleep(100 * time.Millisecond)
		}
		entry := op.EncodeDetail(metaCommand{Setting: &setting{Name: "unknown", Value: string(make([]byte, 1<<20))}})
		var most int
		for i := range 300 {
			if i%10 == 0 {
				r.tend() // as a node does
			}
			if err := r.raft.Apply(entry, time.Second).Error(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(50 * time.Millisecond)
			most = max(most, logBytes(t, r.store.Logs))
		}
		if bound := leastShare + keepBytes + 16<<20; most > bound {
			t.Errorf("the log grew to %d bytes, want at most %d", most, bound)
		}
	})
}

func logBytes(t *testing.T, logs raft.LogStore) (bytes int) {
	t.Helper()
	first, _ := logs.FirstIndex()
	last, _ := logs.LastIndex()
	for i := max(first, 1); i <= last; i++ {
		var l raft.Log
		if err := logs.GetLog(i, &l); errors.Is(err, raft.ErrLogNotFound) {
			continue // compacted meanwhile
		} else if err != nil {
			t.Fatal(err)
		}
		bytes += len(l.Data)
	}
	return bytes
}
