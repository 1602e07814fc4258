package shard

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"github.com/ringraft/ringraft/placement"
	"github.com/ringraft/ringraft/shard/storage"
)

// machine is a replica's state machine.
type machine interface {
	raft.BatchingFSM
	// Applied is the last index that the state shows, Wait waits for one.
	Applied() uint64
	Wait(ctx context.Context, index uint64) error
}

// replica is a node's member of one group: an instance of Raft and what belongs to
// it. It knows whether it leads and is ready to: the leader of a term may answer
// only after its own first entry of that term is applied.
type replica struct {
	group    uint64
	id       raft.ServerID
	log      *slog.Logger
	timing   Timing
	store    *storage.Replica
	machine  machine
	takeover func() []byte // the entry with which a leader begins its term

	raft  *raft.Raft
	ready atomic.Uint64 // the term this replica leads and is ready in, or 0

	mu     sync.Mutex
	handed map[handover]bool // transfers tried, see handOver
	since  time.Time         // when ready was set

	wg   sync.WaitGroup
	ctx  context.Context
	stop context.CancelFunc
}

type handover struct {
	term uint64
	to   raft.ServerID
}

type replicaConfig struct {
	group    uint64
	self     placement.Replica
	servers  []raft.Server // the first configuration, for a replica yet unborn
	store    Store
	peers    Peers
	machine  machine
	takeover func() []byte
	log      *slog.Logger
	timing   Timing
}

// openReplica starts a replica; on its first start, with the given configuration.
func openReplica(c replicaConfig) (*replica, error) {
	st, err := c.store.OpenReplica(c.group, c.self.Generation)
	if err != nil {
		return nil, fmt.Errorf("open replica of group %d: %w", c.group, err)
	}
	r := &replica{
		group: c.group, id: raft.ServerID(c.self.ServerID(c.group)),
		log: c.log.With("group", c.group), timing: c.timing,
		store: st, machine: c.machine, takeover: c.takeover,
		handed: map[handover]bool{},
	}
	if err := r.start(c); err != nil {
		return nil, errors.Join(err, st.Close())
	}
	return r, nil
}

func (r *replica) start(c replicaConfig) error {
	conf := raftConfig(r.id, c.timing.Heartbeat, raftLogger(r.log))
	transport := c.peers.Transport(r.id)
	if err := bootstrap(conf, c, r.store, transport); err != nil {
		return err
	}
	fsm := &settlingFSM{BatchingFSM: c.machine, store: r.store}
	var err error
	if r.raft, err = raft.NewRaft(conf, fsm, gapLogs{r.store.Logs}, r.store.Stable, r.store.Snapshots, transport); err != nil {
		return fmt.Errorf("start Raft of group %d: %w", r.group, err)
	}
	r.ctx, r.stop = context.WithCancel(context.Background())
	events := make(chan raft.Observation, 16)
	observer := raft.NewObserver(events, false, func(o *raft.Observation) bool {
		switch o.Data.(type) {
		case raft.RaftState, raft.LeaderObservation:
			return true
		}
		return false
	})
	r.raft.RegisterObserver(observer)
	r.wg.Go(func() {
		defer r.raft.DeregisterObserver(observer)
		r.watch(events)
	})
	return nil
}

func raftConfig(id raft.ServerID, heartbeat time.Duration, log hclog.Logger) *raft.Config {
	conf := raft.DefaultConfig()
	conf.LocalID = id
	conf.HeartbeatTimeout = heartbeat
	conf.ElectionTimeout = heartbeat
	conf.LeaderLeaseTimeout = heartbeat * 4 / 5
	conf.SnapshotInterval = 30 * time.Second
	conf.SnapshotThreshold = 16384
	conf.TrailingLogs = 4096
	conf.Logger = log
	return conf
}

// bootstrap writes the first configuration of a replica that was never born here.
// One that was and has lost its state could vote twice in a term: it is refused.
func bootstrap(conf *raft.Config, c replicaConfig, st *storage.Replica, transport raft.Transport) error {
	has, err := raft.HasExistingState(st.Logs, st.Stable, st.Snapshots)
	if err != nil {
		return fmt.Errorf("read the state of group %d: %w", c.group, err)
	}
	if c.store.Born(c.group, c.self.Generation) {
		if !has {
			return fmt.Errorf("group %d: the replica's log is gone from the data directory; "+
				"it must not vote again: restore the directory, or replace this node", c.group)
		}
		return nil
	}
	if !has {
		if err := raft.BootstrapCluster(conf, st.Logs, st.Stable, st.Snapshots, transport, raft.Configuration{Servers: c.servers}); err != nil {
			return fmt.Errorf("bootstrap group %d: %w", c.group, err)
		}
	}
	return c.store.MarkBorn(c.group, c.self.Generation)
}

// watch follows the replica's leadership and takes over when a term is won. The
// observer may drop events, so it also looks by itself.
func (r *replica) watch(events <-chan raft.Observation) {
	tick := time.NewTicker(r.timing.Heartbeat)
	defer tick.Stop()
	for {
		select {
		case <-r.ctx.Done():
			return
		case <-events:
		case <-tick.C:
		}
		term, leads := r.leads()
		switch {
		case !leads:
			if was := r.ready.Swap(0); was != 0 {
				r.log.Info("no longer leader", "term", was)
			}
		case r.ready.Load() != term:
			r.takeOver(term)
		}
	}
}

// leads returns the current term and whether this replica is its leader.
func (r *replica) leads() (term uint64, ok bool) {
	term = r.raft.CurrentTerm()
	return term, r.raft.State() == raft.Leader && r.raft.CurrentTerm() == term
}

// takeOver proposes the first entry of a term; once it is applied, all earlier
// terms' entries are too.
func (r *replica) takeOver(term uint64) {
	r.ready.Store(0)
	future := r.raft.Apply(r.takeover(), r.timing.Write)
	if err := future.Error(); err != nil {
		r.log.Debug("could not take over", "term", term, "err", err)
		return
	}
	if now, leads := r.leads(); !leads || now != term {
		return
	}
	r.mu.Lock()
	r.since = time.Now()
	clear(r.handed)
	r.mu.Unlock()
	r.ready.Store(term)
	r.log.Info("leader", "term", term)
}

// readyTerm returns the term in which this replica may act as leader, or 0.
func (r *replica) readyTerm() uint64 {
	term := r.ready.Load()
	if term == 0 || r.raft.State() != raft.Leader || r.raft.CurrentTerm() != term {
		return 0
	}
	return term
}

// settled reports whether this replica has been the ready leader for at least d.
func (r *replica) settled(d time.Duration) bool {
	if r.readyTerm() == 0 {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return time.Since(r.since) >= d
}

// leaderNode returns the node that this replica holds for the leader, or "".
func (r *replica) leaderNode() string {
	_, id := r.raft.LeaderWithID()
	return nodeOf(id)
}

func nodeOf(id raft.ServerID) string {
	if id == "" {
		return ""
	}
	node, _, _, err := placement.ParseServerID(string(id))
	if err != nil {
		return ""
	}
	return node
}

// voters returns the servers of the newest configuration that vote, this one included.
func (r *replica) voters() ([]raft.Server, error) {
	future := r.raft.GetConfiguration()
	if err := future.Error(); err != nil {
		return nil, err
	}
	var voters []raft.Server
	for _, s := range future.Configuration().Servers {
		if s.Suffrage == raft.Voter {
			voters = append(voters, s)
		}
	}
	return voters, nil
}

// handOver asks Raft to make to the leader. It is tried once per target and term:
// a second try while the first hangs in Raft would make it refuse all entries.
func (r *replica) handOver(to raft.ServerID) error {
	term := r.readyTerm()
	if term == 0 {
		return raft.ErrNotLeader
	}
	r.mu.Lock()
	tried := r.handed[handover{term, to}]
	r.handed[handover{term, to}] = true
	r.mu.Unlock()
	if tried {
		return fmt.Errorf("handing group %d to %s was tried in this term already", r.group, to)
	}
	return r.raft.LeadershipTransferToServer(to, raft.ServerAddress(to)).Error()
}

// close stops the replica. Entries in flight end with their futures.
func (r *replica) close() error {
	r.stop()
	err := r.raft.Shutdown().Error()
	r.wg.Wait()
	return errors.Join(err, r.store.Close())
}
