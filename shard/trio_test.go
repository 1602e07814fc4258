package shard

import (
	"log/slog"
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

// trio is a group of three replicas, on n1, n2 and n3, in fake time.
type trio struct {
	t        *testing.T
	fabric   *peer.Fabric
	wrap     func(raft.Transport) raft.Transport // of every replica
	stores   map[string]*storage.Memory
	disks    map[string]*testDisk
	networks map[string]*peer.Network
	replicas map[string]*replica
}

func newTrio(t *testing.T, wrap func(raft.Transport) raft.Transport) *trio {
	t.Helper()
	g := &trio{
		t: t, fabric: peer.NewFabric(), wrap: wrap,
		stores: map[string]*storage.Memory{}, disks: map[string]*testDisk{}, networks: map[string]*peer.Network{}, replicas: map[string]*replica{},
	}
	for _, id := range []string{"n1", "n2", "n3"} {
		disk := new(testDisk)
		store, err := storage.NewMemory(storage.Config{Node: id, StallAfter: time.Hour}, disk.write)
		if err != nil {
			t.Fatal(err)
		}
		g.stores[id], g.disks[id] = store, disk
		g.start(id)
	}
	return g
}

func (g *trio) start(id string) {
	g.t.Helper()
	net, err := g.fabric.Network(peer.Config{Self: peer.Identity{Cluster: "c", Node: id, Incarnation: id}})
	if err != nil {
		g.t.Fatal(err)
	}
	r, err := openReplica(replicaConfig{
		group: metaGroup, self: placement.Replica{Node: id, Generation: 1}, store: g.stores[id],
		servers: metaServers(map[string]string{"n1": "", "n2": "", "n3": ""}), peers: wrappedPeers{fabricPeers{net}, g.wrap},
		machine: newMetaFSM(func(placement.Map) {}), takeover: func() []byte { return op.EncodeDetail(metaCommand{}) },
		log: slog.New(slog.DiscardHandler), timing: Timing{}.withDefaults(), snapshotAfter: 1 << 20,
	})
	if err != nil {
		g.t.Fatal(err)
	}
	g.networks[id], g.replicas[id] = net, r
}

func (g *trio) stop(id string) {
	g.t.Helper()
	if err := g.replicas[id].close(); err != nil {
		g.t.Error(err)
	}
	if err := g.networks[id].Close(); err != nil {
		g.t.Error(err)
	}
	delete(g.replicas, id)
}

func (g *trio) close() {
	for id := range g.replicas {
		g.stop(id)
	}
}

// leader waits for a leader and two followers that know it.
func (g *trio) leader() (leader *replica, followers []*replica) {
	for {
		time.Sleep(100 * time.Millisecond)
		leader, followers = nil, nil
		for _, r := range g.replicas {
			switch node := r.leaderNode(); {
			case r.readyTerm() != 0:
				leader = r
			case node != "":
				followers = append(followers, r)
			}
		}
		if leader != nil && len(followers) == 2 {
			return leader, followers
		}
	}
}

// testDisk decides what becomes of writes to a node's logs.
type testDisk struct{ log atomic.Pointer[func() error] }

// onLog has do called before each write to a log, which fails if do does; nil ends that.
func (d *testDisk) onLog(do func() error) {
	if do == nil {
		d.log.Store(nil)
		return
	}
	d.log.Store(&do)
}

func (d *testDisk) write(what string) error {
	if do := d.log.Load(); do != nil && strings.HasPrefix(what, "log") {
		return (*do)()
	}
	return nil
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
