package integration

import (
	"context"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ringraft/ringraft/client"
)

const (
	liveHarm     = 1200 * time.Millisecond // how long harm lasts, at least
	liveRelief   = 300 * time.Millisecond
	liveRecovery = 10 * time.Second // after healing, until writes must succeed
	liveThinking = 40 * time.Millisecond
)

// TestOrderHoldsOnProcesses runs all workloads through the real client while processes
// die, stand still and hand over, clocks jump, and answers get lost.
func TestOrderHoldsOnProcesses(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 3, "--groups", "3")
	for _, node := range c.nodes {
		node.clock = filepath.Join(t.TempDir(), "clock")
		node.start()
	}
	c.connect()
	seed := newSeed()
	n := newLiveNemesis(c, rand.New(rand.NewPCG(seed, 0)))
	n.clocks()
	proxies := n.weather()
	holdLiveOrder(t, n, seed, client.Config{Dial: behind(proxies)})
}

// newSeed is that of the flag, or a new one.
func newSeed() uint64 {
	if *seedFlag != 0 {
		return *seedFlag
	}
	return 1 + rand.Uint64N(1<<40)
}

// holdLiveOrder is holdOrder on processes.
func holdLiveOrder(t *testing.T, n *liveNemesis, seed uint64, cfg client.Config) {
	t.Helper()
	t.Logf("the same harm again: go test ./integration -run '^%s$' -seed %d", t.Name(), seed)
	began := time.Now()
	loads := workloads()
	n.trouble(loads, seed, cfg)
	last := n.newCaller(context.Background(), client.Config{})
	for _, name := range slices.Sorted(maps.Keys(loads)) {
		loads[name].settle(last)
	}
	wantEqualDigests(t, n.cluster.waitCaughtUp())
	if err := verdict(loads); err != nil {
		t.Error(err)
	}
	t.Logf("in %v: %v", time.Since(began).Round(time.Second), n.tally)
	if n.tally.done() == 0 {
		t.Error("nothing was done: the test proves nothing")
	}
}

// trouble lets the workloads run while the nemesis strikes, once with each kind of harm
// or for as long as the soak lasts, and heals in the end.
func (n *liveNemesis) trouble(loads map[string]crowd, seed uint64, cfg client.Config) {
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	who := 0
	for _, name := range slices.Sorted(maps.Keys(loads)) {
		for range loads[name].clients {
			who++
			me, random := who, newDice(seed, uint64(who))
			a := n.newCaller(context.Background(), cfg)
			wg.Go(func() {
				for turn := uint64(1); wait(ctx, time.Duration(random.Int64N(int64(liveThinking)))) == nil; turn++ {
					random.turn(turn)
					loads[name].step(a, me, random.Rand)
				}
			})
		}
	}
	defer wg.Wait()
	defer cancel()
	defer n.heal() // also when a strike fails the test
	end := time.Now().Add(*soakFlag)
	for turn := 0; turn < len(n.acts) || time.Now().Before(end); turn++ {
		n.strike(turn)
		_ = wait(n.cluster.t.Context(), liveHarm+time.Duration(n.random.Int64N(int64(liveHarm))))
		n.recover()
		_ = wait(n.cluster.t.Context(), liveRelief)
		if n.cluster.t.Failed() {
			return
		}
	}
}

// wait returns nil after d, or an error once ctx has ended.
func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
