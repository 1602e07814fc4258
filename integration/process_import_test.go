package integration

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringraft/ringraft/client"
	"github.com/ringraft/ringraft/op"
)

// TestRealDataSurvivesTheDeathOfABusyLeader loads real records, kills a leader that
// takes them, goes on, and brings it back. What was acknowledged is there in the end,
// for the cluster as a whole and on each replica by itself.
func TestRealDataSurvivesTheDeathOfABusyLeader(t *testing.T) {
	t.Parallel()
	records := realRecords(t)
	c := startCluster(t, 3)
	im := c.startImport(records)
	im.await(len(records) / 3)
	victim := c.leader(c.busiestGroup())
	victim.kill()
	im.await(2 * len(records) / 3)
	victim.start()
	im.finish()

	c.wantAll(records)
	wantEqualDigests(t, c.waitCaughtUp())
	for _, n := range c.nodes {
		c.wantAllOn(n, records)
	}
}

// liveImport writes records with many callers. The keys are nobody else's: a write
// whose outcome is unknown is written again.
type liveImport struct {
	c    *liveCluster
	done atomic.Int64 // records acknowledged
	wg   sync.WaitGroup
}

func (c *liveCluster) startImport(records map[string][]byte) *liveImport {
	im := &liveImport{c: c}
	keys := make(chan string)
	ctx := c.t.Context()
	im.wg.Go(func() {
		defer close(keys)
		for _, key := range slices.Sorted(maps.Keys(records)) {
			keys <- key
		}
	})
	for range 64 {
		im.wg.Go(func() {
			for key := range keys {
				if err := c.setUntilDone(ctx, key, records[key]); err != nil {
					c.t.Errorf("set %q: %v", key, err)
				}
				im.done.Add(1)
			}
		})
	}
	c.t.Cleanup(im.wg.Wait)
	return im
}

// setUntilDone writes a key that is the caller's alone, again and again until the
// write is acknowledged. A single attempt may wait for a node that is gone.
func (c *liveCluster) setUntilDone(ctx context.Context, key string, value []byte) error {
	deadline := time.Now().Add(patience)
	for {
		err := c.setOnce(ctx, key, value)
		again := errors.Is(err, client.ErrUnknownOutcome) || errors.Is(err, client.ErrUnavailable)
		if !again || ctx.Err() != nil || time.Now().After(deadline) {
			return err
		}
	}
}

func (c *liveCluster) setOnce(ctx context.Context, key string, value []byte) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	_, err := c.client.Set(ctx, key, value)
	return err
}

// await returns once count records are acknowledged.
func (im *liveImport) await(count int) {
	im.c.t.Helper()
	eventually(im.c.t, fmt.Sprintf("%d records are acknowledged", count), func() error {
		if done := im.done.Load(); done < int64(count) {
			return fmt.Errorf("%d are", done)
		}
		return nil
	})
}

func (im *liveImport) finish() {
	im.c.t.Helper()
	im.wg.Wait()
	if im.c.t.Failed() {
		im.c.t.FailNow()
	}
}

// busiestGroup returns the group that holds the most keys.
func (c *liveCluster) busiestGroup() uint64 {
	c.t.Helper()
	nodes, err := c.status()
	if err != nil {
		c.t.Fatal(err)
	}
	var busiest op.ReplicaStatus
	for _, n := range nodes {
		for _, r := range n.Replicas {
			if r.Keys > busiest.Keys {
				busiest = r
			}
		}
	}
	if busiest.Keys == 0 {
		c.t.Fatalf("no replica holds a key: %+v", nodes)
	}
	return busiest.Group
}

// wantAll fails the test unless a linearizable read finds every record.
func (c *liveCluster) wantAll(records map[string][]byte) {
	c.t.Helper()
	for keys := range slices.Chunk(slices.Sorted(maps.Keys(records)), 1000) {
		results, err := c.client.GetMany(c.t.Context(), keys, client.At(client.Linearizable))
		if err != nil {
			c.t.Fatal(err)
		}
		for i, r := range results {
			if !bytes.Equal(r.Value.Bytes, records[keys[i]]) {
				c.t.Fatalf("linearizable read of %q: %q, found %t; want %q", keys[i], r.Value.Bytes, r.Existed, records[keys[i]])
			}
		}
	}
}

// wantAllOn fails the test unless node's own replicas hold every record.
func (c *liveCluster) wantAllOn(n *liveNode, records map[string][]byte) {
	c.t.Helper()
	conn := c.connectTo(n)
	for group, keys := range keysByGroup(c.clusterMap(), records) {
		for part := range slices.Chunk(keys, 100) {
			res, err := conn.Do(c.t.Context(), &op.Request{Level: op.Local, Op: op.MGet{Keys: part}})
			if err != nil || res.Err != nil || len(res.Items) != len(part) {
				c.t.Fatalf("local read of group %d on %s: %d items, %v, %v", group, n.id, len(res.Items), res.Err, err)
			}
			for i, item := range res.Items {
				if want := records[string(part[i])]; !bytes.Equal(item.Value, want) {
					c.t.Fatalf("local read of %q on %s: %q, found %t; want %q", part[i], n.id, item.Value, item.Found, want)
				}
			}
		}
	}
}

// wantEqualDigests fails the test unless all replicas of each group, which stand at
// the same index, are in the same state.
func wantEqualDigests(t *testing.T, nodes []op.NodeStatus) {
	t.Helper()
	first := map[uint64]op.ReplicaStatus{}
	for _, n := range nodes {
		for _, r := range n.Replicas {
			want, known := first[r.Group]
			if known && (r.Digest != want.Digest || r.Keys != want.Keys || r.Bytes != want.Bytes) {
				t.Errorf("group %d on %s: %+v; another replica: %+v", r.Group, n.Node, r, want)
			}
			first[r.Group] = r
		}
	}
}
