package shard

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/raft"

	"github.com/ringraft/ringraft/op"
	"github.com/ringraft/ringraft/raftfsm"
)

// maxTouches is the most touches of one entry.
const maxTouches = op.MaxKeys

// group is a node's part in a data group: its replica, the way in for writes and
// reads, and the upkeep that a leader does.
type group struct {
	id        uint64
	node      *Node
	log       *slog.Logger
	fsm       *raftfsm.FSM
	replica   *replica
	batcher   *batcher
	reads     *readIndex
	freshness *freshness
	sessions  *rounds[sessionRead]
	hints     *hints
	hint      func(key []byte) // hints.add
	touches   *touches

	moving      sync.Mutex   // held by the one attempt to hand over
	lastMark    raftfsm.Mark // of the audit before
	auditing    atomic.Bool  // one is under way, and owns audited
	audited     uint64       // the index at which all replicas agreed last
	balancing   atomic.Bool  // it is looked for a better leader
	configuring atomic.Bool  // an op.Configure is under way
	sweeping    atomic.Bool  // an op.Sweep is under way
	resolving   atomic.Bool  // transactions past their deadline are being ended

	waits   chan struct{} // bounds the reads that wait for a transaction
	waiting tasks
	chores  tasks // of upkeep

	hosted chan struct{} // closed when the node has put the group into service
	ctx    context.Context
	stop   context.CancelFunc
	closed sync.Once
}

// openGroup starts this node's replica of a group.
func openGroup(n *Node, id uint64) (*group, error) {
	m := n.Map()
	placed, self, ok := n.placed(m, id)
	if !ok {
		return nil, op.Invalid("group", "%d has no replica here", id)
	}
	g := &group{id: id, node: n, log: n.log.With("group", id), hosted: make(chan struct{}), waits: make(chan struct{}, maxLockedReads)}
	g.ctx, g.stop = context.WithCancel(context.Background())
	g.fsm = raftfsm.New(raftfsm.Config{
		// No settings: they must be the same on all replicas, so they come by the log.
		Group: strconv.FormatUint(id, 10), Logger: g.log, OnHalt: g.halt,
	})
	r, err := openReplica(replicaConfig{
		group: id, self: self, servers: votersOf(placed), store: n.cfg.Store, peers: n.peers,
		machine: g.fsm, takeover: g.emptyEntry, log: n.log, timing: n.cfg.Timing,
		snapshotAfter: n.cfg.SnapshotAfter, stateBytes: func() int64 { return g.fsm.Stats().Bytes }, pace: &n.snapshots,
		replicas: func() int { return len(n.hosted()) },
	})
	if err != nil {
		return nil, err
	}
	g.replica = r
	g.touches = newTouches(g.fsm.Old)
	g.batcher = newBatcher(n.flusher, r.raft, g.stamp, g.touches.take, g.refuse, n.cfg.Timing.Write)
	g.freshness = newFreshness(g.fsm, g.log, g.learnIndex, n.cfg.Timing.Call)
	g.reads = newReadIndex(r, g.confirm, g.elsewhere, g.freshness.prove, n.cfg.Timing.ReadIndex)
	g.sessions = newRounds(g.sessionRound)
	g.hints = newHints(g.sendHints)
	g.hint = g.hints.add
	return g, nil
}

// write queues a request's operation, in the bytes the client sent, if this node leads.
func (g *group) write(req op.Request, reply op.Replier) {
	if g.replica.readyTerm() == 0 {
		reply.Reply(op.Fail(g.elsewhere()))
		return
	}
	if err := g.node.cfg.Store.Full(); err != nil && !ends(req.Op) {
		reply.Reply(op.Fail(op.Unavailable("no write is taken: %v", err)))
		return
	}
	g.batcher.add(req.Raw, reply)
}

// ends reports whether o ends what is under way, with little to write: a full disk must
// not keep keys locked.
func ends(o op.Op) bool {
	switch o := o.(type) {
	case op.Finish, op.Forget:
		return true
	case op.Decide:
		return !o.Commit
	}
	return false
}

// stamp is the time of a new entry.
func (g *group) stamp() int64 { return max(g.node.cfg.Clock(), g.fsm.Time()) }

func (g *group) emptyEntry() []byte {
	return new(op.EntryBuilder).Build(g.stamp(), nil)
}

func (g *group) confirm(ctx context.Context, voter raft.ServerID, term uint64) bool {
	return g.node.confirm(ctx, nodeOf(voter), g.id, term)
}

// elsewhere tells a caller which node leads.
func (g *group) elsewhere() *op.Error {
	leader := g.replica.leaderNode()
	if leader == g.node.cfg.ID {
		return op.Unavailable("the leader of group %d is taking over", g.id)
	}
	return &op.Error{
		Kind: op.KindWrongNode, Node: leader, Epoch: g.node.Map().Epoch,
		Message: "this node does not lead the key's group",
	}
}

// behind tells a reader to ask the leader, since this replica is not as far as it must be.
func (g *group) behind(format string, args ...any) *op.Error {
	why := fmt.Sprintf(format, args...)
	leader := g.replica.leaderNode()
	if leader == "" || leader == g.node.cfg.ID {
		return op.Unavailable("this node's replica of group %d %s", g.id, why)
	}
	return &op.Error{
		Kind: op.KindWrongNode, Node: leader, Epoch: g.node.Map().Epoch,
		Message: "this node's replica of the key's group " + why,
	}
}

// refuse says why Raft took no entry.
func (g *group) refuse(err error) *op.Error {
	if e := g.elsewhere(); e.Kind == op.KindWrongNode && e.Node != "" {
		return e
	}
	return op.Unavailable("group %d takes no entry now: %v", g.id, err)
}

// sendHints brings touches to the leader.
func (g *group) sendHints(ctx context.Context, keys [][]byte) {
	if g.replica.readyTerm() != 0 {
		g.touches.add(keys)
		return
	}
	leader := g.replica.leaderNode()
	if leader == "" || leader == g.node.cfg.ID {
		return
	}
	var none struct{}
	if err := g.node.ask(ctx, leader, callTouch, touchRequest{Group: g.id, Keys: keys}, &none); err != nil {
		g.log.Debug("touches were lost", "keys", len(keys), "err", err)
	}
}

// halt takes this replica out of service: its state machine met an entry that it
// cannot apply.
func (g *group) halt(err error) {
	g.node.background.start(func() {
		<-g.hosted
		g.node.quarantine(g.id, "the state machine halted: "+err.Error())
	})
}

// close stops the group's replica; what is under way ends first or is unknown.
func (g *group) close() error {
	var err error
	g.closed.Do(func() {
		g.stop()
		g.hints.close()
		g.freshness.close()
		g.sessions.close()
		g.reads.close()
		_ = g.waiting.close(context.Background()) // g.ctx has ended, and with it all waiting
		_ = g.chores.close(context.Background())
		g.batcher.close()
		err = g.replica.close()
	})
	return err
}
