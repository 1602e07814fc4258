package integration

import (
	"fmt"
	"testing"
	"time"

	"github.com/ringraft/ringraft/internal/bubble"
	"github.com/ringraft/ringraft/op"
)

// TestSimLookupsAllocateNothing: neither of what is there nor of what is not, at either level.
func TestSimLookupsAllocateNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector has pools forget what they keep")
	}
	bubble.Test(t, func(t *testing.T) {
		c := newSimCluster(t, 3, 4)
		const keys, asks = 16, 32
		c.writeKeys(keys)
		time.Sleep(10 * time.Second) // all replicas have caught up
		for level, bound := range map[string]uint64{"local": 0, "session": 1} {
			var asked []op.Lookup
			for i := range asks {
				key := fmt.Appendf(nil, "k%d", i)
				asked = append(asked, op.Lookup{Slot: op.SlotOf(key), Key: key, Bound: bound})
			}
			for id, n := range c.nodes {
				found, answered := 0, 0
				answer := func(_ int, res *op.Result) bool {
					if len(res.Value) > 0 {
						found++
					}
					return true
				}
				const runs = 100
				allocs := testing.AllocsPerRun(runs, func() { answered += n.node.LookUp(asked, answer) })
				if allocs != 0 || found != (runs+1)*keys || answered != (runs+1)*asks {
					t.Errorf("%s at level %s: %v allocations for %d lookups, want none; %d answered, %d found in %d runs",
						id, level, allocs, asks, answered, found, runs+1)
				}
			}
		}
	})
}
