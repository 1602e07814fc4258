package integration

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/ringraft/ringraft/op"
	"github.com/ringraft/ringraft/shard"
	"github.com/ringraft/ringraft/shard/storage"
)

// agingStore gives the snapshots of one group back with a bit flipped.
type agingStore struct {
	*storage.Memory
	group uint64
}

func (s agingStore) OpenReplica(group, generation uint64) (*storage.Replica, error) {
	r, err := s.Memory.OpenReplica(group, generation)
	if err == nil && group == s.group {
		r.Snapshots = agingSnapshots{r.Snapshots}
	}
	return r, err
}

type agingSnapshots struct{ raft.SnapshotStore }

func (s agingSnapshots) Open(id string) (*raft.SnapshotMeta, io.ReadCloser, error) {
	metas, err := s.List()
	if err != nil {
		return nil, nil, err
	}
	meta, r, err := s.SnapshotStore.Open(id)
	if err != nil || id != metas[0].ID {
		return meta, r, err
	}
	defer r.Close()
	b, err := io.ReadAll(r)
	if err != nil {
		return nil, nil, err
	}
	b[len(b)/2] ^= 1
	return meta, io.NopCloser(bytes.NewReader(b)), nil
}

// TestSimNodeWithADamagedSnapshotDoesNotStart: it has older state too, but what lies
// between that and its log it has acknowledged and cannot know any more. It says so,
// and the others go on.
func TestSimNodeWithADamagedSnapshotDoesNotStart(t *testing.T) {
	simulateShortLogs(t, 1, func(t *testing.T, c *simCluster) {
		for range 2 { // so often snapshots are taken, and the log then begins behind the first
			c.fillLog("k", 300)
		}
		bad := c.follower(0, 1)
		c.halt(bad)
		s := c.nodes[bad]
		s.wrap = func(shard.Store) shard.Store { return agingStore{s.store, 1} }
		c.restart(bad)
		select {
		case err := <-s.node.Failed():
			if !strings.Contains(err.Error(), "group 1") || !strings.Contains(err.Error(), "snapshot") {
				t.Errorf("the node fails with %q, want one about the snapshot of group 1", err)
			}
		case <-time.After(time.Minute):
			t.Error("the node does not fail")
		}
		for i := range 100 {
			key := fmt.Appendf(nil, "k%d", i)
			if res := c.doAmong(c.without(bad), op.Get{Key: key}, op.Linearizable); string(res.Value) != fmt.Sprint(200+i) {
				t.Errorf("%s is %q", key, res.Value)
			}
		}
	})
}

// fillLog writes n entries to the group of prefix, at a hundred keys, and leaves time
// for a snapshot.
func (c *simCluster) fillLog(prefix string, n int) {
	c.t.Helper()
	for i := range n {
		c.do(op.Set{Key: fmt.Appendf(nil, "%s%d", prefix, i%100), Value: fmt.Append(nil, i)}, op.Local)
	}
	time.Sleep(2 * time.Minute)
}
