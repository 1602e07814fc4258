package integration

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringraft/ringraft/op"
	"github.com/ringraft/ringraft/placement"
	"github.com/ringraft/ringraft/shard"
	"github.com/ringraft/ringraft/shard/storage"
	"github.com/ringraft/ringraft/transport/peer"
)

// simCluster is a cluster in one process: real nodes, real Raft, the real peer
// protocol, over a network and storage in memory. It runs inside testing/synctest,
// so that time costs nothing.
type simCluster struct {
	t      *testing.T
	fabric *peer.Fabric
	init   []shard.Member
	nodes  map[string]*simNode
	groups int
	logs   *slog.Logger
	tune   func(*shard.Config) // nil: the configuration as it is
}

// simNode is a node that can be stopped and started again with what it stored.
type simNode struct {
	id    string
	store *storage.Memory
	wrap  func(shard.Store) shard.Store // nil: the store as it is
	init  []shard.Member                // nil: the cluster's
	clock func() int64                  // nil: the simulation's
	fault atomic.Pointer[func(what string) error]
	stall chan string // what hangs, once the watchdog has noticed
	node  *shard.Node
	net   *peer.Network
}

// write is called before each write to the node's logs and stable stores.
func (s *simNode) write(what string) error {
	if fault := s.fault.Load(); fault != nil {
		return (*fault)(what)
	}
	return nil
}

// simPeers makes a peer.Network what a node needs.
type simPeers struct {
	*peer.Network
	self peer.Identity
}

func (p simPeers) Join(cluster string) {
	p.self.Cluster = cluster
	if err := p.SetSelf(p.self); err != nil {
		panic(err)
	}
}

// newSimCluster forms a cluster of n nodes, n1 to nN, and waits until every group
// has a leader that answers.
func newSimCluster(t *testing.T, n, groups int) *simCluster {
	c := newUnformedCluster(t, n, groups)
	c.form()
	return c
}

// newUnformedCluster returns a cluster of which no node has been started.
func newUnformedCluster(t *testing.T, n, groups int) *simCluster {
	c := &simCluster{t: t, fabric: peer.NewFabric(), nodes: map[string]*simNode{}, groups: groups, logs: testLogger(t)}
	for i := range n {
		id := fmt.Sprintf("n%d", i+1)
		c.init = append(c.init, shard.Member{ID: id, Peer: id})
	}
	for _, m := range c.init {
		c.nodes[m.ID] = newSimNode(t, m.ID)
	}
	t.Cleanup(c.stop)
	return c
}

// newSimNode returns a node with an empty data directory.
func newSimNode(t *testing.T, id string) *simNode {
	s := &simNode{id: id, stall: make(chan string, 1)}
	onStall := func(what string, _ time.Time) {
		select {
		case s.stall <- what:
		default:
		}
	}
	var err error
	if s.store, err = storage.NewMemory(storage.Config{Node: id, OnStall: onStall}, s.write); err != nil {
		t.Fatal(err)
	}
	return s
}

// form starts all nodes and waits until every group has a leader that answers.
func (c *simCluster) form() {
	c.t.Helper()
	started := make(chan error, len(c.init))
	for _, m := range c.init {
		go func() { started <- c.start(m.ID) }()
	}
	for range c.init {
		if err := <-started; err != nil {
			c.t.Fatal(err)
		}
	}
	c.waitReady()
}

func testLogger(t *testing.T) *slog.Logger {
	level := slog.LevelError
	if testing.Verbose() {
		level = slog.LevelInfo
	}
	return slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: level}))
}

// start runs a node with what its store holds.
func (c *simCluster) start(id string) error {
	s := c.nodes[id]
	store := shard.Store(s.store)
	if s.wrap != nil {
		store = s.wrap(store)
	}
	init := c.init
	if s.init != nil {
		init = s.init
	}
	cfg := shard.Config{
		ID: id, Native: id + ":native", Peer: id, Store: store, Init: init,
		Groups: c.groups, Replicas: 3, Logger: c.logs, Clock: s.clock,
	}
	if c.tune != nil {
		c.tune(&cfg)
	}
	node, err := shard.New(cfg)
	if err != nil {
		return err
	}
	self := peer.Identity{Cluster: s.store.Identity().Cluster, Node: id, Incarnation: s.store.Identity().Incarnation}
	net, err := c.fabric.Network(peer.Config{
		Self: self, Logger: c.logs, Departed: node.Departed,
		Verify: func(remote peer.Identity) error { return node.Verify(remote.Node, remote.Incarnation) },
		Handle: func(ctx context.Context, from peer.From, request []byte) ([]byte, error) {
			return node.HandleCall(ctx, shard.Caller{Node: from.Node, Incarnation: from.Incarnation, Member: from.Member}, request)
		},
	})
	if err != nil {
		return err
	}
	s.node, s.net = node, net
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return node.Start(ctx, simPeers{net, self})
}

// halt stops a node: its network at once, as if it had died, then the rest.
func (c *simCluster) halt(id string) {
	s := c.nodes[id]
	if err := s.net.Close(); err != nil {
		c.t.Errorf("close network of %s: %v", id, err)
	}
	if err := s.node.Close(); err != nil {
		c.t.Errorf("close %s: %v", id, err)
	}
	if err := s.store.Close(); err != nil {
		c.t.Errorf("close store of %s: %v", id, err)
	}
	s.node = nil
}

func (c *simCluster) restart(id string) {
	c.t.Helper()
	if err := c.start(id); err != nil {
		c.t.Fatalf("restart %s: %v", id, err)
	}
}

func (c *simCluster) stop() {
	for id, s := range c.nodes {
		if s.node != nil {
			c.halt(id)
		}
	}
}

// waitReady returns when every group answers a linearizable read.
func (c *simCluster) waitReady() {
	c.t.Helper()
	deadline := time.Now().Add(time.Minute)
	for time.Now().Before(deadline) {
		if c.ready() {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	c.t.Fatal("the cluster is not ready after a minute")
}

func (c *simCluster) ready() bool {
	m := c.clusterMap()
	if m.Epoch == 0 {
		return false
	}
	ready := true
	for _, g := range m.Groups {
		_, err := c.try(op.Stat{Key: keyOf(m, g.ID)}, op.Linearizable)
		ready = ready && err == nil
	}
	return ready
}

// clusterMap returns the newest map that a running node has.
func (c *simCluster) clusterMap() placement.Map {
	var newest placement.Map
	for _, s := range c.nodes {
		if s.node != nil {
			if m := s.node.Map(); m.Epoch > newest.Epoch {
				newest = m
			}
		}
	}
	return newest
}

// keyOf returns a key that group owns.
func keyOf(m placement.Map, group uint64) []byte {
	for i := 0; ; i++ {
		if key := fmt.Appendf(nil, "key-%d", i); m.GroupOf(op.SlotOf(key)) == group {
			return key
		}
	}
}

type replyChan chan op.Result

func (r replyChan) Reply(res op.Result) {
	// The reply must not keep what the result refers to.
	b := res.AppendTo(nil)
	own, err := op.DecodeResult(b)
	if err != nil {
		panic(err)
	}
	r <- own
}

// at asks one node.
func (c *simCluster) at(id string, o op.Op, level op.Level) op.Result {
	return c.ask(id, op.Request{Op: o, Level: level})
}

// ask sends one node a request.
func (c *simCluster) ask(id string, req op.Request) op.Result {
	s := c.nodes[id]
	if s.node == nil {
		return op.Fail(op.Unavailable("%s is down", id))
	}
	reply := make(replyChan, 1)
	req.Raw = op.AppendCommand(nil, req.Command())
	serveOrLookUp(s.node, req, reply)
	return <-reply
}

// try asks the nodes in turn until one answers; a write whose outcome is unknown is
// not repeated.
func (c *simCluster) try(o op.Op, level op.Level) (op.Result, error) {
	var last *op.Error
	for _, m := range c.init {
		res := c.at(m.ID, o, level)
		if res.Err == nil {
			return res, nil
		}
		last = res.Err
		if !errors.Is(res.Err, op.ErrUnavailable) {
			break
		}
	}
	return op.Result{}, last
}

// do repeats try for up to 30 s while nothing happened.
func (c *simCluster) do(o op.Op, level op.Level) op.Result {
	c.t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for {
		res, err := c.try(o, level)
		if err == nil {
			return res
		}
		if !errors.Is(err, op.ErrUnavailable) || time.Now().After(deadline) {
			c.t.Fatalf("%s: %v", o.Code(), err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// leader returns the node that leads group.
func (c *simCluster) leader(group uint64) string {
	for _, m := range c.init {
		s := c.nodes[m.ID]
		if s.node == nil {
			continue
		}
		for _, st := range c.statusOf(m.ID).Replicas {
			if st.Group == group && st.Role == "leader" {
				return m.ID
			}
		}
	}
	return ""
}

func (c *simCluster) statusOf(id string) op.NodeStatus {
	var status []op.NodeStatus
	res := c.at(id, op.Status{}, op.Local)
	if res.Err != nil {
		c.t.Fatalf("status of %s: %v", id, res.Err)
	}
	if err := op.DecodeDetail(res.Detail, &status); err != nil {
		c.t.Fatal(err)
	}
	return status[0]
}

// replicaStatus returns what a node tells of its replica of group.
func (c *simCluster) replicaStatus(id string, group uint64) op.ReplicaStatus {
	for _, r := range c.statusOf(id).Replicas {
		if r.Group == group {
			return r
		}
	}
	return op.ReplicaStatus{}
}
