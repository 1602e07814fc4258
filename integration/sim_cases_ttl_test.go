package integration

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/ringraft/ringraft/op"
)

// TestSimOneOfManyTakesAKey, through whatever nodes they ask, for as long as it lives, and
// then another one does.
func TestSimOneOfManyTakesAKey(t *testing.T) {
	simulate(t, 1, func(t *testing.T, c *simCluster) {
		for _, ttl := range []time.Duration{20 * time.Millisecond, 500 * time.Millisecond, 1500 * time.Millisecond} {
			for round := range 3 {
				if n := c.rush([]byte("seat"), ttl); n != 1 {
					t.Errorf("for %v, round %d: %d took it, want 1", ttl, round, n)
				}
				if res := c.do(op.Get{Key: []byte("seat")}, op.Linearizable); !res.Found || res.TTL > ttl.Milliseconds() {
					t.Errorf("for %v: found %v with %d ms left", ttl, res.Found, res.TTL)
				}
				time.Sleep(ttl)
				if res := c.do(op.Get{Key: []byte("seat")}, op.Linearizable); res.Found {
					t.Errorf("after %v it has %d ms left", ttl, res.TTL)
				}
			}
		}
	})
}

// rush has ten callers set an absent key at once, and returns how many did.
func (c *simCluster) rush(key []byte, ttl time.Duration) int {
	won := make(chan bool, 10)
	var wg sync.WaitGroup
	for i := range cap(won) {
		wg.Go(func() {
			o := op.Set{Key: key, Value: fmt.Append(nil, i), TTL: ttl.Milliseconds(), Cond: op.Cond{Kind: op.CondAbsent}}
			res := c.through(c.init[i%len(c.init)].ID, op.Request{Op: o}, 10*time.Second)
			if res.Err != nil {
				c.t.Error(res.Err)
			}
			won <- res.Err == nil && !res.Unmet
		})
	}
	wg.Wait()
	close(won)
	n := 0
	for w := range won {
		if w {
			n++
		}
	}
	return n
}
