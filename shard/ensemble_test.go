package shard

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/ringraft/ringraft/op"
	"github.com/ringraft/ringraft/placement"
	"github.com/ringraft/ringraft/shard/storage"
	"github.com/ringraft/ringraft/transport/peer"
)

// ensemble is a group of replicas on n1, n2 and so on, in fake time.
type ensemble struct {
	t        *testing.T
	nodes    []string
	fabric   *peer.Fabric
	servers  []raft.Server
	staging  staging
	open     map[string]func() (closingStore, error)
	stores   map[string]closingStore // of those that run
	disks    map[string]*testDisk
	networks map[string]*peer.Network
	replicas map[string]*replica
}

// staging is what an ensemble's replicas have in common.
type staging struct {
	wrap          func(raft.Transport) raft.Transport // nil leaves transports as they are
	machine       func(node string) machine           // makes one for a replica that starts
	snapshotAfter uint64
	log           storage.LogKind // on disk; "" is memory
}

// closingStore is storage.Dir or storage.Memory, whose content outlives Close.
type closingStore interface {
	Store
	Close() error
}

// newTrio starts three replicas that hold the cluster map.
func newTrio(t *testing.T, wrap func(raft.Transport) raft.Transport) *ensemble {
	t.Helper()
	return newEnsemble(t, 3, staging{
		wrap: wrap, machine: func(string) machine { return newMetaFSM(func(placement.Map) {}) }, snapshotAfter: 1 << 20,
	})
}

func newEnsemble(t *testing.T, size int, s staging) *ensemble {
	t.Helper()
	g := &ensemble{
		t: t, fabric: peer.NewFabric(), staging: s,
		open: map[string]func() (closingStore, error){}, stores: map[string]closingStore{}, disks: map[string]*testDisk{}, networks: map[string]*peer.Network{}, replicas: map[string]*replica{},
	}
	members := map[string]string{}
	for i := range size {
		id := fmt.Sprintf("n%d", i+1)
		g.nodes = append(g.nodes, id)
		members[id] = ""
	}
	g.servers = metaServers(members)
	for _, id := range g.nodes {
		g.disks[id] = new(testDisk)
		g.open[id] = g.storeOf(id)
		g.start(id)
	}
	return g
}

// storeOf returns what opens a node's store.
func (g *ensemble) storeOf(id string) func() (closingStore, error) {
	g.t.Helper()
	disk, cfg := g.disks[id], storage.Config{Node: id, Log: g.staging.log, StallAfter: time.Hour}
	if cfg.Log != "" {
		path := filepath.Join(g.t.TempDir(), id)
		return func() (closingStore, error) {
			dir, err := storage.Open(path, cfg)
			return testDir{dir, disk}, err
		}
	}
	memory, err := storage.NewMemory(cfg, disk.write)
	if err != nil {
		g.t.Fatal(err)
	}
	return func() (closingStore, error) { return memory, nil }
}

func (g *ensemble) start(id string) {
	g.t.Helper()
	store, err := g.open[id]()
	if err != nil {
		g.t.Fatal(err)
	}
	net, err := g.fabric.Network(peer.Config{Self: peer.Identity{Cluster: "c", Node: id, Incarnation: id}, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		g.t.Fatal(err)
	}
	r, err := openReplica(replicaConfig{
		group: metaGroup, self: placement.Replica{Node: id, Generation: 1}, store: store,
		servers: g.servers, peers: wrappedPeers{fabricPeers{net}, g.staging.wrap},
		machine: g.staging.machine(id), takeover: func() []byte { return op.EncodeDetail(metaCommand{}) },
		log: slog.New(slog.DiscardHandler), timing: Timing{}.withDefaults(), snapshotAfter: g.staging.snapshotAfter,
	})
	if err != nil {
		g.t.Fatal(errors.Join(err, net.Close(), store.Close()))
	}
	g.stores[id], g.networks[id], g.replicas[id] = store, net, r
}

func (g *ensemble) stop(id string) {
	g.t.Helper()
	if err := g.replicas[id].close(); err != nil {
		g.t.Error(err)
	}
	if err := errors.Join(g.networks[id].Close(), g.stores[id].Close()); err != nil {
		g.t.Error(err)
	}
	delete(g.replicas, id)
}

func (g *ensemble) close() {
	for id := range g.replicas {
		g.stop(id)
	}
}

// leader waits for a leader, and for all others to follow one. All replicas must be running.
func (g *ensemble) leader() (leader *replica, followers []*replica) {
	g.t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		time.Sleep(100 * time.Millisecond)
		leader, followers = nil, nil
		for _, id := range g.nodes {
			r := g.replicas[id]
			switch node := r.leaderNode(); {
			case r.readyTerm() != 0:
				leader = r
			case node != "":
				followers = append(followers, r)
			}
		}
		if leader != nil && len(followers) == len(g.nodes)-1 {
			return leader, followers
		}
	}
	g.t.Fatal("the group has no leader that all know")
	return nil, nil
}

// testDisk decides what becomes of writes to a node's logs. One goroutine tells it.
type testDisk struct {
	log    atomic.Pointer[func() error]
	turned chan struct{} // closed when writes that are delayed are to be looked at again; nil if none are
}

// onLog has do called before each write to a log, which fails if do does; nil ends that.
func (d *testDisk) onLog(do func() error) {
	if do == nil {
		d.log.Store(nil)
	} else {
		d.log.Store(&do)
	}
	if d.turned != nil {
		close(d.turned)
		d.turned = nil
	}
}

// delay has each write to a log take so long. Once something else is to be done with writes,
// that is done with those under way too.
func (d *testDisk) delay(long time.Duration) {
	turned := make(chan struct{})
	d.onLog(func() error {
		select {
		case <-time.After(long):
			return nil
		case <-turned:
			return d.write("log")
		}
	})
	d.turned = turned
}

func (d *testDisk) write(what string) error {
	if do := d.log.Load(); do != nil && strings.HasPrefix(what, "log") {
		return (*do)()
	}
	return nil
}

// testDir is a data directory whose logs are written as a testDisk says.
type testDir struct {
	*storage.Dir
	disk *testDisk
}

// OpenReplica opens a replica's files.
func (d testDir) OpenReplica(group, generation uint64) (*storage.Replica, error) {
	r, err := d.Dir.OpenReplica(group, generation)
	if err == nil {
		r.Logs = testLogs{r.Logs, d.disk}
	}
	return r, err
}

// testLogs asks a testDisk before it writes.
type testLogs struct {
	raft.LogStore
	disk *testDisk
}

func (l testLogs) StoreLog(entry *raft.Log) error { return l.StoreLogs([]*raft.Log{entry}) }

func (l testLogs) StoreLogs(entries []*raft.Log) error {
	if err := l.disk.write("log"); err != nil {
		return err
	}
	return l.LogStore.StoreLogs(entries)
}

func (l testLogs) DeleteRange(from, to uint64) error {
	if err := l.disk.write("log"); err != nil {
		return err
	}
	return l.LogStore.DeleteRange(from, to)
}

// wrappedPeers has replicas use transports of its own.
type wrappedPeers struct {
	fabricPeers
	wrap func(raft.Transport) raft.Transport
}

func (p wrappedPeers) Transport(id raft.ServerID) raft.Transport {
	if p.wrap == nil {
		return p.fabricPeers.Transport(id)
	}
	t := p.fabricPeers.Transport(id)
	return struct {
		raft.Transport
		raft.WithPreVote
		raft.WithClose
	}{p.wrap(t), t.(raft.WithPreVote), t.(raft.WithClose)}
}
