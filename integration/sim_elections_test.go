package integration

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ringraft/ringraft/internal/bubble"
	"github.com/ringraft/ringraft/op"
	"github.com/ringraft/ringraft/shard"
	"github.com/ringraft/ringraft/transport/peer"
)

// patient is a heartbeat timeout after which a test can tell an election that waited
// for it from one that did not.
const patient = 10 * time.Second

// atOnce bounds the election of a leader that waits for no timeout.
const atOnce = 100 * time.Millisecond

// newPatientCluster is a cluster in which heartbeats fail only after a long time.
func newPatientCluster(t *testing.T, nodes, groups, replicas int) *simCluster {
	c := newUnformedCluster(t, nodes, groups)
	c.tune = func(cfg *shard.Config) { cfg.Replicas, cfg.Timing.Heartbeat = replicas, patient }
	c.form()
	time.Sleep(time.Minute) // leaders are the preferred ones
	return c
}

// newSettledCluster is a cluster with the patience that nodes have by default.
func newSettledCluster(t *testing.T, nodes, groups, replicas int) *simCluster {
	c := newUnformedCluster(t, nodes, groups)
	c.tune = func(cfg *shard.Config) { cfg.Replicas = replicas }
	c.form()
	time.Sleep(time.Minute) // leaders are the preferred ones
	return c
}

// terms returns the term of each group, the meta group included, as a node knows it.
func (c *simCluster) terms(id string) map[uint64]uint64 {
	terms := map[uint64]uint64{}
	for _, r := range c.statusOf(id).Replicas {
		terms[r.Group] = r.Term
	}
	return terms
}

// groupsLedBy returns the groups that a node leads, the meta group included.
func (c *simCluster) groupsLedBy(id string) []uint64 {
	var led []uint64
	for _, r := range c.statusOf(id).Replicas {
		if r.Role == "leader" {
			led = append(led, r.Group)
		}
	}
	return led
}

// ledAmong returns the groups that some of these nodes lead.
func (c *simCluster) ledAmong(ids []string) (led []uint64) {
	for _, id := range ids {
		led = append(led, c.groupsLedBy(id)...)
	}
	return led
}

// gapOf returns how long it takes until a group has a leader that takes writes.
func (c *simCluster) gapOf(group uint64, limit time.Duration) time.Duration {
	o := op.Op(op.Set{Key: keyOf(c.clusterMap(), max(group, 1)), Value: []byte("v")})
	if group == 0 {
		o = op.SetConfig{Name: "max-bytes", Value: "9MiB"}
	}
	for began := time.Now(); ; time.Sleep(time.Millisecond) {
		if _, err := c.try(o, op.Local); err == nil || time.Since(began) > limit {
			return time.Since(began)
		}
	}
}

// die ends a node's process, as others see it, at once. What is returned waits for what
// a process need not clean up.
func (c *simCluster) die(id string) (buried func()) {
	s := c.nodes[id]
	node, done := s.node, make(chan error, 1)
	s.node = nil
	if err := s.net.Close(); err != nil {
		c.t.Errorf("close network of %s: %v", id, err)
	}
	go func() { done <- errors.Join(node.Close(), s.store.Close()) }()
	return func() {
		if err := <-done; err != nil {
			c.t.Errorf("close %s: %v", id, err)
		}
	}
}

func TestSimGroupsOfADeadProcessElectAtOnce(t *testing.T) {
	tests := []struct{ nodes, replicas, dead int }{
		{3, 3, 1}, {5, 5, 1}, {5, 5, 2}, {5, 3, 1}, {7, 7, 3},
	}
	for _, tc := range tests {
		t.Run(fmt.Sprintf("%d of %d nodes with %d replicas", tc.dead, tc.nodes, tc.replicas), func(t *testing.T) {
			t.Parallel()
			bubble.Test(t, func(t *testing.T) {
				c := newPatientCluster(t, tc.nodes, 6, tc.replicas)
				victims := []string{c.leader(0)}
				for i := len(c.init) - 1; len(victims) < tc.dead; i-- {
					if id := c.init[i].ID; id != victims[0] {
						victims = append(victims, id)
					}
				}
				var orphans []uint64
				for _, id := range victims {
					orphans = append(orphans, c.groupsLedBy(id)...)
				}
				if len(orphans) < 2 {
					t.Fatalf("the dead nodes led %v: too little to prove anything", orphans)
				}
				for _, id := range victims {
					defer c.die(id)()
				}
				for _, group := range orphans {
					if gap := c.gapOf(group, patient/2); gap > atOnce {
						t.Errorf("group %d takes writes again after %v", group, gap)
					}
				}
			})
		})
	}
}

// silences make all others hear nothing of a node, one way or both.
var silences = map[string]func(c *simCluster, node string){
	"cut off": func(c *simCluster, node string) { c.fabric.Isolate(node) },
	"mute": func(c *simCluster, node string) {
		for _, other := range c.without(node) {
			c.fabric.CutOneWay(node, other)
		}
	},
}

// TestSimGroupsOfASilentNodeElectAfterTheTimeout, all of them within a beat: nobody waits for
// the last follower to lose its patience.
func TestSimGroupsOfASilentNodeElectAfterTheTimeout(t *testing.T) {
	for name, silence := range silences {
		for _, of := range []struct{ nodes, replicas int }{{3, 3}, {5, 5}, {5, 3}} {
			t.Run(fmt.Sprintf("%s among %d with %d replicas", name, of.nodes, of.replicas), func(t *testing.T) {
				t.Parallel()
				bubble.Test(t, func(t *testing.T) {
					c := newPatientCluster(t, of.nodes, 6, of.replicas)
					silent := c.leader(0)
					orphans := c.groupsLedBy(silent)
					if len(orphans) < 2 {
						t.Fatalf("%s leads %v: too little to prove anything", silent, orphans)
					}
					silence(c, silent)
					beat := shard.Timing{Heartbeat: patient}.Beat()
					time.Sleep(patient - beat - atOnce)
					if led := c.ledAmong(c.without(silent)); slices.Contains(led, orphans[0]) {
						t.Errorf("group %d has elected before the timeout", orphans[0])
					}
					time.Sleep(2*beat + 2*atOnce)
					led := c.ledAmong(c.without(silent))
					for _, group := range orphans {
						if !slices.Contains(led, group) {
							t.Errorf("group %d has no leader a beat after the timeout", group)
						}
					}
				})
			})
		}
	}
}

// linkFaults are what can be wrong between two nodes.
var linkFaults = map[string]func(f *peer.Fabric, a, b string){
	"reset":           func(f *peer.Fabric, a, b string) { f.Reset(a, b) },
	"one-way cut":     func(f *peer.Fabric, a, b string) { f.CutOneWay(a, b) },
	"cut":             func(f *peer.Fabric, a, b string) { f.Cut(a, b) },
	"cut and reset":   func(f *peer.Fabric, a, b string) { f.Cut(a, b); f.Reset(a, b) },
	"refused one way": func(f *peer.Fabric, a, b string) { f.Refuse(a, b); f.Reset(a, b) },
	"refused":         func(f *peer.Fabric, a, b string) { f.Refuse(a, b); f.Refuse(b, a); f.Reset(a, b) },
}

// flap has something fail so many times, for less than longest, and fails the test if any
// group's term has changed anywhere at the end.
func (c *simCluster) flap(times int, longest time.Duration, fail func(random *rand.Rand)) {
	c.t.Helper()
	before := map[string]map[uint64]uint64{}
	for _, m := range c.init {
		before[m.ID] = c.terms(m.ID)
	}
	random := rand.New(rand.NewPCG(uint64(len(c.init)), 0))
	for range times {
		fail(random)
		time.Sleep(time.Duration(random.Int64N(int64(longest))))
		c.fabric.HealAll()
		time.Sleep(time.Duration(random.IntN(2000)) * time.Millisecond)
	}
	time.Sleep(5 * time.Second)
	for _, m := range c.init {
		if now := c.terms(m.ID); !maps.Equal(now, before[m.ID]) {
			c.t.Errorf("the terms on %s were %v, are %v", m.ID, before[m.ID], now)
		}
	}
}

// oneLink makes one link fail.
func (c *simCluster) oneLink(fault string) func(random *rand.Rand) {
	ends := len(c.init)
	if strings.HasPrefix(fault, "refused") {
		ends = 2 // a node that two others find refused within a moment is gone to them
	}
	return func(random *rand.Rand) {
		order := random.Perm(ends)
		linkFaults[fault](c.fabric, c.init[order[0]].ID, c.init[order[1]].ID)
	}
}

// linksOfALeader makes so many links of a group's leader fail, all at their one end or all
// at the other, once everybody has heard of it again since the last time.
func (c *simCluster) linksOfALeader(fault string, links int) func(random *rand.Rand) {
	return func(random *rand.Rand) {
		time.Sleep(3 * shard.Timing{Heartbeat: 500 * time.Millisecond}.Beat())
		leader := c.leader(uint64(random.IntN(len(c.clusterMap().Groups) + 1)))
		others := c.without(leader)
		outward := random.IntN(2) == 0
		for _, i := range random.Perm(len(others))[:links] {
			if outward {
				linkFaults[fault](c.fabric, leader, others[i])
			} else {
				linkFaults[fault](c.fabric, others[i], leader)
			}
		}
	}
}

// TestSimFlappingLinksElectNobody: connections break and come back, one way and both
// ways, and dials are refused, but each process lives and most see it.
func TestSimFlappingLinksElectNobody(t *testing.T) {
	for name := range linkFaults {
		for _, of := range []struct{ nodes, replicas int }{{2, 1}, {3, 3}, {4, 3}, {5, 5}, {7, 7}} {
			t.Run(fmt.Sprintf("%s among %d with %d replicas", name, of.nodes, of.replicas), func(t *testing.T) {
				t.Parallel()
				bubble.Test(t, func(t *testing.T) {
					c := newPatientCluster(t, of.nodes, 4, of.replicas)
					c.flap(linkFlaps, 300*time.Millisecond, c.oneLink(name))
				})
			})
		}
	}
}

// TestSimFailingLinksElectNobody: with the patience that nodes have by default, a link
// fails for far longer than heartbeats may, but a majority hears the leader.
func TestSimFailingLinksElectNobody(t *testing.T) {
	for name := range linkFaults {
		for _, of := range []struct{ nodes, replicas int }{{3, 3}, {5, 5}} {
			t.Run(fmt.Sprintf("%s among %d with %d replicas", name, of.nodes, of.replicas), func(t *testing.T) {
				t.Parallel()
				bubble.Test(t, func(t *testing.T) {
					c := newSettledCluster(t, of.nodes, 4, of.replicas)
					c.flap(linkFlaps, 3*time.Second, c.oneLink(name))
				})
			})
		}
	}
}

// TestSimFailingLinksOfALeaderElectNobody, with the patience that nodes have by default:
// many links of a leader fail at once, for long where a majority hears it, and all of them
// for less than heartbeats may.
func TestSimFailingLinksOfALeaderElectNobody(t *testing.T) {
	for name := range linkFaults {
		if strings.HasPrefix(name, "refused") {
			continue // a leader that two others find refused within a moment is gone to them
		}
		for _, nodes := range []int{3, 5, 7} {
			if raceEnabled && nodes > 3 {
				continue // the same code, for minutes
			}
			for _, of := range []struct {
				links   int
				longest time.Duration
			}{{min(nodes/2, 2), 3 * time.Second}, {nodes - 1, 200 * time.Millisecond}} { // the meta group has five voters at most
				t.Run(fmt.Sprintf("%s of %d among %d", name, of.links, nodes), func(t *testing.T) {
					t.Parallel()
					bubble.Test(t, func(t *testing.T) {
						c := newSettledCluster(t, nodes, 4, nodes)
						c.flap(leaderFlaps, of.longest, c.linksOfALeader(name, of.links))
					})
				})
			}
		}
	}
}

// TestSimWithoutAMajorityOfWitnessesHeartbeatsDecide: of the two that are left one is cut
// off from the dead node, and so cannot know that it is dead.
func TestSimWithoutAMajorityOfWitnessesHeartbeatsDecide(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		c := newPatientCluster(t, 3, 3, 3)
		dead := c.leader(1)
		blind := c.without(dead)[0]
		c.fabric.Cut(blind, dead)
		defer c.die(dead)()
		if gap := c.gapOf(1, time.Minute); gap < patient/2 || gap > 4*patient {
			t.Errorf("group 1 takes writes again after %v, want it to wait for heartbeats of %v", gap, patient)
		}
	})
}

// TestSimNodeThatStopsOrRestartsCostsNoFurtherElection: one that hands over first is
// mourned by nobody, one that is back at once is a follower like others.
func TestSimNodeThatStopsOrRestartsCostsNoFurtherElection(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		c := newPatientCluster(t, 3, 4, 3)
		for _, m := range c.init {
			if err := c.nodes[m.ID].node.Drain(t.Context()); err != nil {
				t.Fatal(err)
			}
			other := c.without(m.ID)[0]
			time.Sleep(100 * time.Millisecond) // all have heard of the new leaders
			before := c.terms(other)
			c.halt(m.ID)
			time.Sleep(time.Second)
			if now := c.terms(other); !maps.Equal(now, before) {
				t.Errorf("%s stopped after its drain: the terms were %v, are %v", m.ID, before, now)
			}
			c.restart(m.ID)
			time.Sleep(time.Second) // before a leader hands over what the node prefers to lead
			if now := c.terms(other); !maps.Equal(now, before) {
				t.Errorf("%s is back: the terms were %v, are %v", m.ID, before, now)
			}
			time.Sleep(time.Minute)
		}
	})
}

// TestSimDeadNodesComeBack over and over: each time its groups go on at once, and no
// write that was acknowledged is lost.
func TestSimDeadNodesComeBack(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		c := newPatientCluster(t, 3, 4, 3)
		for i := range 12 {
			key, value := fmt.Appendf(nil, "k%d", i%3), fmt.Appendf(nil, "%d", i)
			c.do(op.Set{Key: key, Value: value}, op.Local)
			dead := c.init[i%3].ID
			led := c.groupsLedBy(dead)
			buried := c.die(dead)
			for _, group := range led {
				if gap := c.gapOf(group, patient/2); gap > atOnce {
					t.Errorf("death %d, of %s: group %d takes writes again after %v", i, dead, group, gap)
				}
			}
			if res := c.do(op.Get{Key: key}, op.Linearizable); string(res.Value) != string(value) {
				t.Errorf("death %d, of %s: %s is %q, acknowledged was %q", i, dead, key, res.Value, value)
			}
			buried()
			c.restart(dead)
			time.Sleep(time.Minute)
		}
		c.checkDigests()
	})
}
