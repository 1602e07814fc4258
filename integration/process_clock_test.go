package integration

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/ringraft/ringraft/client"
)

// TestClocksOfProcessesJump, all as one, so that it does not matter who leads: that ends
// what has had its time, and nothing else. What has ended stays so when the clocks
// come back, and nothing is given longer than it was meant to live.
func TestClocksOfProcessesJump(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 3, "--groups", "1")
	for _, n := range c.nodes {
		n.clock = filepath.Join(t.TempDir(), "clock")
		n.start()
	}
	c.connect()
	jump := func(ahead time.Duration) {
		t.Helper()
		for _, n := range c.nodes {
			n.setClock(ahead)
		}
	}
	give := func(key string, ttl time.Duration) {
		t.Helper()
		if _, err := c.client.Set(t.Context(), key, []byte("v"), client.WithTTL(ttl)); err != nil {
			t.Fatal(err)
		}
	}
	lives := func(key string, most time.Duration) {
		t.Helper()
		v, err := c.client.Get(t.Context(), key, client.At(client.Linearizable))
		if err != nil || v.TTL <= 0 || v.TTL > most {
			t.Errorf("%s: %v left to live, %v; want some, and at most %v", key, v.TTL, err, most)
		}
	}
	ended := func(key string) {
		t.Helper()
		if v, err := c.client.Get(t.Context(), key, client.At(client.Linearizable)); !errors.Is(err, client.ErrNotFound) {
			t.Errorf("%s: %+v, %v; want it ended", key, v, err)
		}
	}
	c.set("forever", "v")
	give("hour", time.Hour)
	jump(-2 * time.Hour)
	give("of before", time.Hour)
	lives("hour", time.Hour)
	lives("of before", time.Hour)
	jump(2 * time.Hour)
	ended("hour")
	give("of then", time.Hour)
	lives("of then", time.Hour)
	for i := range 20 { // there and back
		jump(time.Duration(2*(i%2)-1) * 2 * time.Second)
		c.set(fmt.Sprint("k", i), "v")
	}
	jump(0)
	ended("hour")
	lives("of then", time.Hour)
	c.want("forever", "v")
	wantEqualDigests(t, c.waitCaughtUp())
}
