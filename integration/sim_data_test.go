package integration

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ringraft/ringraft/op"
)

func TestSimExpiredKeysAreRemovedOnEveryReplica(t *testing.T) {
	simulate(t, 1, func(t *testing.T, c *simCluster) {
		for i := range 2000 {
			c.do(op.Set{Key: fmt.Appendf(nil, "k%d", i), Value: []byte("v"), TTL: 60_000}, op.Local)
		}
		c.do(op.Set{Key: []byte("stays"), Value: []byte("v")}, op.Local)
		time.Sleep(70 * time.Second)
		for _, m := range c.init {
			if got := c.replicaStatus(m.ID, 1).Keys; got != 1 {
				t.Errorf("%s holds %d keys, want 1", m.ID, got)
			}
		}
		c.checkDigests()
	})
}

func TestSimReadsHideWhatHasExpired(t *testing.T) {
	simulate(t, 1, func(t *testing.T, c *simCluster) {
		key := []byte("k")
		c.do(op.Set{Key: key, Value: []byte("v"), TTL: 1000}, op.Local)
		time.Sleep(500 * time.Millisecond)
		if res := c.do(op.Get{Key: key}, op.Linearizable); !res.Found || res.TTL < 400 || res.TTL > 600 {
			t.Errorf("after half its life: %+v", res)
		}
		time.Sleep(501 * time.Millisecond)
		for _, m := range c.init {
			if res := c.at(m.ID, op.Get{Key: key}, op.Local); res.Found {
				t.Errorf("%s shows the key past its deadline", m.ID)
			}
		}
	})
}

func TestSimSettingsReachEveryGroup(t *testing.T) {
	simulate(t, 3, func(t *testing.T, c *simCluster) {
		for i := range 3000 {
			c.do(op.Set{Key: fmt.Appendf(nil, "k%d", i), Value: make([]byte, 2000)}, op.Local)
		}
		c.do(op.SetConfig{Name: "max-bytes", Value: "1MiB"}, op.Local)
		time.Sleep(5 * time.Second)
		for _, m := range c.init {
			for _, g := range c.clusterMap().Groups {
				if r := c.replicaStatus(m.ID, g.ID); r.Bytes > 1<<20 || r.Keys == 0 {
					t.Errorf("%s group %d: %d bytes, %d keys; want at most 1 MiB and some", m.ID, g.ID, r.Bytes, r.Keys)
				}
			}
		}
		c.checkDigests()
		res := c.at("n1", op.SetConfig{Name: "max-bytes", Value: "7"}, op.Local)
		if !errors.Is(res.Err, op.ErrRefused) || !strings.Contains(res.Err.Error(), "max-bytes") {
			t.Errorf("a limit of 7 bytes: %v, want it refused by name", res.Err)
		}
		c.do(op.SetConfig{Name: "max-value-bytes", Value: "100"}, op.Local)
		time.Sleep(time.Second)
		res = c.at("n1", op.Set{Key: []byte("k"), Value: make([]byte, 101)}, op.Local)
		if !errors.Is(res.Err, op.ErrRefused) {
			t.Errorf("a value over the limit: %v, want refused", res.Err)
		}
	})
}

func TestSimTouchesKeepUsedKeys(t *testing.T) {
	simulate(t, 1, func(t *testing.T, c *simCluster) {
		c.do(op.SetConfig{Name: "max-bytes", Value: "1MiB"}, op.Local)
		time.Sleep(time.Second)
		used := []byte("used")
		c.do(op.Set{Key: used, Value: make([]byte, 1000)}, op.Local)
		follower := "n1"
		if c.leader(1) == follower {
			follower = "n2"
		}
		time.Sleep(time.Second) // writes cost no time here: without it, a follower can be many behind
		for i := range 5000 {   // five times what the group holds
			c.do(op.Set{Key: fmt.Appendf(nil, "k%d", i), Value: make([]byte, 1000)}, op.Local)
			if i%50 == 49 {
				if res := c.at(follower, op.Get{Key: used}, op.Local); !res.Found {
					t.Fatalf("the key in use was evicted after %d writes", i)
				}
				time.Sleep(10 * time.Millisecond)
			}
		}
		if res := c.at(follower, op.Get{Key: []byte("k0")}, op.Local); res.Found {
			t.Error("a key nobody used was kept")
		}
		c.checkDigests()
	})
}

func TestSimLateNodeCatchesUpFromASnapshot(t *testing.T) {
	simulateShortLogs(t, 1, func(t *testing.T, c *simCluster) {
		c.halt("n3")
		for i := range 8 * fewEntries { // past several snapshots and what the log keeps behind them
			c.do(op.Set{Key: fmt.Appendf(nil, "k%d", i%500), Value: fmt.Append(nil, i)}, op.Local)
			if i%100 == 0 {
				time.Sleep(5 * time.Second)
			}
		}
		time.Sleep(2 * time.Minute)
		c.restart("n3")
		c.waitReady()
		c.checkDigests()
	})
}

func TestSimWrongRequestsAreRefusedByName(t *testing.T) {
	simulate(t, 4, func(t *testing.T, c *simCluster) {
		m := c.clusterMap()
		for name, tc := range map[string]struct {
			op    op.Op
			field string
		}{
			"keys of two groups":   {op.MGet{Keys: [][]byte{keyOf(m, 1), keyOf(m, 2)}}, "keys"},
			"internal operation":   {op.Sweep{Limit: 1}, "code"},
			"group unknown":        {op.Transfer{Group: 99}, "group"},
			"setting unknown":      {op.SetConfig{Name: "colour", Value: "red"}, "colour"},
			"cluster of another":   {op.Hello{Cluster: "other"}, "cluster"},
			"empty key":            {op.Get{}, "key"},
			"whole ring in a scan": {op.Scan{Cursor: op.ScanCursor(0, nil), Last: op.Slots - 1, Limit: 1}, "keys"},
		} {
			res := c.at("n1", tc.op, op.Local)
			if !errors.Is(res.Err, op.ErrRefused) || !strings.Contains(res.Err.Error(), tc.field) {
				t.Errorf("%s: %v; want a refusal that names %s", name, res.Err, tc.field)
			}
		}
	})
}
