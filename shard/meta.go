package shard

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"github.com/ringraft/ringraft/op"
	"github.com/ringraft/ringraft/placement"
)

// maxMetaVoters is how many nodes vote on the cluster map; all others follow it as
// non-voters, so that every node has the map at hand.
const maxMetaVoters = 5

// meta is a node's part in the meta group.
type meta struct {
	node    *Node
	log     *slog.Logger
	fsm     *metaFSM
	replica *replica

	ctx  context.Context
	stop context.CancelFunc
	wg   sync.WaitGroup
}

// openMeta starts this node's replica of the meta group, whose servers are the
// members that formed the cluster.
func openMeta(n *Node) (*meta, error) {
	m := &meta{node: n, log: n.log, fsm: newMetaFSM(n.mapChanged)}
	r, err := openReplica(replicaConfig{
		group: metaGroup, self: placement.Replica{Node: n.cfg.ID, Generation: 1},
		servers: metaServers(n.cfg.Store.Identity().Members), store: n.cfg.Store, peers: n.peers,
		machine: m.fsm, takeover: func() []byte { return op.EncodeDetail(metaCommand{}) },
		log: n.log, timing: n.cfg.Timing, snapshotAfter: n.cfg.SnapshotAfter,
	})
	if err != nil {
		return nil, err
	}
	m.replica = r
	m.ctx, m.stop = context.WithCancel(context.Background())
	m.wg.Go(m.upkeep)
	return m, nil
}

// metaServers returns the first configuration: the first members by id vote, an
// odd number of them.
func metaServers(members map[string]string) []raft.Server {
	voters := min(len(members), maxMetaVoters)
	if voters > 2 && voters%2 == 0 {
		voters--
	}
	var servers []raft.Server
	for i, id := range sortedKeys(members) {
		s := raft.Server{Suffrage: raft.Voter, ID: raft.ServerID(placement.Replica{Node: id, Generation: 1}.ServerID(metaGroup))}
		s.Address = raft.ServerAddress(s.ID)
		if i >= voters {
			s.Suffrage = raft.Nonvoter
		}
		servers = append(servers, s)
	}
	return servers
}

// upkeep proposes what the map lacks: as the leader, the first map; on every node,
// its own addresses.
func (m *meta) upkeep() {
	for {
		select {
		case <-m.ctx.Done():
			return
		case <-time.After(untilNext(2 * m.node.cfg.Timing.Beat())):
		}
		if err := m.tend(); err != nil {
			m.log.Debug("cluster map not brought up to date yet", "err", err)
		}
	}
}

func (m *meta) tend() error {
	current := m.node.Map() // maybe from the data directory: the log says nothing before a leader has reached us
	if current.Epoch == 0 {
		if m.replica.readyTerm() == 0 {
			return nil
		}
		first, err := m.firstMap()
		if err != nil {
			return err
		}
		return asError(m.propose(m.ctx, metaCommand{Init: &first}).err())
	}
	self := placement.Node{
		ID: m.node.cfg.ID, Incarnation: m.node.cfg.Store.Identity().Incarnation,
		Native: m.node.cfg.Native, Peer: m.node.cfg.Peer,
	}
	if known, ok := current.Node(self.ID); ok && known != self {
		return asError(m.introduce(self).err())
	}
	return nil
}

// introduce makes this node's new addresses known. The leader may know only the old
// ones and so never reach this node, which then cannot know who leads: it asks all
// nodes that it reaches. To be carried out twice does no harm.
func (m *meta) introduce(self placement.Node) proposal {
	c := metaCommand{Node: &self}
	p := m.change(m.ctx, c)
	for _, n := range m.node.Map().Nodes {
		if p.Kind == op.KindUnavailable && n.ID != self.ID && m.node.peers.Reachable(n.ID) {
			p = m.changeAt(m.ctx, n.ID, c)
		}
	}
	return p
}

func asError(err *op.Error) error {
	if err == nil {
		return nil
	}
	return err
}

// firstMap plans a new cluster from the members that formed it.
func (m *meta) firstMap() (placement.Map, error) {
	id := m.node.cfg.Store.Identity()
	var nodes []placement.Node
	for _, name := range sortedKeys(id.Members) {
		addr, _ := m.node.Address(name)
		nodes = append(nodes, placement.Node{ID: name, Incarnation: id.Members[name], Peer: addr})
	}
	return placement.New(id.Cluster, nodes, m.node.cfg.Groups, m.node.cfg.Replicas,
		placement.Settings{MaxBytes: op.DefaultMaxBytes, MaxValueBytes: op.DefaultMaxValue})
}

// change carries out c through the meta group's leader, wherever it is.
func (m *meta) change(ctx context.Context, c metaCommand) proposal {
	if m.replica.readyTerm() != 0 {
		return m.propose(ctx, c)
	}
	leader := m.replica.leaderNode()
	if leader == "" || leader == m.node.cfg.ID {
		return failedProposal(op.Unavailable("the meta group has no leader now"))
	}
	return m.changeAt(ctx, leader, c)
}

// changeAt carries out c through node, which refuses if it does not lead.
func (m *meta) changeAt(ctx context.Context, node string, c metaCommand) proposal {
	var p proposal
	if err := m.node.ask(ctx, node, callPropose, c, &p); err != nil {
		return unanswered(node, err)
	}
	return p
}

// propose carries out c as the meta group's leader.
func (m *meta) propose(ctx context.Context, c metaCommand) proposal {
	if m.replica.readyTerm() == 0 {
		return failedProposal(op.Unavailable("this node does not lead the meta group"))
	}
	timeout := m.node.cfg.Timing.Write
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	p, err := await(ctx, &m.replica.calls, func() proposal {
		return proposalOf(m.replica.raft.Apply(op.EncodeDetail(c), timeout))
	})
	switch {
	case errors.Is(err, errStopping):
		return failedProposal(op.Unavailable("the node is stopping"))
	case err != nil:
		return failedProposal(op.UnknownOutcome("no quorum of the meta group answered: %v", err))
	}
	return p
}

func proposalOf(future raft.ApplyFuture) proposal {
	switch err := future.Error(); {
	case errors.Is(err, raft.ErrNotLeader), errors.Is(err, raft.ErrEnqueueTimeout), errors.Is(err, raft.ErrLeadershipTransferInProgress):
		return failedProposal(op.Unavailable("%v", err))
	case err != nil:
		return failedProposal(op.UnknownOutcome("%v", err))
	}
	if p, ok := future.Response().(proposal); ok {
		return p
	}
	return failedProposal(op.UnknownOutcome("%v", future.Response()))
}

// handOver gives the meta group's leadership to another voter.
func (m *meta) handOver(ctx context.Context) error {
	voters, err := m.replica.voters()
	if err != nil {
		return err
	}
	err = errNoSuccessor
	for _, v := range voters {
		if v.ID == m.replica.id || !m.node.eligible(ctx, nodeOf(v.ID), m.replica) {
			continue
		}
		if err = m.replica.handOver(ctx, v.ID); err == nil {
			return nil
		}
	}
	return err
}

func (m *meta) close() error {
	m.stop()
	m.wg.Wait()
	return m.replica.close()
}
