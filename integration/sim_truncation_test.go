package integration

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringraft/ringraft/op"
)

// TestSimLogThatFailsAmidATruncationIsMended: a leader of before has entries that nobody
// else has. They are removed, but what belongs in their place cannot be stored, for a
// moment. Raft believes from then on that they are still there.
func TestSimLogThatFailsAmidATruncationIsMended(t *testing.T) {
	simulate(t, 1, func(t *testing.T, c *simCluster) {
		key := []byte("k")
		c.do(op.Set{Key: key, Value: []byte("0")}, op.Local)
		old := c.leader(1)
		others := c.without(old)
		c.fabric.Isolate(old)
		for range 3 {
			go c.at(old, op.Set{Key: key, Value: []byte("of nobody else")}, op.Local)
		}
		for i := range 20 {
			c.doAmong(others, op.Set{Key: key, Value: fmt.Append(nil, i)}, op.Local)
		}
		var writes atomic.Int64
		fails := func(what string) error {
			if !strings.HasPrefix(what, "log of replica 1.") {
				return nil
			}
			if writes.Add(1) == 1 {
				return nil // the removal
			}
			return errors.New("input/output error")
		}
		c.nodes[old].fault.Store(&fails)
		c.fabric.HealAll()
		time.Sleep(5 * time.Second)
		if n := writes.Load(); n < 2 {
			t.Fatalf("the log was written %d times: nothing was to be removed", n)
		}
		c.nodes[old].fault.Store(nil)
		for range 20 {
			c.do(op.Set{Key: key, Value: []byte("last")}, op.Local)
			time.Sleep(time.Second)
		}
		c.checkDigests()
	})
}
