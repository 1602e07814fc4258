package integration

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringraft/ringraft/client"
	"github.com/ringraft/ringraft/internal/bubble"
	"github.com/ringraft/ringraft/op"
	"github.com/ringraft/ringraft/shard"
)

var (
	seedFlag = flag.Uint64("seed", 0, "run the one simulation of `N`, instead of a few")
	soakFlag = flag.Duration("soak", 0, "go on with new seeds and faults for `D`")
)

const (
	simTrouble = 30 * time.Second
	recovery   = 10 * time.Second // after healing, until a write must succeed
	simHangs   = 5 * time.Minute  // of real time: no simulation takes so long
)

// TestSimOrderHolds runs all workloads in fake time while all goes wrong that can, and
// checks what they were told.
func TestSimOrderHolds(t *testing.T) {
	t.Parallel()
	switch {
	case *seedFlag != 0:
		runSeeds(t, *seedFlag, func(n int) bool { return n < 1 })
	case *soakFlag != 0:
		end := time.Now().Add(*soakFlag)
		runSeeds(t, 1+rand.Uint64N(1<<40), func(int) bool { return time.Now().Before(end) && !t.Failed() })
	default:
		runSeeds(t, 1, func(n int) bool { return n < simSeeds })
	}
}

// runSeeds runs simulations of one seed after another, as many at once as there are
// processors, as long as more says so of the number begun.
func runSeeds(t *testing.T, first uint64, more func(begun int) bool) {
	total, began := newTally(), time.Now()
	var begun atomic.Int64
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for n := begun.Add(1) - 1; more(int(n)); n = begun.Add(1) - 1 {
				seed := first + uint64(n)
				t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { total.add(holdOrder(t, seed)) })
				total.fault("simulation")
			}
		})
	}
	wg.Wait()
	t.Logf("in %v: %v", time.Since(began).Round(time.Second), total)
}

// simScene is what a simulation is like; all of it follows from the seed.
type simScene struct {
	seed          uint64
	nodes, groups int
	snapshotAfter uint64        // entries
	strikes       time.Duration // at most between two of them
	thinking      time.Duration // at most between two operations of a caller
	disks         time.Duration // at most for a write to a log
	heartbeat     time.Duration // a leader unheard of for that long is replaced
}

func newSimScene(seed uint64) simScene {
	random := rand.New(rand.NewPCG(seed, 1<<33))
	return simScene{
		seed:          seed,
		nodes:         3 + 2*random.IntN(2)*random.IntN(2),
		groups:        2 + random.IntN(2),
		snapshotAfter: 100 << random.IntN(6),
		strikes:       []time.Duration{300 * time.Millisecond, time.Second, 4 * time.Second}[random.IntN(3)],
		thinking:      []time.Duration{20 * time.Millisecond, 60 * time.Millisecond, 200 * time.Millisecond}[random.IntN(3)],
		disks:         []time.Duration{0, 5 * time.Millisecond, 25 * time.Millisecond}[random.IntN(3)],
		heartbeat:     []time.Duration{500 * time.Millisecond, 1500 * time.Millisecond}[random.IntN(2)],
	}
}

func (s simScene) tune(cfg *shard.Config) {
	cfg.Replicas, cfg.Timing.Heartbeat = s.nodes, s.heartbeat
	cfg.SnapshotAfter, cfg.Timing.Snapshot = s.snapshotAfter, time.Second
}

// holdOrder runs one simulation.
func holdOrder(t *testing.T, seed uint64) *tally {
	watchdog := time.AfterFunc(simHangs, func() { // where a lock is held for ever, fake time stands still
		debug.SetTraceback("all")
		panic(fmt.Sprintf("the simulation of seed %d hangs", seed))
	})
	defer watchdog.Stop()
	scene, loads := newSimScene(seed), workloads()
	t.Logf("%+v", scene)
	var nemesis *simNemesis
	bubble.Test(t, func(t *testing.T) {
		c := newUnformedCluster(t, scene.nodes, scene.groups)
		c.tune = scene.tune
		nemesis = newSimNemesis(c, newDice(seed, 0), scene.disks)
		c.form()
		nemesis.open()
		scene.trouble(nemesis, loads)
		nemesis.recover(t)
		last := nemesis.service.caller(newDice(seed, 1<<31).Rand)
		for _, name := range slices.Sorted(maps.Keys(loads)) {
			loads[name].settle(last)
		}
		c.checkDigests()
	})
	err := errors.Join(nemesis.service.faults.verdict(), verdict(loads))
	if err != nil || t.Failed() {
		t.Errorf("%v\nrun it again with: go test ./integration -run TestSimOrderHolds -seed %d", err, seed)
	}
	return nemesis.service.tally
}

// verdict says what the workloads found to be broken.
func verdict(loads map[string]crowd) (err error) {
	for _, name := range slices.Sorted(maps.Keys(loads)) {
		if broken := loads[name].verdict(); broken != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", name, broken))
		}
	}
	return err
}

// trouble lets the workloads run while the nemesis strikes, for a while.
func (s simScene) trouble(n *simNemesis, loads map[string]crowd) {
	stop := make(chan struct{})
	var wg sync.WaitGroup
	who := 0
	for _, name := range slices.Sorted(maps.Keys(loads)) {
		for range loads[name].clients {
			who++
			me, random := who, newDice(s.seed, uint64(who))
			a := n.service.caller(random.Rand)
			wg.Go(func() { s.work(loads[name], a, me, random, stop) })
		}
	}
	turn := uint64(0)
	for end := time.Now().Add(simTrouble); time.Now().Before(end); {
		turn++
		n.random.turn(turn)
		time.Sleep(time.Duration(n.random.Int64N(int64(s.strikes))))
		n.strike()
	}
	close(stop)
	wg.Wait()
}

// work steps until stop is closed.
func (s simScene) work(w workload, a caller, who int, random dice, stop <-chan struct{}) {
	for turn := uint64(1); ; turn++ {
		random.turn(turn)
		select {
		case <-stop:
			return
		case <-time.After(time.Duration(random.Int64N(int64(s.thinking)))):
			w.step(a, who, random.Rand)
		}
	}
}

// recover heals, and looks whether every group takes writes in time.
func (n *simNemesis) recover(t *testing.T) {
	t.Helper()
	n.end()
	healed := time.Now()
	a := n.service.caller(n.random.Rand)
	for _, g := range n.service.cluster.Groups {
		o := op.Set{Key: keyOf(n.service.cluster, g.ID), Value: []byte("well")}
		for _, out := a.do(o, client.Local); out != done; _, out = a.do(o, client.Local) {
			if time.Since(healed) > recovery {
				t.Fatalf("group %d takes no write within %v after all is healed", g.ID, recovery)
			}
		}
	}
}
