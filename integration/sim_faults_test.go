package integration

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/ringraft/ringraft/internal/bubble"
	"github.com/ringraft/ringraft/op"
	"github.com/ringraft/ringraft/shard"
	"github.com/ringraft/ringraft/shard/storage"
)

// simulate runs a scenario on a cluster of three nodes in fake time.
func simulate(t *testing.T, groups int, scenario func(*testing.T, *simCluster)) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) { scenario(t, newSimCluster(t, 3, groups)) })
}

// fewEntries is how far a short log grows before a snapshot takes the place of all but
// its last quarter.
const fewEntries = 256

// simulateShortLogs is simulate where that comes early.
func simulateShortLogs(t *testing.T, groups int, scenario func(*testing.T, *simCluster)) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		c := newUnformedCluster(t, 3, groups)
		c.tune = func(cfg *shard.Config) { cfg.SnapshotAfter = fewEntries }
		c.form()
		scenario(t, c)
	})
}

func TestSimAcknowledgedWritesSurviveRandomFaults(t *testing.T) {
	for seed := range uint64(8) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			simulate(t, 2, func(t *testing.T, c *simCluster) { surviveFaults(t, c, seed) })
		})
	}
}

// surviveFaults writes while nodes are cut off, die and come back, and then looks
// for everything that was acknowledged. The value of a key only grows, so an older
// one than the last acknowledged is a loss.
func surviveFaults(t *testing.T, c *simCluster, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 0))
	acked := map[string]int{}
	fault := time.Now()
	var down string
	for i := 1; i <= 1500; i++ {
		if time.Now().After(fault) {
			down = c.nextFault(random, down)
			fault = time.Now().Add(time.Duration(random.IntN(3000)) * time.Millisecond)
		}
		key := fmt.Sprintf("k%d", random.IntN(20))
		if c.writeAnywhere(random, key, i) {
			acked[key] = i
		}
		time.Sleep(time.Duration(random.IntN(20)) * time.Millisecond)
	}
	c.fabric.HealAll()
	if down != "" {
		c.restart(down)
	}
	c.waitReady()
	if len(acked) == 0 {
		t.Fatal("no write was acknowledged: the test proves nothing")
	}
	for key, want := range acked {
		res := c.do(op.Get{Key: []byte(key)}, op.Linearizable)
		var got int
		if _, err := fmt.Sscan(string(res.Value), &got); err != nil || got < want {
			t.Errorf("seed %d: %s = %q, acknowledged was %d", seed, key, res.Value, want)
		}
	}
	c.checkDigests()
}

// nextFault heals, then cuts a node off, one way or both, or kills one, or lets the
// dead one come back. It returns the node that is down, if one is.
func (c *simCluster) nextFault(random *rand.Rand, down string) string {
	c.fabric.HealAll()
	victim := c.init[random.IntN(len(c.init))].ID
	other := c.init[random.IntN(len(c.init))].ID
	switch {
	case down != "":
		c.restart(down)
		return ""
	case random.IntN(4) == 0:
		c.halt(victim)
		return victim
	case random.IntN(3) == 0:
		c.fabric.Isolate(victim)
	case random.IntN(2) == 0 && victim != other:
		c.fabric.CutOneWay(victim, other)
	case victim != other:
		c.fabric.Reset(victim, other)
	}
	return ""
}

// writeAnywhere asks one random node to write and reports whether it said done.
func (c *simCluster) writeAnywhere(random *rand.Rand, key string, i int) bool {
	id := c.init[random.IntN(len(c.init))].ID
	res := c.at(id, op.Set{Key: []byte(key), Value: fmt.Append(nil, i)}, op.Local)
	return res.Err == nil
}

// checkDigests waits until all replicas of each group have applied the same, and
// compares their digests.
func (c *simCluster) checkDigests() {
	c.t.Helper()
	for _, g := range c.clusterMap().Groups {
		deadline := time.Now().Add(time.Minute)
		for !c.level(g.ID) {
			if time.Now().After(deadline) {
				c.t.Fatalf("replicas of group %d do not reach one index", g.ID)
			}
			time.Sleep(100 * time.Millisecond)
		}
		first := c.replicaStatus(c.init[0].ID, g.ID)
		for _, m := range c.init[1:] {
			if r := c.replicaStatus(m.ID, g.ID); r.Digest != first.Digest {
				c.t.Errorf("group %d at index %d: digest %x on %s, %x on %s", g.ID, r.Applied, r.Digest, m.ID, first.Digest, c.init[0].ID)
			}
		}
	}
}

func (c *simCluster) level(group uint64) bool {
	first := c.replicaStatus(c.init[0].ID, group).Applied
	for _, m := range c.init[1:] {
		if c.replicaStatus(m.ID, group).Applied != first {
			return false
		}
	}
	return true
}

func TestSimLeaderCutOffAnswersNoLinearizableRead(t *testing.T) {
	simulate(t, 1, func(t *testing.T, c *simCluster) {
		key := []byte("x")
		c.do(op.Set{Key: key, Value: []byte("1")}, op.Local)
		old := c.leader(1)
		c.fabric.Isolate(old)
		for stop := time.Now().Add(10 * time.Second); time.Now().Before(stop); time.Sleep(10 * time.Millisecond) {
			if res := c.at(old, op.Get{Key: key}, op.Linearizable); res.Err == nil {
				t.Fatalf("the leader that is cut off answered %q", res.Value)
			} else if !errors.Is(res.Err, op.ErrUnavailable) {
				t.Fatalf("got %v, want unavailable", res.Err)
			}
		}
		c.do(op.Set{Key: key, Value: []byte("2")}, op.Local)
		if res := c.at(old, op.Get{Key: key}, op.Local); string(res.Value) != "1" {
			t.Errorf("a local read on the node that is cut off gives %q, want the committed 1", res.Value)
		}
		c.fabric.HealAll()
		c.waitReady()
		if res := c.do(op.Get{Key: key}, op.Linearizable); string(res.Value) != "2" {
			t.Errorf("after healing: %q, want 2", res.Value)
		}
	})
}

func TestSimTransferToAHungFollowerLeavesTheLeaderWorking(t *testing.T) {
	simulate(t, 1, func(t *testing.T, c *simCluster) {
		leader := c.leader(1)
		target := c.init[0].ID
		if target == leader {
			target = c.init[1].ID
		}
		c.fabric.Cut(leader, target)
		for range 3 {
			res := c.at(leader, op.Transfer{Group: 1, To: target}, op.Local)
			if res.Err == nil {
				t.Fatal("the transfer to a node that is cut off succeeded")
			}
		}
		c.do(op.Set{Key: []byte("k"), Value: []byte("v")}, op.Local)
		c.fabric.HealAll()
		c.do(op.Set{Key: []byte("k"), Value: []byte("w")}, op.Local)
	})
}

func TestSimTransferMovesTheLeaderAndThePreference(t *testing.T) {
	simulate(t, 1, func(t *testing.T, c *simCluster) {
		for _, m := range c.init {
			res := c.do(op.Transfer{Group: 1, To: m.ID}, op.Local)
			var to string
			if err := op.DecodeDetail(res.Detail, &to); err != nil || to != m.ID {
				t.Fatalf("transfer went to %q, %v; want %s", to, err, m.ID)
			}
			time.Sleep(20 * time.Second) // the balancer must not move it back
			if got := c.leader(1); got != m.ID {
				t.Errorf("after the transfer %s leads, want %s", got, m.ID)
			}
		}
	})
}

// TestSimTransferToNobodyIsRefused at once, by name, whichever node is asked.
func TestSimTransferToNobodyIsRefused(t *testing.T) {
	simulate(t, 1, func(t *testing.T, c *simCluster) {
		for _, m := range c.init {
			res := c.at(m.ID, op.Transfer{Group: 1, To: "n9"}, op.Local)
			if !errors.Is(res.Err, op.ErrRefused) || res.Err.Field != "to" {
				t.Errorf("%s: %v, want a refusal that names to", m.ID, res.Err)
			}
		}
	})
}

func TestSimLeadersSpreadAgainAfterAFailure(t *testing.T) {
	simulate(t, 6, func(t *testing.T, c *simCluster) {
		even := func(nodes, most int) bool {
			led := map[string]int{}
			for _, g := range c.clusterMap().Groups {
				led[c.leader(g.ID)]++
			}
			for id, n := range led {
				if id == "" || n > most {
					return false
				}
			}
			return len(led) == nodes
		}
		wait := func(nodes, most int) {
			t.Helper()
			for stop := time.Now().Add(2 * time.Minute); !even(nodes, most); time.Sleep(500 * time.Millisecond) {
				if time.Now().After(stop) {
					t.Fatalf("leaders are not spread over %d nodes with at most %d each", nodes, most)
				}
			}
		}
		wait(3, 2)
		c.halt("n2")
		wait(2, 4)
		c.restart("n2")
		wait(3, 2)
	})
}

func TestSimDrainHandsOverWithoutUnknownOutcomes(t *testing.T) {
	simulate(t, 4, func(t *testing.T, c *simCluster) {
		stop := make(chan struct{})
		failed := make(chan error, 1)
		go func() {
			defer close(failed)
			for i := 0; ; i++ {
				time.Sleep(5 * time.Millisecond)
				select {
				case <-stop:
					return
				default:
				}
				o := op.Set{Key: fmt.Appendf(nil, "k%d", i%50), Value: []byte("v")}
				for started := time.Now(); ; time.Sleep(5 * time.Millisecond) {
					_, err := c.try(o, op.Local)
					if err == nil {
						break
					}
					if !errors.Is(err, op.ErrUnavailable) || time.Since(started) > 5*time.Second {
						failed <- fmt.Errorf("write %d: %w", i, err)
						return
					}
				}
			}
		}()
		time.Sleep(time.Second)
		for _, m := range c.init {
			if err := c.nodes[m.ID].node.Drain(t.Context()); err != nil {
				t.Errorf("drain %s: %v", m.ID, err)
			}
			for _, r := range c.statusOf(m.ID).Replicas {
				if r.Role == "leader" {
					t.Errorf("%s still leads group %d", m.ID, r.Group)
				}
			}
			c.nodes[m.ID].node.Undrain()
			time.Sleep(10 * time.Second)
		}
		close(stop)
		if err := <-failed; err != nil {
			t.Error(err)
		}
	})
}

// tamperingStore flips a bit of every value that one node's log hands to its state
// machine, as a broken memory module would.
type tamperingStore struct {
	*storage.Memory
	group uint64
}

func (s tamperingStore) OpenReplica(group, generation uint64) (*storage.Replica, error) {
	r, err := s.Memory.OpenReplica(group, generation)
	if err == nil && group == s.group {
		r.Logs = tamperingLogs{r.Logs}
	}
	return r, err
}

type tamperingLogs struct{ raft.LogStore }

func (l tamperingLogs) GetLog(index uint64, out *raft.Log) error {
	err := l.LogStore.GetLog(index, out)
	if i := bytes.Index(out.Data, []byte("precious")); err == nil && i >= 0 {
		out.Data = bytes.Clone(out.Data)
		out.Data[i] ^= 1
	}
	return err
}

func TestSimReplicaThatDiffersTakesItselfOut(t *testing.T) {
	simulate(t, 1, func(t *testing.T, c *simCluster) {
		const bad = "n3"
		c.do(op.Transfer{Group: 1, To: "n1"}, op.Local) // the leader applies what it proposed, not what its log holds
		c.halt(bad)
		c.nodes[bad].wrap = func(s shard.Store) shard.Store { return tamperingStore{c.nodes[bad].store, 1} }
		c.restart(bad)
		c.waitReady()
		c.do(op.Set{Key: []byte("k"), Value: []byte("precious")}, op.Local)
		var got op.ReplicaStatus
		for stop := time.Now().Add(time.Minute); time.Now().Before(stop); time.Sleep(time.Second) {
			if got = c.replicaStatus(bad, 1); got.Role == "quarantined" {
				break
			}
		}
		if got.Role != "quarantined" || got.Reason == "" {
			t.Fatalf("the replica that differs is %q, %q; want quarantined with a reason", got.Role, got.Reason)
		}
		if res := c.at(bad, op.Get{Key: []byte("k")}, op.Local); !errors.Is(res.Err, op.ErrUnavailable) {
			t.Errorf("it answers %q, %v; want it to send the caller elsewhere", res.Value, res.Err)
		}
		for _, id := range []string{"n1", "n2"} {
			if res := c.at(id, op.Get{Key: []byte("k")}, op.Local); string(res.Value) != "precious" {
				t.Errorf("%s answers %q, %v", id, res.Value, res.Err)
			}
		}
		c.halt(bad)
		c.nodes[bad].wrap = nil
		c.restart(bad)
		time.Sleep(5 * time.Second)
		if got := c.replicaStatus(bad, 1); got.Role != "quarantined" {
			t.Errorf("after a restart it is %q, want still quarantined", got.Role)
		}
		c.do(op.Set{Key: []byte("k"), Value: []byte("more")}, op.Local)
	})
}

func TestSimFullDiskStopsWritesAndNotReads(t *testing.T) {
	simulate(t, 1, func(t *testing.T, c *simCluster) {
		key := []byte("k")
		c.do(op.Set{Key: key, Value: []byte("v")}, op.Local)
		full := errors.New("disk full")
		leader := c.leader(1)
		c.nodes[leader].store.SetFull(full)
		if res := c.at(leader, op.Set{Key: key, Value: []byte("w")}, op.Local); !errors.Is(res.Err, op.ErrUnavailable) {
			t.Fatalf("a write on a full disk: %+v, want unavailable", res)
		}
		c.do(op.Set{Key: key, Value: []byte("w")}, op.Local) // another node takes over
		for _, s := range c.nodes {
			s.store.SetFull(full)
		}
		for _, m := range c.init {
			if res := c.at(m.ID, op.Set{Key: key, Value: []byte("x")}, op.Local); res.Err == nil {
				t.Errorf("%s wrote to a full disk", m.ID)
			}
		}
		if res := c.do(op.Get{Key: key}, op.Linearizable); string(res.Value) != "w" {
			t.Errorf("read %q with full disks, want w", res.Value)
		}
		for _, s := range c.nodes {
			s.store.SetFull(nil)
		}
		c.do(op.Set{Key: key, Value: []byte("x")}, op.Local)
	})
}
