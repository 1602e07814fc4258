package integration

import (
	"fmt"
	"testing"

	"github.com/ringraft/ringraft/internal/bubble"
	"github.com/ringraft/ringraft/op"
)

func TestSimSetGetKillGet(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		c := newSimCluster(t, 3, 4)
		for i := range 100 {
			c.do(op.Set{Key: fmt.Appendf(nil, "k%d", i), Value: fmt.Appendf(nil, "v%d", i)}, op.Local)
		}
		victim := c.leader(1)
		c.halt(victim)
		for i := range 100 {
			key := fmt.Appendf(nil, "k%d", i)
			res := c.do(op.Get{Key: key}, op.Linearizable)
			if want := fmt.Sprintf("v%d", i); !res.Found || string(res.Value) != want {
				t.Errorf("%s = %q, %v; want %q", key, res.Value, res.Found, want)
			}
		}
		c.restart(victim)
		c.waitReady()
	})
}
