package shard

import (
	"context"
	"log/slog"
	"time"

	"github.com/hashicorp/raft"

	"github.com/ringraft/ringraft/op"
	"github.com/ringraft/ringraft/placement"
	"github.com/ringraft/ringraft/shard/storage"
)

// Peers is what a node needs of the network between nodes.
type Peers interface {
	// Transport carries the Raft traffic of the replica with that server id.
	Transport(id raft.ServerID) raft.Transport
	// Call sends a request to another node's HandleCall. It ends with ctx. If the
	// request was certainly not handled, an error in its error's tree has a method
	// NotHandled that returns true.
	Call(ctx context.Context, node string, request []byte) ([]byte, error)
	// Stand makes the replica with that server id, one of this node, stand for election
	// at once. It must be a follower.
	Stand(id raft.ServerID) error
	// Settle returns once such a replica, which has had a leader, has handled all that
	// had arrived for it, or with ctx's error.
	Settle(ctx context.Context, id raft.ServerID) error
	// Base says that such a replica goes on from a snapshot that ends with an entry. What
	// is sent to follow that entry follows the snapshot, whatever the replica's log has there.
	Base(id raft.ServerID, index, term uint64)
	// Reachable reports whether node answered lately.
	Reachable(node string) bool
	// Join says which cluster this node belongs to, once that is known.
	Join(cluster string)
}

// Store is what a node needs of its data directory; a storage.Dir is one.
type Store interface {
	Identity() storage.Identity
	// Form makes the node a member of cluster for good.
	Form(cluster string, members map[string]string) error
	// SaveMap and LoadMap keep the last cluster map known, so that a node finds
	// its peers before the meta group has a leader. LoadMap returns nil if none is.
	SaveMap(encoded []byte) error
	LoadMap() ([]byte, error)
	// OpenReplica opens what a replica keeps. Born reports whether it has ever been
	// bootstrapped here, MarkBorn remembers it: an empty replica that was born has
	// lost its state and must not vote.
	OpenReplica(group, generation uint64) (*storage.Replica, error)
	Born(group, generation uint64) bool
	MarkBorn(group, generation uint64) error
	Quarantine(group uint64, reason string) error
	Quarantined(group uint64) (reason string, ok bool)
	// Full reports why no more writes should be taken, or nil.
	Full() error
}

// Member is a node of the set that forms a cluster.
type Member struct {
	ID   string
	Peer string // host:port
}

// Config describes a node. ID, Native, Peer and Store are required.
type Config struct {
	ID     string // 1 to 64 letters, digits, dots, dashes, underscores
	Native string // host:port that clients are told
	Peer   string // host:port that other nodes are told
	Redis  string // host:port that Redis clients are told; "" if none are served
	Store  Store

	// Init is the exact set of nodes that forms the cluster, this one included. It
	// is used once, by a node without state.
	Init []Member
	// Groups and Replicas shape a new cluster; 0 means 4 and 3.
	Groups, Replicas int
	// SnapshotAfter is by how many entries a group's log grows before the next snapshot,
	// after which a quarter as many stay in the log; 0 means 16,384.
	SnapshotAfter uint64

	Logger *slog.Logger // nil discards
	// Clock returns ms since the Unix epoch and never steps back. Nil is the wall
	// time at the process's start plus the monotonic time since.
	Clock func() int64
	// Timing is how patient the node is; zero fields take defaults.
	Timing Timing
}

// Timing holds a node's periods and deadlines.
type Timing struct {
	Heartbeat time.Duration // a leader unheard of for that long is replaced; 500 ms
	Write     time.Duration // until a write's outcome is called unknown; 5 s
	ReadIndex time.Duration // until a linearizable read is given up; 2 s
	Call      time.Duration // to another node; 1 s
	Janitor   time.Duration // between looks for expired records; 150 ms, as Beat
	Audit     time.Duration // between comparisons of digests; 2 s
	Balance   time.Duration // between looks for a better leader; 1 s
	Settle    time.Duration // a leader's least term before it hands over by itself; 3 s
	Snapshot  time.Duration // between looks, at least, for a log that has grown enough; 30 s
}

func (t Timing) withDefaults() Timing {
	or := func(d *time.Duration, def time.Duration) {
		if *d == 0 {
			*d = def
		}
	}
	or(&t.Heartbeat, 500*time.Millisecond)
	or(&t.Write, 5*time.Second)
	or(&t.ReadIndex, 2*time.Second)
	or(&t.Call, time.Second)
	or(&t.Janitor, 150*time.Millisecond)
	or(&t.Audit, 2*time.Second)
	or(&t.Balance, time.Second)
	or(&t.Settle, 3*time.Second)
	or(&t.Snapshot, 30*time.Second)
	return t
}

// check validates the configuration and fills in defaults.
func (c *Config) check() error {
	if err := placement.CheckNodeID(c.ID); err != nil {
		return op.Invalid("id", "%v", err)
	}
	switch {
	case c.Native == "":
		return op.Invalid("native", "is empty; it is the host:port that clients are told")
	case c.Peer == "":
		return op.Invalid("peer", "is empty; it is the host:port that other nodes are told")
	case c.Store == nil:
		return op.Invalid("store", "is missing")
	}
	if c.Groups == 0 {
		c.Groups = 4
	}
	if c.Replicas == 0 {
		c.Replicas = 3
	}
	if c.SnapshotAfter == 0 {
		c.SnapshotAfter = 16384
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Clock == nil {
		c.Clock = monotonicClock()
	}
	c.Timing = c.Timing.withDefaults()
	return c.checkNewCluster()
}

// checkNewCluster refuses what the first cluster map would not hold: to find that out
// only once the cluster has formed would be too late.
func (c *Config) checkNewCluster() error {
	switch {
	case c.Groups < 1 || c.Groups > placement.MaxGroups:
		return op.Invalid("groups", "is %d; it must lie between 1 and %d", c.Groups, placement.MaxGroups)
	case c.Replicas < 1 || c.Replicas > placement.MaxReplicas || c.Replicas%2 == 0:
		return op.Invalid("replicas", "is %d; it must be odd and lie between 1 and %d", c.Replicas, placement.MaxReplicas)
	case len(c.Init) > placement.MaxNodes:
		return op.Invalid("init", "names %d members; there can be %d", len(c.Init), placement.MaxNodes)
	}
	return c.checkInit()
}

func (c *Config) checkInit() error {
	if len(c.Init) == 0 {
		return nil
	}
	seen := map[string]bool{}
	for _, m := range c.Init {
		if err := placement.CheckNodeID(m.ID); err != nil {
			return op.Invalid("init", "member %q: %v", m.ID, err)
		}
		if seen[m.ID] {
			return op.Invalid("init", "names %s twice", m.ID)
		}
		if m.Peer == "" {
			return op.Invalid("init", "member %s has no peer address", m.ID)
		}
		seen[m.ID] = true
	}
	if !seen[c.ID] {
		return op.Invalid("init", "does not name this node, %s", c.ID)
	}
	return nil
}

// monotonicClock returns a clock that a step of the system's time does not move.
func monotonicClock() func() int64 {
	start := time.Now()
	wall := start.UnixMilli()
	return func() int64 { return wall + time.Since(start).Milliseconds() }
}
