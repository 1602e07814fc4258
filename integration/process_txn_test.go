package integration

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/ringraft/ringraft/client"
)

// TestTransfersBetweenGroupsSurviveTheDeathOfNodes: clients move money between accounts
// of all groups while one process after the other is killed. No client is left without
// knowing what became of a transfer, and nothing is lost or made.
func TestTransfersBetweenGroupsSurviveTheDeathOfNodes(t *testing.T) {
	t.Parallel()
	c := startCluster(t, 3)
	const accounts, balance = 12, 1000
	moved := make([]int64, accounts)
	for i := range moved {
		c.set(fmt.Sprintf("account-%d", i), strconv.Itoa(balance))
	}
	began, took := time.Now(), time.Duration(0)
	c.transfer(t.Context(), 0, 1) // sessions, connections
	for range 20 {
		begun := time.Now()
		if !c.transfer(t.Context(), 0, 1) {
			t.Fatal("a transfer without faults failed")
		}
		took += time.Since(begun) / 20
	}
	moved[0], moved[1] = -21, 21
	t.Logf("ready after %v; a transfer takes %v", time.Since(began), took)

	ctx, stop := context.WithCancel(t.Context())
	var mu sync.Mutex
	done := 0
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			for ctx.Err() == nil {
				from := rand.IntN(accounts)
				to := (from + 1 + rand.IntN(accounts-1)) % accounts
				if c.transfer(t.Context(), from, to) {
					mu.Lock()
					done, moved[from], moved[to] = done+1, moved[from]-1, moved[to]+1
					mu.Unlock()
				}
			}
		})
	}
	enough := func(n int) func() error {
		return func() error {
			mu.Lock()
			defer mu.Unlock()
			if done < n {
				return fmt.Errorf("%d transfers are done, want %d", done, n)
			}
			return nil
		}
	}
	for i, n := range c.nodes {
		eventually(t, "transfers go on", enough(30*(i+1)))
		n.kill()
		n.start()
		c.waitReady()
	}
	stop()
	wg.Wait()
	for i, change := range moved {
		c.want(fmt.Sprintf("account-%d", i), strconv.FormatInt(balance+change, 10))
	}
	wantEqualDigests(t, c.waitCaughtUp())
}

// transfer moves 1 and reports whether it did. An unknown outcome fails the test.
func (c *liveCluster) transfer(ctx context.Context, from, to int) bool {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	res, err := c.client.Txn(ctx, client.Txn{Then: []client.Op{
		client.AddOp(fmt.Sprintf("account-%d", from), -1, client.AtLeast(0)), client.AddOp(fmt.Sprintf("account-%d", to), 1),
	}})
	if err != nil {
		c.t.Errorf("transfer: %v", err)
	}
	return err == nil && res.Met
}
