package integration

import (
	"context"
	"flag"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ringraft/ringraft/client"
	"github.com/ringraft/ringraft/op"
)

var rounds = flag.Int("rounds", 1, "how many times a rolling restart goes round")

// TestRollingRestartShowsClientsNoErrors stops each node in turn with SIGTERM and
// starts it again, while callers write and read through a client as it comes.
func TestRollingRestartShowsClientsNoErrors(t *testing.T) {
	t.Parallel()
	c := startCluster(t, 3)
	c.waitCaughtUp()
	ctx, stop := context.WithCancel(t.Context())
	var calls atomic.Int64
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			if err := c.readOwnWrites(ctx, fmt.Sprintf("caller-%d", i), &calls); err != nil {
				t.Error(err)
			}
		})
	}
	for range *rounds {
		for _, n := range c.nodes {
			awaitCalls(t, &calls)
			n.stop()
			awaitCalls(t, &calls)
			n.start()
			c.waitCaughtUpUnderLoad()
		}
	}
	awaitCalls(t, &calls)
	stop()
	wg.Wait()
	t.Logf("%d calls", calls.Load())
}

// readOwnWrites counts key up and reads it back until ctx ends. Any error ends it.
func (c *liveCluster) readOwnWrites(ctx context.Context, key string, calls *atomic.Int64) error {
	for i := 0; ctx.Err() == nil; i++ {
		want := strconv.Itoa(i)
		// A call that is under way when the test ends is let through.
		call := context.WithoutCancel(ctx)
		if _, err := c.client.Set(call, key, []byte(want)); err != nil {
			return fmt.Errorf("set %s to %s: %w", key, want, err)
		}
		v, err := c.client.Get(call, key, client.At(client.Linearizable))
		if err != nil || string(v.Bytes) != want {
			return fmt.Errorf("get %s: %q, %w; want %s", key, v.Bytes, err, want)
		}
		calls.Add(2)
	}
	return nil
}

// awaitCalls returns after some more calls.
func awaitCalls(t *testing.T, calls *atomic.Int64) {
	t.Helper()
	until := calls.Load() + 500
	eventually(t, "clients go on", func() error {
		if t.Failed() {
			t.FailNow()
		}
		if n := calls.Load(); n < until {
			return fmt.Errorf("%d calls, want %d", n, until)
		}
		return nil
	})
}

// waitCaughtUpUnderLoad returns once every node is up and no replica is far behind.
func (c *liveCluster) waitCaughtUpUnderLoad() {
	c.t.Helper()
	eventually(c.t, "all replicas catch up", func() error {
		nodes, err := c.status()
		if err != nil {
			return err
		}
		return nearlyCaughtUp(nodes)
	})
}

func nearlyCaughtUp(nodes []op.NodeStatus) error {
	const few = 100 // entries
	commit := map[uint64]uint64{}
	for _, n := range nodes {
		for _, r := range n.Replicas {
			commit[r.Group] = max(commit[r.Group], r.Commit)
		}
	}
	for _, n := range nodes {
		if n.State != "up" || len(n.Replicas) != len(commit) {
			return fmt.Errorf("%s is %s with %d of %d replicas", n.Node, n.State, len(n.Replicas), len(commit))
		}
		for _, r := range n.Replicas {
			if r.Applied+few < commit[r.Group] {
				return fmt.Errorf("%s: %+v", n.Node, r)
			}
		}
	}
	return nil
}
