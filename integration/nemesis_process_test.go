package integration

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/ringraft/ringraft/client"
)

// liveNemesis does to a cluster of processes what crashes, schedulers and networks do.
type liveNemesis struct {
	cluster *liveCluster
	random  *rand.Rand
	tally   *tally
	groups  []uint64
	acts    []liveAct
	heals   []func() // in reverse
}

// liveAct is one kind of harm, which heal ends.
type liveAct struct {
	kind string
	do   func()
}

func newLiveNemesis(c *liveCluster, random *rand.Rand) *liveNemesis {
	n := &liveNemesis{cluster: c, random: random, tally: newTally()}
	for _, g := range c.clusterMap().Groups {
		n.groups = append(n.groups, g.ID)
	}
	n.acts = []liveAct{
		{"kill of a leader", func() { n.kill(n.leader()) }},
		{"pause of a leader", func() { n.pause(n.leader()) }},
		{"kill of a majority", func() { n.kill(n.some(len(c.nodes)/2 + 1)...) }},
		{"transfers", n.storm},
		{"kill of all", func() { n.kill(c.nodes...) }},
		{"kill of a node", func() { n.kill(n.some(1)...) }},
		{"pause of a follower", func() { n.pause(n.follower()) }},
		{"pause of a majority", func() { n.pause(n.some(len(c.nodes)/2 + 1)...) }},
	}
	return n
}

// strike does the harm of its turn; all kinds come before one comes again.
func (n *liveNemesis) strike(turn int) {
	act := n.acts[turn%len(n.acts)]
	n.tally.fault(act.kind)
	act.do()
}

// heal ends all harm.
func (n *liveNemesis) heal() {
	for len(n.heals) > 0 {
		last := len(n.heals) - 1
		n.heals[last]()
		n.heals = n.heals[:last]
	}
}

func (n *liveNemesis) later(heal func()) { n.heals = append(n.heals, heal) }

// some returns count different nodes.
func (n *liveNemesis) some(count int) (list []*liveNode) {
	for _, i := range n.random.Perm(len(n.cluster.nodes))[:count] {
		list = append(list, n.cluster.nodes[i])
	}
	return list
}

// leader returns the node that leads some group.
func (n *liveNemesis) leader() *liveNode {
	return n.cluster.leader(n.groups[n.random.IntN(len(n.groups))])
}

// follower returns a node that does not lead some group.
func (n *liveNemesis) follower() *liveNode {
	others := n.cluster.others(n.leader())
	return others[n.random.IntN(len(others))]
}

// kill ends the processes as one.
func (n *liveNemesis) kill(nodes ...*liveNode) {
	for _, node := range nodes {
		node.signal(syscall.SIGKILL)
		n.later(node.start)
	}
	for _, node := range nodes {
		<-node.ended
	}
}

func (n *liveNemesis) pause(nodes ...*liveNode) {
	for _, node := range nodes {
		node.pause()
		n.later(node.resume)
	}
}

// storm hands all leaderships over, to and fro, until it is healed.
func (n *liveNemesis) storm() {
	ctx, stop := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	for _, group := range n.groups {
		random := rand.New(rand.NewPCG(n.random.Uint64(), group))
		wg.Go(func() {
			for ctx.Err() == nil {
				to := n.cluster.nodes[random.IntN(len(n.cluster.nodes))].id
				try, cancel := context.WithTimeout(ctx, time.Second)
				_, _ = n.cluster.client.Transfer(try, group, to) // some cannot be
				cancel()
			}
		})
	}
	n.later(func() {
		stop()
		wg.Wait()
	})
}

// weather puts a proxy before each node and adds what proxies can do. It returns how
// to dial through them.
func (n *liveNemesis) weather() map[string]*weatherProxy {
	proxies := map[string]*weatherProxy{}
	for _, node := range n.cluster.nodes {
		proxies[node.native] = startWeatherProxy(n.cluster.t, node.native)
	}
	turn := func(w weather) func() {
		return func() {
			for _, p := range proxies {
				p.turn(w)
				n.later(func() { p.turn(fair) })
			}
		}
	}
	n.acts = append(n.acts, liveAct{"dropped replies", turn(muted)}, liveAct{"delayed replies", turn(slow)}, liveAct{"broken connections", turn(breaks)})
	return proxies
}

// clocks adds jumps of one node's clock, there and back: within what transactions over
// groups bear, or beyond. All nodes must have clocks that tests set.
func (n *liveNemesis) clocks() {
	jump := func() {
		node := n.some(1)[0]
		width := []time.Duration{4 * time.Second, 20 * time.Second}[n.random.IntN(2)]
		node.setClock(time.Duration(n.random.Int64N(int64(width))) - width/2)
		n.later(func() { node.setClock(0) }) // a jump as well
	}
	n.acts = slices.Insert(n.acts, 1, liveAct{"clock jump", jump})
}

// recover heals, and looks whether a write to every group succeeds in time.
func (n *liveNemesis) recover() {
	n.cluster.t.Helper()
	n.heal()
	ctx, cancel := context.WithTimeout(n.cluster.t.Context(), liveRecovery)
	defer cancel()
	m := n.cluster.clusterMap()
	for _, g := range n.groups {
		for {
			_, err := n.cluster.client.Set(ctx, string(keyOf(m, g)), []byte("well"))
			if err == nil {
				break
			}
			if ctx.Err() != nil {
				n.cluster.t.Fatalf("group %d takes no write within %v after all is healed: %v", g, liveRecovery, err)
			}
		}
	}
}

// newCaller returns a caller with a client of its own.
func (n *liveNemesis) newCaller(ctx context.Context, cfg client.Config) *liveCaller {
	n.cluster.t.Helper()
	cfg.ConnsPerNode, cfg.RequestTimeout = 1, liveCallTimeout
	var cl *client.Client
	eventually(n.cluster.t, "a client connects", func() (err error) {
		cl, err = n.cluster.dial(cfg)
		return err
	})
	n.cluster.t.Cleanup(func() { cl.Close() })
	return &liveCaller{ctx, cl, n.tally}
}
