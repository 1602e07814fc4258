package integration

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/ringraft/ringraft/client"
	"github.com/ringraft/ringraft/op"
)

// TestLargestValuesPassThroughEverything: client, leader, log, peers, a node that comes
// later, and a restart of all nodes after a power cut.
func TestLargestValuesPassThroughEverything(t *testing.T) {
	t.Parallel()
	if raceEnabled {
		t.Skip("under the race detector nodes that share two cores take longer for an entry so large than a leader's lease lasts; the simulation of the same is not skipped")
	}
	if *logFlag == "bolt" {
		t.Skip("bolt may take longer for an entry so large than a leader's lease lasts")
	}
	c := startCluster(t, 3, "--groups", "1")
	writes, want := largestWrites()
	late := c.others(c.leader(1))[0]
	c.raiseValueLimit(writes[0].(op.Set))
	late.stop()
	for _, o := range writes[1:] {
		c.setPairs(o.(op.MSet).Pairs)
	}
	for name, value := range c.writeLargestAtOnce(2) {
		want[name] = value
	}
	for _, o := range overLimit() {
		c.wantRefused(o)
	}
	c.deleteLongKeys()
	late.start()
	wantEqualDigests(t, c.waitCaughtUp())
	c.wantLargest(want)

	for _, n := range c.nodes {
		n.kill()
	}
	for _, n := range c.nodes {
		n.start()
	}
	c.waitReady()
	wantEqualDigests(t, c.waitCaughtUp())
	c.wantLargest(want)
	c.wantLargestOnTheCommandLine(want)
}

// raiseValueLimit allows the largest values there can be, and stores the first.
func (c *liveCluster) raiseValueLimit(o op.Set) {
	c.t.Helper()
	eventually(c.t, "a value over the default limit is refused", func() error { // on a slow machine a node may not answer in time
		_, err := c.client.Set(c.t.Context(), string(o.Key), o.Value)
		return wantErrRefused(err)
	})
	if err := c.client.SetConfig(c.t.Context(), "max-value-bytes", "16MiB"); err != nil {
		c.t.Fatal(err)
	}
	eventually(c.t, "the new limit holds", func() error { return c.setUntilDone(c.t.Context(), string(o.Key), o.Value) })
}

// setPairs writes pairs that are the caller's alone until the write is acknowledged: on
// a slow machine an entry so large can cost a leader its term.
func (c *liveCluster) setPairs(pairs []op.Pair) {
	c.t.Helper()
	var list []client.Pair
	for _, p := range pairs {
		list = append(list, client.Pair{Key: string(p.Key), Value: p.Value})
	}
	eventually(c.t, fmt.Sprintf("%d pairs are set", len(pairs)), func() error {
		ctx, cancel := context.WithTimeout(c.t.Context(), patience)
		defer cancel()
		_, err := c.client.SetMany(ctx, list)
		if errors.Is(err, client.ErrRefused) {
			c.t.Fatal(err)
		}
		return err
	})
}

// writeLargestAtOnce has count callers write a value each at the same time.
func (c *liveCluster) writeLargestAtOnce(count int) map[string][]byte {
	values := map[string][]byte{}
	for i := range count {
		values[fmt.Sprintf("at once %d", i)] = bytes.Repeat([]byte{byte(i)}, op.MaxValueLimit)
	}
	var wg sync.WaitGroup
	for key, value := range values {
		wg.Go(func() {
			if err := c.setUntilDone(c.t.Context(), key, value); err != nil {
				c.t.Errorf("%s: %v", key, err)
			}
		})
	}
	wg.Wait()
	return values
}

// deleteLongKeys removes as many keys as one operation can name, each as long as can be.
func (c *liveCluster) deleteLongKeys() {
	c.t.Helper()
	keys := make([]string, op.MaxKeys)
	for i := range keys {
		keys[i] = fmt.Sprintf("%0*d", op.MaxKey, i)
	}
	if err := c.setUntilDone(c.t.Context(), keys[0], []byte("v")); err != nil {
		c.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	results, err := c.client.DeleteMany(ctx, keys)
	if err != nil || !results[0].Existed || results[1].Existed {
		c.t.Errorf("delete of %d long keys: the first existed %v, the second %v, %v", len(keys), results[0].Existed, results[1].Existed, err)
	}
}

// wantRefused sends an operation past the client's own checks.
func (c *liveCluster) wantRefused(o op.Op) {
	c.t.Helper()
	eventually(c.t, fmt.Sprintf("%s over the limit is refused", o.Code()), func() error {
		conn := c.connectTo(c.leader(1))
		res, err := conn.Do(c.t.Context(), &op.Request{Op: o})
		if err == nil && res.Err != nil {
			err = res.Err
		}
		return wantErrRefused(err)
	})
}

func wantErrRefused(err error) error {
	if errors.Is(err, op.ErrRefused) {
		return nil
	}
	return fmt.Errorf("%v, want it refused", err)
}

// wantLargest fails the test unless each node holds the values, the cluster gives them
// in one call, and a scan passes over all of them.
func (c *liveCluster) wantLargest(want map[string][]byte) {
	c.t.Helper()
	for _, n := range c.nodes {
		conn := c.connectTo(n)
		for key, value := range want {
			res, err := conn.Do(c.t.Context(), &op.Request{Op: op.Get{Key: []byte(key)}})
			if err != nil || !bytes.Equal(res.Value, value) {
				c.t.Fatalf("%s: %.30s has %d bytes (%v, %v), want %d", n.id, key, len(res.Value), res.Err, err, len(value))
			}
		}
	}
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	results, err := c.client.GetMany(ctx, slices.Sorted(maps.Keys(want)), client.At(client.Linearizable))
	if err != nil {
		c.t.Fatal(err)
	}
	for _, r := range results {
		if !bytes.Equal(r.Value.Bytes, want[r.Key]) {
			c.t.Errorf("%.30s has %d bytes among many, want %d", r.Key, len(r.Value.Bytes), len(want[r.Key]))
		}
	}
	found := 0
	for e, err := range c.client.Scan(ctx, "", client.WithValues()) {
		if err != nil {
			c.t.Fatalf("scan after %d keys: %v", found, err)
		}
		if bytes.Equal(e.Bytes, want[e.Key]) {
			found++
		}
	}
	if found != len(want) {
		c.t.Errorf("a scan found %d of %d values", found, len(want))
	}
}

func (c *liveCluster) wantLargestOnTheCommandLine(want map[string][]byte) {
	c.t.Helper()
	ringraft := c.commandLine()
	const key = "at once 0"
	file := filepath.Join(c.t.TempDir(), "value")
	if err := os.WriteFile(file, want[key], 0o600); err != nil {
		c.t.Fatal(err)
	}
	ringraft.want(nil, "set", "from a file", "--value-file", file, "--timeout", "1m")
	if got := ringraft.want(nil, "get", "from a file", "--timeout", "1m"); !bytes.Equal(got, want[key]) {
		c.t.Errorf("get prints %d bytes, want %d", len(got), len(want[key]))
	}
	tooLarge := append(bytes.Clone(want[key]), 0)
	if _, messages, code := ringraft.run(tooLarge, "set", "k", "-"); code != 2 {
		c.t.Errorf("a value over the largest limit: exit code %d, %s; want 2", code, messages)
	}
	exported := ringraft.want(nil, "export", "--timeout", "1m")
	if lines := bytes.Count(exported, []byte("\n")); lines < len(want) {
		c.t.Errorf("export prints %d lines, want at least %d", lines, len(want))
	}
}
