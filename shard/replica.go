package shard

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
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
	logs     *aheadLogs // in front of the store's
	machine  machine
	takeover func() []byte // the entry with which a leader begins its term

	raft    *raft.Raft
	notices *notices
	ready   atomic.Uint64 // the term this replica leads and is ready in, or 0
	end     uint64        // the last index of the log at the start
	level   atomic.Bool   // see caughtUp

	mu     sync.Mutex
	handed map[handover]bool // transfers tried, see handOver
	since  time.Time         // when ready was set

	applied    appliedLog // see compact
	compacting atomic.Bool
	stateBytes func() int64 // how large the state is; nil where it is small
	replicas   func() int   // that share the node's log; nil for one that has the least share

	calls tasks          // what waits for an answer of Raft
	look  chan struct{}  // capacity 1: events may have been missed
	wg    sync.WaitGroup // watch
	ctx   context.Context
	stop  context.CancelFunc
}

// errStopping is the answer of a node or a replica that is being closed.
var errStopping = errors.New("it is stopping")

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

	snapshotAfter uint64        // entries
	stateBytes    func() int64  // nil where it is small
	replicas      func() int    // of the node; nil for one that has the least share of its log
	pace          *snapshotPace // of its snapshots; nil where the state is small
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
		store: st, machine: c.machine, takeover: c.takeover, stateBytes: c.stateBytes, replicas: c.replicas,
		handed: map[handover]bool{}, look: make(chan struct{}, 1),
	}
	if err := r.start(c); err != nil {
		return nil, errors.Join(err, st.Close())
	}
	return r, nil
}

func (r *replica) start(c replicaConfig) error {
	conf := raftConfig(r.id, c, raftLogger(r.log))
	transport := c.peers.Transport(r.id)
	if err := bootstrap(conf, c, r.store, transport); err != nil {
		return err
	}
	var err error
	if r.end, err = r.store.Logs.LastIndex(); err != nil {
		return fmt.Errorf("find the end of group %d's log: %w", r.group, err)
	}
	var running atomic.Pointer[raft.Raft] // r.raft, for its main loop, which runs before that is set
	r.logs = newAheadLogs(&tailLogs{LogStore: gapLogs{r.store.Logs}}, func() bool {
		started := running.Load()
		return started != nil && started.State() == raft.Leader
	}, r.giveWay)
	fsm := &settlingFSM{
		BatchingFSM: c.machine, snapshots: r.store.Snapshots, logs: r.logs, applied: &r.applied, committed: r.committed,
		based: func(e entryID) { c.peers.Base(r.id, e.index, e.term) },
	}
	r.ctx, r.stop = context.WithCancel(context.Background())
	if c.pace != nil {
		fsm.BatchingFSM = pacedFSM{
			BatchingFSM: c.machine, pace: c.pace, state: c.stateBytes,
			wait: func(n int) { c.pace.wait(r.ctx, n) }, // one that stops waits for nothing
		}
	}
	r.notices = newNotices(transport, r.id, r.followers, func() uint64 { return r.raft.LastIndex() })
	r.raft, err = raft.NewRaft(conf, fsm, r.logs, r.store.Stable, onDiskSnapshots{r.store.Snapshots, r.logs}, newOnDiskTransport(transport, r.logs))
	if err != nil {
		r.stop()
		return fmt.Errorf("start Raft of group %d: %w", r.group, err)
	}
	running.Store(r.raft)
	events := make(chan raft.Observation, 16)
	observer := raft.NewObserver(events, false, func(o *raft.Observation) bool {
		switch o.Data.(type) {
		case raft.RaftState, raft.LeaderObservation:
			return true
		}
		return false
	})
	r.observe(observer, func() { r.watch(events) })
	heard := make(chan raft.Observation, 1)
	r.observe(resumptions(heard), func() { r.resume(heard) })
	return nil
}

// observe runs what takes what o observes, until the replica is closed.
func (r *replica) observe(o *raft.Observer, run func()) {
	r.raft.RegisterObserver(o)
	r.wg.Go(func() {
		defer r.raft.DeregisterObserver(o)
		run()
	})
}

// idleAppends is how often Raft, which doubles it at random, tells a follower what is
// committed, though nothing is new. It makes up for what notices and resumptions miss.
const idleAppends = 2 * time.Second

func raftConfig(id raft.ServerID, c replicaConfig, log hclog.Logger) *raft.Config {
	conf := raft.DefaultConfig()
	conf.LocalID = id
	conf.HeartbeatTimeout = c.timing.alone()
	conf.ElectionTimeout = c.timing.alone()
	conf.LeaderLeaseTimeout = 3 * c.timing.Beat() // so that it is looked at when heartbeats are answered
	conf.CommitTimeout = idleAppends
	conf.SnapshotInterval = c.timing.Snapshot
	conf.SnapshotThreshold = c.snapshotAfter
	conf.TrailingLogs = min(c.snapshotAfter/4, mostTrailing)
	conf.Logger = log
	conf.NoLegacyTelemetry = true // nobody reads the metrics, and these have names made for each append
	conf.BatchApplyCh = true      // Apply does not wait for a write to the log, so one group's disk holds up no other
	return conf
}

// watch follows the replica's leadership and takes over when a term is won. The observer
// may drop events, so it also looks when it is asked to.
func (r *replica) watch(events <-chan raft.Observation) {
	for {
		select {
		case <-r.ctx.Done():
			return
		case <-events:
		case <-r.look:
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

// tend is to be called from time to time, as often as a leader is to be heard of.
func (r *replica) tend() {
	r.compact()
	term, leads := r.leads()
	if ready := r.ready.Load(); leads && ready == term || !leads && ready == 0 {
		return
	}
	select {
	case r.look <- struct{}{}:
	default:
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
	first, err := await(r.ctx, &r.calls, func() raft.ApplyFuture {
		future := r.raft.Apply(r.takeover(), r.timing.Write)
		_ = future.Error() // waits, and says it again
		return future
	})
	if err == nil {
		err = first.Error()
	}
	if err == nil {
		err, _ = first.Response().(error)
	}
	if err != nil {
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
	r.notices.committed(entryID{first.Index(), term})
	r.log.Info("leader", "term", term)
}

// committed is told of the last entry of each batch that is applied. A leader that is
// ready knows by that that it is committed.
func (r *replica) committed(e entryID) {
	if r.ready.Load() == e.term {
		r.notices.committed(e)
	}
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

// position returns how far the log goes, as Raft counts in elections.
func (r *replica) position() position {
	stats := r.raft.Stats()
	number := func(name string) uint64 {
		n, _ := strconv.ParseUint(stats[name], 10, 64) // Raft has written it
		return n
	}
	log := position{number("last_log_term"), number("last_log_index")}
	snapshot := position{number("last_snapshot_term"), number("last_snapshot_index")}
	if snapshot.index > log.index {
		return snapshot
	}
	return log
}

// followers returns the other servers of the newest configuration.
func (r *replica) followers() []raft.Server {
	future := r.raft.GetConfiguration()
	if future.Error() != nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(future.Configuration().Servers), func(s raft.Server) bool { return s.ID == r.id })
}

// handOver asks Raft to make to the leader. It is tried once per target and term:
// a second try while the first hangs in Raft would make it refuse all entries.
func (r *replica) handOver(ctx context.Context, to raft.ServerID) error {
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
	failed, err := await(ctx, &r.calls, func() error {
		return r.raft.LeadershipTransferToServer(to, raft.ServerAddress(to)).Error()
	})
	return errors.Join(failed, err)
}

// giveWay makes a leader whose log takes nothing give up its office: Raft does that when it
// has an entry to store.
func (r *replica) giveWay() {
	r.calls.start(func() {
		if r.raft.State() == raft.Leader {
			r.raft.Apply(r.takeover(), r.timing.Write) // that it is to be stored matters, not what becomes of it
		}
	})
}

// close stops the replica. First it waits for what Raft has yet to answer, since some
// of that Raft never answers once it has been told to shut down.
func (r *replica) close() error {
	r.stop()
	ctx, cancel := context.WithTimeout(context.Background(), r.timing.Write)
	defer cancel()
	if err := r.calls.close(ctx); err != nil {
		r.log.Warn("Raft is stopped with questions unanswered", "err", err)
	}
	r.logs.close() // the state machine may wait for a disk that takes nothing
	err := r.raft.Shutdown().Error()
	r.logs.wait()
	r.notices.close()
	r.wg.Wait()
	return errors.Join(err, r.store.Close())
}
