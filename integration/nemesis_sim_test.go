package integration

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ringraft/ringraft/op"
	"github.com/ringraft/ringraft/shard"
)

// simNemesis does to a simulated cluster what networks, disks, clocks and people do.
// It alone starts and stops nodes.
type simNemesis struct {
	cluster *simCluster
	service *simService
	random  dice
	down    []string
	clocks  map[string]*atomic.Int64 // by node: ms by which its clock is ahead
	works   func(what string) error  // a disk that does
	storms  sync.WaitGroup
}

// newSimNemesis makes disks take up to latency for each write.
func newSimNemesis(c *simCluster, random dice, latency time.Duration) *simNemesis {
	n := &simNemesis{cluster: c, random: random, clocks: map[string]*atomic.Int64{}, works: slowDisk(random.Uint64(), latency)}
	n.service = &simService{serving: map[string]*atomic.Pointer[shard.Node]{}, tally: newTally()}
	for _, m := range c.init {
		ahead := &atomic.Int64{}
		n.clocks[m.ID] = ahead
		c.nodes[m.ID].fault.Store(&n.works)
		c.nodes[m.ID].clock = func() int64 { return time.Now().UnixMilli() + ahead.Load() }
		n.service.ids = append(n.service.ids, m.ID)
		n.service.serving[m.ID] = &atomic.Pointer[shard.Node]{}
	}
	return n
}

// open lets callers find the nodes.
func (n *simNemesis) open() {
	n.service.cluster = n.cluster.clusterMap()
	for id, s := range n.cluster.nodes {
		n.service.serving[id].Store(s.node)
	}
}

// strike does one thing. Most things are healed by the next.
func (n *simNemesis) strike() {
	acts := []struct {
		kind string
		act  func()
	}{
		{"isolation", func() { n.cluster.fabric.Isolate(n.any()) }},
		{"isolated leader", func() { n.cluster.fabric.Isolate(n.leader()) }},
		{"one-way cut", func() { n.pair(n.cluster.fabric.CutOneWay) }},
		{"deaf node", func() { n.oneWay(n.any(), false) }},
		{"mute node", func() { n.oneWay(n.any(), true) }},
		{"bridge", func() { n.pair(n.cluster.fabric.Cut) }},
		{"reset", func() { n.pair(n.cluster.fabric.Reset) }},
		{"kill", func() { n.kill(n.any()) }},
		{"kill of the leader", func() { n.kill(n.leader()) }},
		{"kill of all", n.killAll},
		{"transfer", n.storm},
		{"transfer by a deaf leader", n.deafTransfer},
		{"transfer by a deaf leader", n.deafTransfer}, // twice as often: nothing else makes two leaders
		{"clock jump", n.jump},
		{"full disk", func() { n.cluster.nodes[n.any()].store.SetFull(errors.New("disk full")) }},
		{"failing disk", n.failDisk},
	}
	if n.random.IntN(2) == 0 {
		n.heal()
	}
	act := acts[n.random.IntN(len(acts))]
	n.service.tally.fault(act.kind)
	act.act()
}

// heal ends all that is wrong, but for clocks.
func (n *simNemesis) heal() {
	n.cluster.fabric.HealAll()
	for _, s := range n.cluster.nodes {
		s.store.SetFull(nil)
		s.fault.Store(&n.works)
	}
	for _, id := range n.down {
		n.cluster.restart(id)
		n.service.serving[id].Store(n.cluster.nodes[id].node)
	}
	n.down = nil
}

// end heals for good and waits for all that is under way.
func (n *simNemesis) end() {
	n.heal()
	for _, ahead := range n.clocks {
		ahead.Store(0) // transactions over several groups need clocks that nearly agree
	}
	n.storms.Wait()
}

func (n *simNemesis) any() string { return n.service.ids[n.random.IntN(len(n.service.ids))] }

// pair does something to two different nodes.
func (n *simNemesis) pair(act func(a, b string)) {
	if a, b := n.any(), n.any(); a != b {
		act(a, b)
	}
}

// oneWay cuts all that a node sends, or all that it is sent.
func (n *simNemesis) oneWay(node string, sends bool) {
	for _, other := range n.cluster.without(node) {
		if sends {
			n.cluster.fabric.CutOneWay(node, other)
		} else {
			n.cluster.fabric.CutOneWay(other, node)
		}
	}
}

// leader returns the node that leads some group, or any.
func (n *simNemesis) leader() string {
	groups := n.service.cluster.Groups
	if id := n.cluster.leader(groups[n.random.IntN(len(groups))].ID); id != "" {
		return id
	}
	return n.any()
}

func (n *simNemesis) kill(id string) {
	if n.cluster.nodes[id].node == nil {
		return
	}
	n.service.serving[id].Store(nil)
	n.cluster.halt(id)
	n.down = append(n.down, id)
}

func (n *simNemesis) killAll() {
	for _, id := range n.service.ids {
		n.kill(id)
	}
	n.heal()
}

// storm hands leaderships over, several at once.
func (n *simNemesis) storm() {
	for range 1 + n.random.IntN(6) {
		group := n.service.cluster.Groups[n.random.IntN(len(n.service.cluster.Groups))].ID
		at, to := n.any(), n.any()
		n.storms.Go(func() { n.service.ask(at, op.Request{Op: op.Transfer{Group: group, To: to}}) })
	}
}

// deafTransfer has a leader hand over, and makes it deaf when its successor begins: so it
// does not hear of the new leader, and goes on for as long as its office lasts.
func (n *simNemesis) deafTransfer() {
	n.heal()
	group := n.service.cluster.Groups[n.random.IntN(len(n.service.cluster.Groups))].ID
	leader := n.cluster.leader(group)
	if leader == "" {
		return
	}
	others := n.cluster.without(leader)
	to := others[n.random.IntN(len(others))]
	var begins sync.Once
	deafens := func(what string) error {
		if strings.HasPrefix(what, fmt.Sprintf("stable store of replica %d.", group)) {
			begins.Do(func() { n.oneWay(leader, false) })
		}
		return n.works(what)
	}
	n.cluster.nodes[to].fault.Store(&deafens)
	n.storms.Go(func() { n.service.ask(leader, op.Request{Op: op.Transfer{Group: group, To: to}}) })
	time.Sleep(2 * time.Second)
}

// jump sets one node's clock anywhere near the others', or within half a minute.
func (n *simNemesis) jump() {
	width := []int64{4_000, 60_000}[n.random.IntN(2)] // ms
	n.clocks[n.any()].Store(n.random.Int64N(width) - width/2)
}

// failDisk makes the logs of one node fail. Its terms and votes can still be stored.
func (n *simNemesis) failDisk() {
	fails := func(what string) error {
		if strings.HasPrefix(what, "log of replica") {
			return errors.New("input/output error")
		}
		return nil
	}
	n.cluster.nodes[n.any()].fault.Store(&fails)
}

// slowDisk returns what makes each write take up to latency.
func slowDisk(seed uint64, latency time.Duration) func(string) error {
	var mu sync.Mutex
	random := rand.New(rand.NewPCG(seed, 0))
	return func(string) error {
		if latency > 0 {
			mu.Lock()
			wait := random.Int64N(int64(latency))
			mu.Unlock()
			time.Sleep(time.Duration(wait))
		}
		return nil
	}
}
