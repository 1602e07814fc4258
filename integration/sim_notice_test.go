package integration

import (
	"fmt"
	"testing"
	"time"

	"github.com/ringraft/ringraft/op"
)

// TestSimFollowersLearnOfALoneWriteAtOnce, though nothing follows it.
func TestSimFollowersLearnOfALoneWriteAtOnce(t *testing.T) {
	simulate(t, 2, func(t *testing.T, c *simCluster) {
		key := []byte("k")
		for i := range 30 {
			time.Sleep(3 * time.Second)
			value := fmt.Sprint(i)
			c.do(op.Set{Key: key, Value: []byte(value)}, op.Local)
			time.Sleep(20 * time.Millisecond)
			for _, m := range c.init {
				if res := c.at(m.ID, op.Get{Key: key}, op.Local); string(res.Value) != value {
					t.Errorf("20 ms after the write %s shows %q, want %s", m.ID, res.Value, value)
				}
			}
		}
	})
}
