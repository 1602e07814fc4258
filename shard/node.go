package shard

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"github.com/ringraft/ringraft/op"
	"github.com/ringraft/ringraft/placement"
	"github.com/ringraft/ringraft/raftfsm"
)

// Node hosts the replicas that the cluster map gives it. New makes one; Start joins
// it to its peers; Drain and Close end it. Address, Verify, Departed and
// HandleCall may be called as soon as New returns, so that the network can be built from them.
type Node struct {
	cfg   Config
	log   *slog.Logger
	peers Peers

	meta       atomic.Pointer[meta] // nil until Start has opened it
	current    atomic.Pointer[placement.Map]
	draining   atomic.Bool
	failed     chan error // see Failed
	succession *succession

	hosting sync.Mutex // held while a replica is opened, or closed to be opened anew

	mu           sync.RWMutex
	groups       map[uint64]*group
	outOfService map[uint64]string // groups put in quarantine by this process, and why
	closed       bool

	clusterOps chan struct{} // bounds the cluster operations under way
	forwarded  chan struct{} // bounds the requests of other nodes being served
	txns       chan struct{} // bounds the transactions that are coordinated here
	values     sync.Pool     // of *[]byte, for the values of one answer each
	lookups    sync.Pool     // of *raftfsm.Lookups, for their memory
	mapKick    chan struct{}
	flusher    *flusher
	snapshots  snapshotPace
	ctx        context.Context
	stop       context.CancelFunc
	background tasks
}

// keptMemory bounds, in bytes, the memory that is kept of one answer.
const keptMemory = 64 << 10

// maxClusterOps is how many cluster operations a node works on at once.
const maxClusterOps = 32

// New returns a node that is not started yet.
func New(cfg Config) (*Node, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	n := &Node{
		cfg: cfg, log: cfg.Logger.With("node", cfg.ID),
		groups:       map[uint64]*group{},
		outOfService: map[uint64]string{},
		clusterOps:   make(chan struct{}, maxClusterOps),
		forwarded:    make(chan struct{}, maxForwarded),
		txns:         make(chan struct{}, maxTxns),
		values:       sync.Pool{New: func() any { return new([]byte) }},
		lookups:      sync.Pool{New: func() any { return new(raftfsm.Lookups) }},
		mapKick:      make(chan struct{}, 1),
		flusher:      newFlusher(),
		failed:       make(chan error, 1),
	}
	n.succession = newSuccession(n)
	n.current.Store(new(placement.Map))
	n.ctx, n.stop = context.WithCancel(context.Background())
	if err := n.loadMap(); err != nil {
		return nil, err
	}
	return n, n.checkIdentity()
}

// loadMap takes the last cluster map known, so that peers can be found and replicas
// started before the meta group has a leader.
func (n *Node) loadMap() error {
	b, err := n.cfg.Store.LoadMap()
	if err != nil || b == nil {
		return err
	}
	var m placement.Map
	if err := op.DecodeDetail(b, &m); err != nil {
		return fmt.Errorf("the cluster map in the data directory is damaged: %w", err)
	}
	if err := m.Check(); err != nil {
		return fmt.Errorf("the cluster map in the data directory is damaged: %w", err)
	}
	n.current.Store(&m)
	return nil
}

// Start forms the cluster if need be, which can last until ctx ends, and starts the
// node's replicas.
func (n *Node) Start(ctx context.Context, peers Peers) error {
	n.peers = peers
	if n.cfg.Store.Identity().Cluster == "" {
		if err := n.form(ctx); err != nil {
			return err
		}
		n.log.Info("cluster formed", "cluster", n.cfg.Store.Identity().Cluster)
	}
	peers.Join(n.cfg.Store.Identity().Cluster)
	m, err := openMeta(n)
	if err != nil {
		return err
	}
	n.mu.Lock()
	closed := n.closed
	if !closed {
		n.meta.Store(m)
	}
	n.mu.Unlock()
	if closed {
		return errors.Join(errStopping, m.close())
	}
	n.background.start(func() { n.flusher.run(n.ctx) })
	n.background.start(n.followMap)
	n.background.start(n.upkeep)
	n.background.start(n.pace)
	n.kickMap()
	return nil
}

// Failed gives the error that made the node unable to go on, if one does.
func (n *Node) Failed() <-chan error { return n.failed }

// Map returns the newest cluster map known here; its epoch is 0 before there is one.
func (n *Node) Map() placement.Map { return *n.current.Load() }

// GroupOf returns the group that owns slot, 0 while there is no map.
func (n *Node) GroupOf(slot uint16) uint64 { return n.current.Load().GroupOf(slot) }

// Shown returns the last log index of which this node's replica of a group shows
// something, 0 if it has none; see [raftfsm.FSM.Shown].
func (n *Node) Shown(group uint64) uint64 {
	if g := n.group(group); g != nil {
		return g.fsm.Shown()
	}
	return 0
}

// Now returns the node's time, in ms since the Unix epoch.
func (n *Node) Now() int64 { return n.cfg.Clock() }

// mapChanged takes over a new map, from the meta group's Apply: it must not block.
func (n *Node) mapChanged(m placement.Map) {
	if m.Epoch <= n.Map().Epoch {
		return
	}
	n.current.Store(&m)
	n.kickMap()
}

func (n *Node) kickMap() {
	select {
	case n.mapKick <- struct{}{}:
	default:
	}
}

// followMap makes the node host what the map gives it.
func (n *Node) followMap() {
	for {
		select {
		case <-n.ctx.Done():
			return
		case <-n.mapKick:
		}
		m := n.Map()
		if m.Epoch == 0 {
			continue
		}
		if err := n.cfg.Store.SaveMap(op.EncodeDetail(m)); err != nil {
			n.log.Error("the cluster map was not saved", "epoch", m.Epoch, "err", err)
		}
		for _, id := range m.Replicas(n.cfg.ID) {
			if err := n.host(id); err != nil {
				n.fail(err)
				return
			}
		}
	}
}

func (n *Node) fail(err error) {
	select {
	case n.failed <- err:
	default:
	}
}

// host starts the node's replica of a group unless it runs or is in quarantine.
func (n *Node) host(id uint64) error {
	n.hosting.Lock()
	defer n.hosting.Unlock()
	return n.hostLocked(id)
}

func (n *Node) hostLocked(id uint64) error {
	if reason, yes := n.quarantined(id); yes {
		n.log.Error("replica stays in quarantine: this node does not serve the group; replace the replica",
			"group", id, "reason", reason)
		return nil
	}
	if n.group(id) != nil {
		return nil
	}
	g, err := openGroup(n, id)
	if err != nil {
		return err
	}
	n.mu.Lock()
	closed := n.closed
	if !closed {
		n.groups[id] = g
	}
	n.mu.Unlock()
	close(g.hosted)
	if closed {
		return g.close()
	}
	return nil
}

// rehost stops a group's replica and starts it anew from its data.
func (n *Node) rehost(g *group) {
	n.hosting.Lock()
	defer n.hosting.Unlock()
	if n.group(g.id) != g || n.removeGroup(g.id) != g {
		return // it is being closed, or was restarted meanwhile
	}
	if err := g.close(); err != nil {
		n.log.Warn("close a replica to restart it", "group", g.id, "err", err)
	}
	if err := n.hostLocked(g.id); err != nil {
		n.fail(err)
	}
}

// group returns the replica of a data group hosted here, or nil.
func (n *Node) group(id uint64) *group {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return n.groups[id]
}

// removeGroup takes a group out of service and returns it, or nil.
func (n *Node) removeGroup(id uint64) *group {
	n.mu.Lock()
	defer n.mu.Unlock()
	g := n.groups[id]
	delete(n.groups, id)
	return g
}

// hosted returns the groups served here, by id.
func (n *Node) hosted() []*group {
	n.mu.RLock()
	defer n.mu.RUnlock()
	var gs []*group
	for _, id := range n.Map().Replicas(n.cfg.ID) {
		if g := n.groups[id]; g != nil {
			gs = append(gs, g)
		}
	}
	return gs
}

// replica returns this node's replica of a group, the meta group included, or nil.
func (n *Node) replica(group uint64) *replica {
	if group != metaGroup {
		if g := n.group(group); g != nil {
			return g.replica
		}
		return nil
	}
	if m := n.meta.Load(); m != nil {
		return m.replica
	}
	return nil
}

// placed returns a group's line in m and this node's replica in it.
func (n *Node) placed(m placement.Map, id uint64) (placement.Group, placement.Replica, bool) {
	g, ok := m.Group(id)
	if !ok {
		return g, placement.Replica{}, false
	}
	for _, r := range g.Replicas {
		if r.Node == n.cfg.ID {
			return g, r, true
		}
	}
	return g, placement.Replica{}, false
}

// votersOf returns a new group's configuration.
func votersOf(g placement.Group) []raft.Server {
	var servers []raft.Server
	for _, r := range g.Replicas {
		id := r.ServerID(g.ID)
		servers = append(servers, raft.Server{Suffrage: raft.Voter, ID: raft.ServerID(id), Address: raft.ServerAddress(id)})
	}
	return servers
}

// Close stops the node's replicas. It may be called again.
func (n *Node) Close() error {
	n.mu.Lock()
	if n.closed {
		n.mu.Unlock()
		return nil
	}
	n.closed = true
	groups := n.groups
	n.groups = map[uint64]*group{}
	n.mu.Unlock()
	n.stop()
	errs := make(chan error, len(groups)+1)
	for _, g := range groups {
		go func() { errs <- g.close() }()
	}
	go func() { errs <- n.closeMeta() }()
	var all error
	for range cap(errs) {
		all = errors.Join(all, <-errs)
	}
	return errors.Join(all, n.background.close(context.Background()))
}

func (n *Node) closeMeta() error {
	if m := n.meta.Load(); m != nil {
		return m.close()
	}
	return nil
}

// WaitReady returns when every group hosted here knows a leader and has caught up
// after the start, or with ctx's error.
func (n *Node) WaitReady(ctx context.Context) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !n.isReady() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
	return nil
}

func (n *Node) isReady() bool {
	m := n.Map()
	if m.Epoch == 0 {
		return false
	}
	for _, id := range m.Replicas(n.cfg.ID) {
		if _, out := n.quarantined(id); out {
			continue
		}
		if r := n.replica(id); r == nil || r.leaderNode() == "" || !r.caughtUp() {
			return false
		}
	}
	return true
}
