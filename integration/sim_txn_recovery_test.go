package integration

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringraft/ringraft/internal/bubble"
	"github.com/ringraft/ringraft/op"
	"github.com/ringraft/ringraft/shard"
)

// unlocked waits until all keys can be written, and returns how long that took.
func (c *simCluster) unlocked(keys [][]byte) time.Duration {
	c.t.Helper()
	begun := time.Now()
	for _, key := range keys {
		for {
			_, err := c.try(op.Expire{Key: key}, op.Local)
			if err == nil {
				break
			}
			if time.Since(begun) > time.Minute {
				c.t.Fatalf("%s cannot be written a minute later: %v", key, err)
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
	return time.Since(begun)
}

// TestSimCoordinatorsDieInEveryStep: a node that leads nothing coordinates transactions
// and dies, or is cut off, a few ms into one. Within the deadline and two seconds all
// its keys are unlocked, with both marks raised or neither.
func TestSimCoordinatorsDieInEveryStep(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		c := newSimCluster(t, 5, 3)
		m := c.clusterMap()
		keys := [][]byte{keyOf(m, 1), keyOf(m, 2), keyOf(m, 3)}
		slow := func(string) error {
			time.Sleep(3 * time.Millisecond)
			return nil
		}
		for _, s := range c.nodes {
			s.fault.Store(&slow)
		}
		outcomes := map[op.Outcome]int{}
		for i := range 24 {
			coordinator := c.outsider()
			o := op.Txn{ID: fmt.Appendf(nil, "%016d", i)}
			for _, key := range keys {
				o.Then = append(o.Then, op.Set{Key: key, Value: fmt.Append(nil, i)})
			}
			told := make(chan op.Result, 1)
			go func() { told <- c.at(coordinator, o, op.Local) }()
			time.Sleep(time.Duration(i/2*3)*time.Millisecond + time.Millisecond)
			dies := i%2 == 0
			if dies {
				c.halt(coordinator)
			} else {
				c.fabric.Isolate(coordinator)
			}
			bound := op.TxnPatience*time.Millisecond + 2*time.Second
			if took := c.unlocked(keys); took > bound {
				t.Errorf("%d: unlocked after %v, want %v at most", i, took, bound)
			}
			shown := map[string]bool{}
			for _, key := range keys {
				shown[string(c.do(op.Get{Key: key}, op.Linearizable).Value)] = true
			}
			outcome := c.outcomeOf(o)
			outcomes[outcome]++
			if len(shown) != 1 || shown[fmt.Sprint(i)] != (outcome == op.Committed) {
				t.Errorf("%d: the keys show %v, the transaction is %v", i, shown, outcome)
			}
			if dies {
				c.restart(coordinator)
			}
			c.fabric.HealAll()
			res := <-told
			if res.Err == nil && outcome != op.Committed || res.Err != nil && res.Err.Kind != op.KindUnknown && outcome == op.Committed {
				t.Errorf("%d: %v, but its caller was told %+v", i, outcome, res)
			}
			c.waitReady()
		}
		t.Logf("%v", outcomes)
		if outcomes[op.Committed] == 0 || outcomes[op.Aborted] == 0 {
			t.Errorf("outcomes %v; want some of each, or not every step was hit", outcomes)
		}
	})
}

// outsider returns the node that leads the fewest groups.
func (c *simCluster) outsider() string {
	leads := map[string]int{}
	for _, g := range c.clusterMap().Groups {
		leads[c.leader(g.ID)]++
	}
	best := c.init[0].ID
	for _, m := range c.init {
		if leads[m.ID] < leads[best] {
			best = m.ID
		}
	}
	return best
}

// TestSimWriteSkewIsImpossible: of two doctors on call, in different groups, at least
// one stays, however often both ask to leave if the other is there.
func TestSimWriteSkewIsImpossible(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		c := newSimCluster(t, 3, 3)
		m := c.clusterMap()
		doctors := [][]byte{keyOf(m, 1), keyOf(m, 2)}
		c.slowDisks(1)
		random := rand.New(rand.NewPCG(1, 0))
		left := [3]int{}
		for round := range 100 {
			for _, key := range doctors {
				c.do(op.Set{Key: key, Value: []byte("on call")}, op.Local)
			}
			answers := make(chan op.Result, len(doctors))
			for i, key := range doctors {
				pause := time.Duration(random.IntN(40)) * time.Millisecond
				node := c.init[random.IntN(len(c.init))].ID
				go func() {
					time.Sleep(pause)
					answers <- c.at(node, op.Txn{
						ID:       fmt.Appendf(nil, "%08d%08d", round, i),
						Compares: []op.Compare{ifValueIs(doctors[1-i], "on call")},
						Then:     []op.Op{op.Set{Key: key, Value: []byte("away")}},
					}, op.Local)
				}()
			}
			done := 0
			for range doctors {
				if res := <-answers; res.Err == nil && !res.Unmet {
					done++
				}
			}
			away := 0
			for _, key := range doctors {
				if string(c.do(op.Get{Key: key}, op.Linearizable).Value) == "away" {
					away++
				}
			}
			if left[away]++; away == 2 || away != done {
				t.Fatalf("round %d: %d are away, %d were told so", round, away, done)
			}
		}
		t.Logf("nobody left in %d rounds, one in %d", left[0], left[1])
		if left[1] == 0 {
			t.Error("nobody ever left")
		}
	})
}

// fillingStore says that its disk is full once it is told so.
type fillingStore struct {
	shard.Store
	full *atomic.Bool
}

func (s fillingStore) Full() error {
	if s.full.Load() {
		return errors.New("the disk is full")
	}
	return nil
}

// TestSimFullDisksKeepNoLocks: what ends a transaction is let through, though the nodes
// take no writes.
func TestSimFullDisksKeepNoLocks(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		c := newUnformedCluster(t, 3, 2)
		var full atomic.Bool
		for _, s := range c.nodes {
			s.wrap = func(inner shard.Store) shard.Store { return fillingStore{inner, &full} }
		}
		c.form()
		key := keyOf(c.clusterMap(), 1)
		a := op.Attempt{ID: make([]byte, op.TxnIDSize), Home: op.SlotOf(keyOf(c.clusterMap(), 2)), Deadline: time.Now().UnixMilli() + op.TxnPatience}
		prepared := c.through("n1", op.Request{Op: op.Prepare{Attempt: a, Ops: []op.Op{op.Set{Key: key, Value: []byte("v")}}}}, time.Second)
		full.Store(true)
		if res := c.through("n1", op.Request{Op: op.Set{Key: key}}, 100*time.Millisecond); prepared.Err != nil || res.Err == nil {
			t.Fatalf("prepared %+v; a write on a full disk: %+v", prepared, res)
		}
		time.Sleep(op.TxnPatience*time.Millisecond + 2*time.Second)
		if res, err := c.try(op.Get{Key: key}, op.Linearizable); err != nil || res.Found {
			t.Errorf("after the deadline: %+v, %v; want the key unlocked, and absent", res, err)
		}
	})
}
