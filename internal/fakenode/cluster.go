package fakenode

import (
	"crypto/rand"
	"fmt"
	"sync"
	"time"

	"github.com/ringraft/ringraft/op"
	"github.com/ringraft/ringraft/placement"
)

// Config says what to start. The zero value is three nodes and four groups.
type Config struct {
	Cluster string // id; "" is one that no other cluster has
	Nodes   int    // ids n1, n2, …; 0 is 3
	Groups  int    // each with a replica on up to three nodes; 0 is 4
}

// Fault is what happens to a request instead of the ordinary.
type Fault struct {
	Err   *op.Error     // answer this, and do nothing
	Mute  bool          // do it, and never answer
	Cut   bool          // do it, and cut the node's connections in place of an answer
	Delay time.Duration // do it, and answer so much later
}

// Cluster is a set of nodes over one state machine per group.
type Cluster struct {
	mu        sync.Mutex
	cluster   placement.Map
	leaders   map[uint64]string // by group; 0 is the meta group
	nodes     map[string]*node
	groups    map[uint64]*group
	ahead     time.Duration // of the wall clock, see Advance
	intercept func(node string, req op.Request) *Fault
	served    map[op.Code]int
	delayed   sync.WaitGroup
}

// Start starts a cluster. Every group is led by its preferred replica.
func Start(cfg Config) (*Cluster, error) {
	if cfg.Cluster == "" {
		cfg.Cluster = "fake-" + rand.Text()
	}
	if cfg.Nodes == 0 {
		cfg.Nodes = 3
	}
	if cfg.Groups == 0 {
		cfg.Groups = 4
	}
	c := &Cluster{
		leaders: map[uint64]string{0: "n1"},
		nodes:   map[string]*node{},
		groups:  map[uint64]*group{},
		served:  map[op.Code]int{},
	}
	if err := c.start(cfg); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

func (c *Cluster) start(cfg Config) error {
	var members []placement.Node
	for i := range cfg.Nodes {
		n, err := startNode(c, fmt.Sprintf("n%d", i+1))
		if err != nil {
			return err
		}
		c.nodes[n.id] = n
		members = append(members, placement.Node{ID: n.id, Native: n.address, Peer: n.address, Incarnation: n.id})
	}
	m, err := placement.New(cfg.Cluster, members, cfg.Groups, 3, placement.Settings{})
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cluster = m
	for _, g := range m.Groups {
		c.leaders[g.ID] = g.Replicas[0].Node
	}
	return nil
}

// Close stops all nodes and waits for them. It may be called again.
func (c *Cluster) Close() {
	c.mu.Lock()
	nodes := c.nodes
	c.mu.Unlock()
	for _, n := range nodes {
		n.stop()
	}
	c.delayed.Wait()
}

// Endpoints returns the nodes' addresses in the order of their ids.
func (c *Cluster) Endpoints() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var addresses []string
	for _, n := range c.cluster.Nodes {
		addresses = append(addresses, n.Native)
	}
	return addresses
}

// Map returns the cluster map.
func (c *Cluster) Map() placement.Map {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cluster
}

// Install makes m the map of all nodes.
func (c *Cluster) Install(m placement.Map) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cluster = m
}

// GroupOf returns the group that owns key.
func (c *Cluster) GroupOf(key string) uint64 {
	return c.Map().GroupOf(op.SlotOf([]byte(key)))
}

// Leader returns the id of the group's leader.
func (c *Cluster) Leader(group uint64) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.leaders[group]
}

// Lead makes node the leader of group.
func (c *Cluster) Lead(group uint64, node string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.leaders[group] = node
}

// Intercept has f look at every request from now on; what it returns, if not nil,
// is the request's fault. It is called for several requests at once.
func (c *Cluster) Intercept(f func(node string, req op.Request) *Fault) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.intercept = f
}

func (c *Cluster) fault(node string, req op.Request) Fault {
	c.mu.Lock()
	intercept := c.intercept
	c.mu.Unlock()
	if intercept != nil {
		if f := intercept(node, req); f != nil {
			return *f
		}
	}
	return Fault{}
}

// Advance moves the clock of all nodes on.
func (c *Cluster) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead += d
}

func (c *Cluster) nowLocked() int64 { return time.Now().Add(c.ahead).UnixMilli() }

// Served returns how many requests of an operation were done, faults or not.
func (c *Cluster) Served(code op.Code) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.served[code]
}

// Stop stops a node: its connections break and its address is refused.
func (c *Cluster) Stop(id string) {
	c.node(id).stop()
}

// Restart starts a stopped node again, at another address, which a new map tells:
// somebody else may have the old one by now.
func (c *Cluster) Restart(id string) error {
	n, err := startNode(c, id)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.nodes[id] = n
	member, _ := c.cluster.Node(id)
	member.Native = n.address
	c.cluster = c.cluster.WithNode(member)
	return nil
}

func (c *Cluster) node(id string) *node {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.nodes[id]
}
