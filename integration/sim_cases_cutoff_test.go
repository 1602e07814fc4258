package integration

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/ringraft/ringraft/op"
)

// doAmong asks the nodes in turn, for up to 30 s, until one has done o.
func (c *simCluster) doAmong(ids []string, o op.Op, level op.Level) op.Result {
	c.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		var res op.Result
		for _, id := range ids {
			if res = c.at(id, o, level); res.Err == nil {
				return res
			}
		}
		if !errors.Is(res.Err, op.ErrUnavailable) || time.Now().After(deadline) {
			c.t.Fatalf("%s at %v: %v", o.Code(), ids, res.Err)
		}
	}
}

// without returns the nodes' ids but one.
func (c *simCluster) without(id string) []string {
	var ids []string
	for _, m := range c.init {
		if m.ID != id {
			ids = append(ids, m.ID)
		}
	}
	return ids
}

// follower returns a node that leads none of the groups.
func (c *simCluster) follower(groups ...uint64) string {
	c.t.Helper()
	for _, m := range c.init {
		if !slices.ContainsFunc(groups, func(g uint64) bool { return c.leader(g) == m.ID }) {
			return m.ID
		}
	}
	c.t.Fatalf("every node leads one of the groups %v", groups)
	return ""
}

// TestSimLeaderCutOffTakesAndTellsNothing: from the moment that another leader has
// acknowledged a write, the old one answers no read of any kind but a local one, and
// at no time does it acknowledge a write.
func TestSimLeaderCutOffTakesAndTellsNothing(t *testing.T) {
	simulate(t, 1, func(t *testing.T, c *simCluster) {
		x, counter := []byte("{t}x"), []byte("{t}counter")
		c.do(op.Set{Key: x, Value: []byte("1"), TTL: time.Hour.Milliseconds()}, op.Local)
		c.do(op.Add{Key: counter, Delta: 1}, op.Local)
		old := c.leader(1)
		others := c.without(old)
		c.fabric.Isolate(old)
		lost := make(chan op.Result, 1)
		go func() { lost <- c.at(old, op.Add{Key: counter, Delta: 100}, op.Local) }()
		c.doAmong(others, op.Set{Key: x, Value: []byte("2")}, op.Local)

		slot := op.SlotOf(x)
		for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
			for _, o := range []op.Op{
				op.Get{Key: x}, op.Stat{Key: x}, op.MGet{Keys: [][]byte{x, counter}},
				op.Scan{Cursor: op.ScanCursor(slot, nil), Last: slot, Limit: 10, Values: true},
			} {
				if res := c.at(old, o, op.Linearizable); !errors.Is(res.Err, op.ErrUnavailable) {
					t.Fatalf("%s at the leader that is cut off: %+v, want it unavailable", o.Code(), res)
				}
			}
			for _, o := range []op.Op{op.Add{Key: counter, Delta: 1000}, op.Delete{Key: x}, op.SetConfig{Name: "max-bytes", Value: "2MiB"}} {
				if res := c.at(old, o, op.Local); res.Err == nil || errors.Is(res.Err, op.ErrRefused) {
					t.Fatalf("%s at the leader that is cut off: %+v, want it unavailable or unknown", o.Code(), res)
				}
			}
		}
		if res := <-lost; !errors.Is(res.Err, op.ErrUnknownOutcome) {
			t.Errorf("the write under way when the leader was cut off: %+v, want it unknown", res)
		}
		c.fabric.HealAll()
		c.waitReady()
		if res := c.do(op.Get{Key: x}, op.Linearizable); string(res.Value) != "2" || res.TTL != 0 {
			t.Errorf("after healing x is %q with a TTL of %d, want 2 without", res.Value, res.TTL)
		}
		if res := c.do(op.Get{Key: counter}, op.Linearizable); string(res.Value) != "1" {
			t.Errorf("after healing the counter is %q, want 1: nothing else was acknowledged, and no majority saw it", res.Value)
		}
		c.checkDigests()
	})
}

// TestSimNodeThatWasCutOffDisturbsNobody: it comes back after minutes of vain
// elections, and no term ends for it.
func TestSimNodeThatWasCutOffDisturbsNobody(t *testing.T) {
	simulate(t, 1, func(t *testing.T, c *simCluster) {
		time.Sleep(time.Minute) // leaders are where they are to be
		type reign struct {
			leader string
			term   uint64
		}
		reigns := func() (now [2]reign) {
			for group := range now {
				leader := c.leader(uint64(group))
				now[group] = reign{leader, c.replicaStatus(leader, uint64(group)).Term}
			}
			return now
		}
		away := c.follower(0, 1)
		before := reigns()
		c.fabric.Isolate(away)
		for i := range 120 {
			c.do(op.Set{Key: []byte("k"), Value: fmt.Append(nil, i)}, op.Local)
			time.Sleep(time.Second)
		}
		if res := c.at(away, op.Set{Key: []byte("k")}, op.Local); !errors.Is(res.Err, op.ErrUnavailable) {
			t.Errorf("the node that is cut off says to a write: %+v, want it unavailable", res)
		}
		c.fabric.HealAll()
		for range 120 {
			time.Sleep(time.Second)
			if now := reigns(); now != before {
				t.Fatalf("leaders and terms are %+v, were %+v", now, before)
			}
		}
		c.checkDigests()
	})
}

// TestSimLocalReadsGoForwardThroughASnapshot reads from a replica while it is behind,
// while it is set right by a snapshot, and after that.
func TestSimLocalReadsGoForwardThroughASnapshot(t *testing.T) {
	simulateShortLogs(t, 1, func(t *testing.T, c *simCluster) {
		key := []byte("k")
		last := 0
		write := func(n int) {
			for range n {
				last++
				c.do(op.Set{Key: key, Value: fmt.Append(nil, last)}, op.Local)
			}
		}
		write(1)
		behind := c.follower(0, 1)
		seen, seenVersion, jumped := 0, uint64(0), false
		look := func() {
			t.Helper()
			res := c.at(behind, op.Get{Key: key}, op.Local)
			n, err := strconv.Atoi(string(res.Value))
			if err != nil || n < seen || res.Version < seenVersion {
				t.Fatalf("read %q of version %d after %d of version %d (%v)", res.Value, res.Version, seen, seenVersion, err)
			}
			jumped = jumped || n > seen+4*fewEntries
			seen, seenVersion = n, res.Version
		}
		time.Sleep(time.Second)
		look()
		c.fabric.Isolate(behind)
		for range 21 { // past what makes a snapshot and stays behind it
			write(fewEntries / 4)
			look()
		}
		time.Sleep(2 * time.Minute)
		c.fabric.HealAll()
		for end := time.Now().Add(time.Minute); seen < last && time.Now().Before(end); time.Sleep(time.Millisecond) {
			look()
		}
		if seen != last || !jumped {
			t.Errorf("the replica came to %d of %d, by a snapshot: %v", seen, last, jumped)
		}
		write(100)
		c.checkDigests()
		look()
	})
}
