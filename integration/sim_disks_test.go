package integration

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/ringraft/ringraft/op"
	"github.com/ringraft/ringraft/shard"
	"github.com/ringraft/ringraft/shard/storage"
)

// TestSimLeaderWhoseLogFailsGivesWay: the term and vote can still be stored, as when
// only the log's file is bad, so the node can win elections, and must not keep the
// group from those who can write.
func TestSimLeaderWhoseLogFailsGivesWay(t *testing.T) {
	simulate(t, 1, func(t *testing.T, c *simCluster) {
		time.Sleep(time.Minute) // the leader is the preferred one
		bad := c.leader(1)
		fails := func(what string) error {
			if strings.HasPrefix(what, "log of replica 1.") {
				return errors.New("input/output error")
			}
			return nil
		}
		c.nodes[bad].fault.Store(&fails)
		if res := c.at(bad, op.Set{Key: []byte("k")}, op.Local); !errors.Is(res.Err, op.ErrUnknownOutcome) {
			t.Errorf("a write that the leader could not store: %+v, want it unknown", res)
		}
		longest, last := time.Duration(0), time.Now()
		for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
			if _, err := c.try(op.Set{Key: []byte("k"), Value: []byte("v")}, op.Local); err != nil {
				continue
			}
			longest, last = max(longest, time.Since(last)), time.Now()
			if leader := c.leader(1); leader == bad {
				t.Fatalf("%s leads and writes fail there", bad)
			}
		}
		if longest > 10*time.Second || time.Since(last) > time.Second {
			t.Errorf("no write was taken for %v, the last one %v ago", longest, time.Since(last))
		}
		c.nodes[bad].fault.Store(nil)
		c.waitReady()
		c.checkDigests()
		for stop := time.Now().Add(time.Minute); c.leader(1) != bad; time.Sleep(time.Second) {
			if time.Now().After(stop) {
				t.Fatalf("%s, the preferred leader, does not lead again with a disk that works", bad)
			}
		}
	})
}

// TestSimIdleGroupIsNotHandedToAFailingDisk: a log that fails lacks nothing while
// nobody writes, so only the failure itself shows that its node should not lead.
func TestSimIdleGroupIsNotHandedToAFailingDisk(t *testing.T) {
	simulate(t, 1, func(t *testing.T, c *simCluster) {
		time.Sleep(time.Minute)
		bad := c.leader(1)
		fails := func(what string) error {
			if strings.HasPrefix(what, "log of replica 1.") {
				return errors.New("input/output error")
			}
			return nil
		}
		c.nodes[bad].fault.Store(&fails)
		c.at(bad, op.Set{Key: []byte("k")}, op.Local)
		time.Sleep(30 * time.Second)
		leader := c.leader(1)
		if leader == bad || leader == "" {
			t.Fatalf("%q leads, want a node whose disk works", leader)
		}
		term := c.replicaStatus(leader, 1).Term
		time.Sleep(2 * time.Minute)
		if now := c.replicaStatus(leader, 1); now.Role != "leader" || now.Term != term {
			t.Errorf("%s is %s in term %d, was leader in term %d", leader, now.Role, now.Term, term)
		}
	})
}

// TestSimHungDiskIsNoticedAndItsNodeReplaced: the watchdog speaks, a stop ends though
// nothing can be handed over, and once the process is gone the others go on.
func TestSimHungDiskIsNoticedAndItsNodeReplaced(t *testing.T) {
	simulate(t, 1, func(t *testing.T, c *simCluster) {
		c.do(op.Set{Key: []byte("k"), Value: []byte("v")}, op.Local)
		hung := c.leader(0)
		c.do(op.Transfer{Group: 1, To: hung}, op.Local)
		c.doAmong([]string{hung}, op.Set{Key: []byte("k"), Value: []byte("v")}, op.Local) // it leads
		works := make(chan struct{})
		hangs := func(string) error { <-works; return nil }
		c.nodes[hung].fault.Store(&hangs)
		changed := make(chan op.Result, 1)
		go func() { changed <- c.at(hung, op.SetConfig{Name: "max-bytes", Value: "9MiB"}, op.Local) }()
		started := time.Now()
		res := c.at(hung, op.Set{Key: []byte("k"), Value: []byte("w")}, op.Local)
		if !errors.Is(res.Err, op.ErrUnknownOutcome) {
			t.Errorf("a write to a hung disk: %+v, want it unknown", res)
		}
		if what := <-c.nodes[hung].stall; !strings.Contains(what, "replica") || time.Since(started) > 15*time.Second {
			t.Errorf("%q was found to hang after %v", what, time.Since(started))
		}
		if res := <-changed; !errors.Is(res.Err, op.ErrUnknownOutcome) {
			t.Errorf("a change of the map on a hung disk: %+v, want it unknown", res)
		}
		short, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		started = time.Now()
		if err := c.nodes[hung].node.Drain(short); err == nil || time.Since(started) > 10*time.Second {
			t.Errorf("the drain of a node that hangs ended after %v with %v", time.Since(started), err)
		}
		if err := c.nodes[hung].net.Close(); err != nil { // the process is gone
			t.Fatal(err)
		}
		others := c.without(hung)
		if res := c.doAmong(others, op.Get{Key: []byte("k")}, op.Linearizable); string(res.Value) != "w" {
			t.Errorf("read %q, want w, which the other disks have", res.Value)
		}
		c.doAmong(others, op.Set{Key: []byte("k"), Value: []byte("x")}, op.Local)
		close(works)
		c.nodes[hung].fault.Store(nil)
		c.halt(hung)
		c.restart(hung)
		c.waitReady()
		if res := c.do(op.Get{Key: []byte("k")}, op.Linearizable); string(res.Value) != "x" {
			t.Errorf("read %q, want x", res.Value)
		}
		c.checkDigests()
	})
}

// rewritingStore gives one replica's state machine other entries than its log holds.
type rewritingStore struct {
	*storage.Memory
	rewrite func(data []byte) []byte
	marks   bool // whether quarantines are remembered
}

func (s rewritingStore) OpenReplica(group, generation uint64) (*storage.Replica, error) {
	r, err := s.Memory.OpenReplica(group, generation)
	if err == nil && group == 1 {
		r.Logs = rewritingLogs{r.Logs, s.rewrite}
	}
	return r, err
}

func (s rewritingStore) Quarantine(group uint64, reason string) error {
	if !s.marks {
		return errors.New("no space left on device")
	}
	return s.Memory.Quarantine(group, reason)
}

type rewritingLogs struct {
	raft.LogStore
	rewrite func([]byte) []byte
}

func (l rewritingLogs) GetLog(index uint64, out *raft.Log) error {
	err := l.LogStore.GetLog(index, out)
	if err == nil && out.Type == raft.LogCommand {
		out.Data = l.rewrite(out.Data)
	}
	return err
}

// ofANewerProgram makes an entry that holds the word unheard-of one that this program
// cannot read.
func ofANewerProgram(data []byte) []byte {
	if !bytes.Contains(data, []byte("unheard-of")) {
		return data
	}
	var e op.EntryBuilder
	e.Add([]byte{0x94, 0, 0, 0, 0x91, 127})
	return e.Build(1, nil)
}

func TestSimReplicaThatCannotApplyLeavesService(t *testing.T) {
	for name, marks := range map[string]bool{"for good": true, "though its directory takes no mark": false} {
		t.Run(name, func(t *testing.T) {
			simulate(t, 1, func(t *testing.T, c *simCluster) {
				key := []byte("k")
				c.do(op.Transfer{Group: 1, To: "n1"}, op.Local) // a leader applies what it proposed, not what its log holds
				c.halt("n3")
				c.nodes["n3"].wrap = func(shard.Store) shard.Store {
					return rewritingStore{c.nodes["n3"].store, ofANewerProgram, marks}
				}
				c.restart("n3")
				c.waitReady()
				c.do(op.Set{Key: key, Value: []byte("unheard-of")}, op.Local)
				time.Sleep(time.Second)
				check := func() {
					t.Helper()
					if got := c.replicaStatus("n3", 1); got.Role != "quarantined" || !strings.Contains(got.Reason, "127") {
						t.Errorf("the replica is %q, %q; want it quarantined for the code 127", got.Role, got.Reason)
					}
					if res := c.at("n3", op.Get{Key: key}, op.Local); !errors.Is(res.Err, op.ErrUnavailable) {
						t.Errorf("it answers %+v, want it to send the caller elsewhere", res)
					}
				}
				check()
				c.do(op.SetConfig{Name: "max-bytes", Value: "9MiB"}, op.Local) // a new map starts what is missing
				time.Sleep(time.Second)
				check()
				for _, id := range []string{"n1", "n2"} {
					if res := c.at(id, op.Get{Key: key}, op.Local); string(res.Value) != "unheard-of" {
						t.Errorf("%s answers %+v", id, res)
					}
				}
			})
		})
	}
}
