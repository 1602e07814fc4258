package integration

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ringraft/ringraft/client"
	"github.com/ringraft/ringraft/op"
)

// TestAcknowledgedWritesSurviveTheDeathOfAllNodes kills all processes at once while
// they take writes. Each key counts up; none may be found below what was acknowledged.
func TestAcknowledgedWritesSurviveTheDeathOfAllNodes(t *testing.T) {
	t.Parallel()
	c := startCluster(t, 3)
	ctx, stop := context.WithCancel(t.Context())
	counters := make([]*counter, 32)
	var wg sync.WaitGroup
	for i := range counters {
		counters[i] = &counter{key: fmt.Sprintf("counter-%d", i)}
		wg.Go(func() { counters[i].countUp(ctx, c.client) })
	}
	eventually(t, "every key is written 20 times", func() error {
		for _, k := range counters {
			if n := k.acknowledged.Load(); n < 20 {
				return fmt.Errorf("%s stands at %d", k.key, n)
			}
		}
		return nil
	})
	for _, n := range c.nodes {
		n.process.Kill()
	}
	for _, n := range c.nodes {
		n.wait()
	}
	stop()
	wg.Wait()
	for _, n := range c.nodes {
		n.start()
	}
	c.waitReady()
	for _, k := range counters {
		k.check(t, c.client)
	}
	wantEqualDigests(t, c.waitCaughtUp())
}

// counter is a key that one caller sets to 1, 2, 3, …
type counter struct {
	key          string
	sent         int64 // the last number sent
	acknowledged atomic.Int64
}

// countUp writes until ctx ends, whatever becomes of the writes.
func (k *counter) countUp(ctx context.Context, cl *client.Client) {
	for ctx.Err() == nil {
		k.sent++
		if _, err := cl.Set(ctx, k.key, strconv.AppendInt(nil, k.sent, 10)); err == nil {
			k.acknowledged.Store(k.sent)
		}
	}
}

func (k *counter) check(t *testing.T, cl *client.Client) {
	t.Helper()
	v, err := cl.Get(t.Context(), k.key, client.At(client.Linearizable))
	if err != nil {
		t.Errorf("%s: %v", k.key, err)
		return
	}
	n, err := strconv.ParseInt(string(v.Bytes), 10, 64)
	if err != nil || n < k.acknowledged.Load() || n > k.sent {
		t.Errorf("%s is %q, %v; want between %d, which was acknowledged, and %d, which was sent", k.key, v.Bytes, err, k.acknowledged.Load(), k.sent)
	}
}

// TestPausedLeaderAnswersNoOldValue freezes a leader until another one is elected
// and has overwritten a key. What the old leader finds waiting when it comes back,
// and what it is sent then, must not get the old value; and what it acknowledges
// must be there.
func TestPausedLeaderAnswersNoOldValue(t *testing.T) {
	t.Parallel()
	c := startCluster(t, 3)
	const key = "paused"
	c.set(key, "old")
	old := c.leader(c.clusterMap().GroupOf(op.SlotOf([]byte(key))))
	conn := c.connectTo(old)
	read := &op.Request{Level: op.Linearizable, Op: op.Get{Key: []byte(key)}}
	if res, err := conn.Do(t.Context(), read); err != nil || string(res.Value) != "old" {
		t.Fatalf("the leader answers %+v, %v", res, err)
	}
	old.pause()
	if err := c.setUntilDone(t.Context(), key, []byte("new")); err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	answers := make(chan op.Result)
	writes := make(chan liveWrite)
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			res, err := conn.Do(ctx, read)
			if err != nil {
				t.Errorf("read: %v", err)
			}
			answers <- res
		})
		wg.Go(func() {
			w := liveWrite{key: fmt.Sprintf("{%s}%d", key, i)}
			res, err := conn.Do(ctx, &op.Request{Op: op.Set{Key: []byte(w.key), Value: []byte("v")}})
			w.acknowledged = err == nil && res.Err == nil
			writes <- w
		})
	}
	eventually(t, "all requests are sent", func() error {
		if n := conn.Pending(); n != 100 {
			return fmt.Errorf("%d are", n)
		}
		return nil
	})
	old.resume()
	var acknowledged []string
	for range 50 {
		wantNotOld(t, <-answers)
		if w := <-writes; w.acknowledged {
			acknowledged = append(acknowledged, w.key)
		}
	}
	wg.Wait()
	eventually(t, "the old leader knows the new one", func() error {
		res, err := conn.Do(ctx, read)
		if err != nil {
			t.Fatal(err)
		}
		wantNotOld(t, res)
		if res.Err != nil && res.Err.Node == "" {
			return res.Err
		}
		return nil
	})
	for _, key := range acknowledged {
		c.want(key, "v")
	}
	c.want(key, "new")
}

type liveWrite struct {
	key          string
	acknowledged bool
}

func wantNotOld(t *testing.T, res op.Result) {
	t.Helper()
	if res.Err == nil && !bytes.Equal(res.Value, []byte("new")) {
		t.Errorf("a linearizable read got %q; want %q or a refusal", res.Value, "new")
	}
}
