package integration

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ringraft/ringraft/internal/bubble"
	"github.com/ringraft/ringraft/op"
	"github.com/ringraft/ringraft/shard"
)

func TestSimClustersOfEverySizeServeAndFailOver(t *testing.T) {
	for _, n := range []int{1, 2, 3, 5, 7} {
		t.Run(fmt.Sprintf("%d nodes", n), func(t *testing.T) {
			t.Parallel()
			bubble.Test(t, func(t *testing.T) {
				c := newSimCluster(t, n, 4)
				c.writeKeys(50)
				c.checkKeys(50)
				if n < 3 {
					return
				}
				c.halt("n1") // a meta voter
				c.checkKeys(50)
				c.do(op.SetConfig{Name: "max-bytes", Value: "9MiB"}, op.Local)
				c.restart("n1")
				time.Sleep(5 * time.Second)
				for _, m := range c.init {
					if got := c.nodes[m.ID].node.Map().Settings.MaxBytes; got != 9<<20 {
						t.Errorf("%s knows max-bytes %d, want %d", m.ID, got, 9<<20)
					}
				}
			})
		})
	}
}

func (c *simCluster) writeKeys(n int) {
	c.t.Helper()
	for i := range n {
		c.do(op.Set{Key: fmt.Appendf(nil, "k%d", i), Value: fmt.Append(nil, i)}, op.Local)
	}
}

func (c *simCluster) checkKeys(n int) {
	c.t.Helper()
	for i := range n {
		if res := c.do(op.Get{Key: fmt.Appendf(nil, "k%d", i)}, op.Linearizable); string(res.Value) != fmt.Sprint(i) {
			c.t.Errorf("k%d = %q, want %d", i, res.Value, i)
		}
	}
}

// unformed runs a scenario on three nodes that have not been started.
func unformed(t *testing.T, scenario func(*testing.T, *simCluster)) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) { scenario(t, newUnformedCluster(t, 3, 1)) })
}

// startLater starts a node from a goroutine.
func (c *simCluster) startLater(id string) <-chan error {
	started := make(chan error, 1)
	go func() { started <- c.start(id) }()
	return started
}

func TestSimFormationWaitsForTheLastMember(t *testing.T) {
	unformed(t, func(t *testing.T, c *simCluster) {
		one, two := c.startLater("n1"), c.startLater("n2")
		time.Sleep(30 * time.Second)
		for _, id := range []string{"n1", "n2"} {
			if cluster := c.nodes[id].store.Identity().Cluster; cluster != "" {
				t.Fatalf("%s formed cluster %s without n3", id, cluster)
			}
		}
		for _, started := range []<-chan error{c.startLater("n3"), one, two} {
			if err := <-started; err != nil {
				t.Fatal(err)
			}
		}
		c.waitReady()
	})
}

func TestSimMemberThatMissedTheEndOfFormationJoins(t *testing.T) {
	for name, lost := range map[string]bool{"all others are there": false, "another is gone for good": true} {
		t.Run(name, func(t *testing.T) {
			unformed(t, func(t *testing.T, c *simCluster) {
				c.nodes["n3"].wrap = func(s shard.Store) shard.Store { return formless{s} }
				one, two, three := c.startLater("n1"), c.startLater("n2"), c.startLater("n3")
				if err := <-three; !errors.Is(err, errFormless) {
					t.Fatalf("n3 started with a disk that keeps nothing: %v", err)
				}
				if err := errors.Join(<-one, <-two); err != nil {
					t.Fatal(err)
				}
				c.halt("n3")
				c.nodes["n3"].wrap = nil
				if lost {
					c.halt("n2")
				}
				c.restart("n3")
				c.waitReady()
				if a, b := c.nodes["n1"].store.Identity().Cluster, c.nodes["n3"].store.Identity().Cluster; a != b {
					t.Errorf("n1 is in cluster %s, n3 in %s", a, b)
				}
			})
		})
	}
}

var errFormless = errors.New("nothing is kept")

// formless is a data directory that cannot remember a cluster.
type formless struct{ shard.Store }

func (formless) Form(string, map[string]string) error { return errFormless }

func TestSimFormationRefusesAnotherSet(t *testing.T) {
	wants := func(t *testing.T, err error, part string) {
		t.Helper()
		var refused *shard.FormationError
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), part) {
			t.Errorf("got %v, want a formation error with %q", err, part)
		}
	}
	t.Run("while forming", func(t *testing.T) {
		unformed(t, func(t *testing.T, c *simCluster) {
			c.nodes["n2"].init = c.init[:2]
			one, two := c.startLater("n1"), c.startLater("n2")
			wants(t, <-one, "must be the same everywhere")
			wants(t, <-two, "must be the same everywhere")
		})
	})
	t.Run("after the others formed", func(t *testing.T) {
		unformed(t, func(t *testing.T, c *simCluster) {
			c.nodes["n3"].wrap = func(s shard.Store) shard.Store { return formless{s} }
			c.startAndIgnore("n1", "n2", "n3")
			c.halt("n3")
			c.nodes["n3"].wrap, c.nodes["n3"].init = nil, c.init[1:]
			wants(t, c.start("n3"), "must be the same everywhere")
			if cluster := c.nodes["n3"].store.Identity().Cluster; cluster != "" {
				t.Errorf("n3 is in cluster %s", cluster)
			}
		})
	})
	t.Run("a node that is no member", func(t *testing.T) {
		unformed(t, func(t *testing.T, c *simCluster) {
			c.form()
			c.nodes["n4"] = newSimNode(t, "n4")
			c.nodes["n4"].init = append([]shard.Member{{ID: "n4", Peer: "n4"}}, c.init...)
			wants(t, c.start("n4"), "is no member")
		})
	})
	t.Run("a wiped member", func(t *testing.T) {
		unformed(t, func(t *testing.T, c *simCluster) {
			c.form()
			c.halt("n3")
			c.nodes["n3"] = newSimNode(t, "n3")
			wants(t, c.start("n3"), "another data directory")
		})
	})
}

// startAndIgnore starts nodes at once and does not ask whether they could.
func (c *simCluster) startAndIgnore(ids ...string) {
	var started []<-chan error
	for _, id := range ids {
		started = append(started, c.startLater(id))
	}
	for _, s := range started {
		<-s
	}
}

// TestSimMemberOfAnotherClusterIsRefused: it comes with a formed directory, so it does
// not ask to join; but nobody takes it for the member whose name and address it has.
func TestSimMemberOfAnotherClusterIsRefused(t *testing.T) {
	unformed(t, func(t *testing.T, c *simCluster) {
		c.form()
		c.writeKeys(10)
		c.halt("n3")
		stranger := newSimNode(t, "n3")
		if err := stranger.store.Form("another", map[string]string{"n3": stranger.store.Identity().Incarnation}); err != nil {
			t.Fatal(err)
		}
		c.nodes["n3"] = stranger
		c.restart("n3")
		time.Sleep(30 * time.Second)
		if got := stranger.node.Map(); got.Cluster == c.nodes["n1"].store.Identity().Cluster {
			t.Error("a node of another cluster was given this cluster's map")
		}
		c.halt("n3")
		c.checkKeys(10)
	})
}

func TestSimAllNodesRestartWithWhatTheyKept(t *testing.T) {
	simulate(t, 4, func(t *testing.T, c *simCluster) {
		c.writeKeys(200)
		c.do(op.SetConfig{Name: "max-bytes", Value: "9MiB"}, op.Local)
		time.Sleep(3 * time.Second)
		before := c.clusterMap()
		for range 2 {
			for _, m := range c.init {
				c.halt(m.ID)
			}
			for _, m := range c.init {
				c.restart(m.ID)
			}
			c.waitReady()
			c.checkKeys(200)
			c.checkDigests()
		}
		if after := c.clusterMap(); after.Cluster != before.Cluster || after.Settings != before.Settings || after.Epoch < before.Epoch {
			t.Errorf("the map was epoch %d of %s with %+v, is epoch %d of %s with %+v",
				before.Epoch, before.Cluster, before.Settings, after.Epoch, after.Cluster, after.Settings)
		}
	})
}
