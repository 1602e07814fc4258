package shard

import (
	"context"
	"slices"

	"github.com/ringraft/ringraft/op"
	"github.com/ringraft/ringraft/placement"
)

// Serve answers a client's request through reply. It does not block: what takes time is
// answered later, from another goroutine.
func (n *Node) Serve(req op.Request, reply op.Replier) {
	if op.SpecOf(req.Op.Code()).Class == op.ClassPart {
		reply.Reply(op.Fail(op.Invalid("code", "%s is between nodes only", req.Op.Code())))
		return
	}
	n.serve(req, reply)
}

// serve is Serve for requests of nodes, too.
func (n *Node) serve(req op.Request, reply op.Replier) {
	if err := req.Check(); err != nil {
		reply.Reply(op.Fail(err))
		return
	}
	m := n.current.Load()
	if err := req.Op.Check(op.Limits{MaxValue: maxValue(m)}); err != nil {
		reply.Reply(op.Fail(err))
		return
	}
	switch op.SpecOf(req.Op.Code()).Class {
	case op.ClassRead:
		o := req.Op.(op.Read)
		if g, err := n.route(m, o); err != nil {
			reply.Reply(op.Fail(err))
		} else {
			g.read(o, req.Level, req.Bound, reply)
		}
	case op.ClassWrite, op.ClassPart:
		if o, ok := req.Op.(op.Txn); ok && o.Spans() {
			n.serveTxn(m, o, reply)
			return
		}
		if g, err := n.route(m, req.Op.(op.Write)); err != nil {
			reply.Reply(op.Fail(err))
		} else {
			g.write(req, reply)
		}
	case op.ClassCluster:
		n.serveCluster(req.Op, reply)
	default:
		reply.Reply(op.Fail(op.Invalid("code", "%s is for a group's leader only", req.Op.Code())))
	}
}

func maxValue(m *placement.Map) int {
	if m.Epoch == 0 {
		return op.DefaultMaxValue
	}
	return int(m.Settings.MaxValueBytes)
}

// route returns the group of an operation's slots, if it is served here.
func (n *Node) route(m *placement.Map, o op.Routed) (*group, *op.Error) {
	if m.Epoch == 0 {
		return nil, op.Unavailable("the cluster has no map yet")
	}
	slots := o.NumSlots()
	if slots == 0 {
		return nil, op.Invalid("keys", "there are none")
	}
	id := m.GroupOf(o.Slot(0))
	for i := 1; i < slots; i++ {
		if m.GroupOf(o.Slot(i)) != id {
			return nil, op.Invalid("keys", "belong to more than one group; send one operation per group")
		}
	}
	if g := n.group(id); g != nil {
		return g, nil
	}
	return nil, n.servedBy(m, id)
}

// servedBy names a node to ask about a group that is not served here.
func (n *Node) servedBy(m *placement.Map, id uint64) *op.Error {
	err := &op.Error{Kind: op.KindWrongNode, Epoch: m.Epoch, Message: "this node does not serve the key's group"}
	g, _ := m.Group(id)
	for _, r := range g.Replicas {
		if r.Node != n.cfg.ID {
			err.Node = r.Node
			break
		}
	}
	return err
}

// serveCluster answers a cluster operation from a goroutine of its own.
func (n *Node) serveCluster(o op.Op, reply op.Replier) {
	select {
	case n.clusterOps <- struct{}{}:
	default:
		reply.Reply(op.Fail(op.Unavailable("%d cluster operations are under way already", maxClusterOps)))
		return
	}
	started := n.background.start(func() {
		defer func() { <-n.clusterOps }()
		ctx, cancel := context.WithTimeout(n.ctx, 2*n.cfg.Timing.Write)
		defer cancel()
		reply.Reply(n.clusterOp(ctx, o))
	})
	if !started {
		<-n.clusterOps
		reply.Reply(op.Fail(op.Unavailable("the node is stopping")))
	}
}

func (n *Node) clusterOp(ctx context.Context, o op.Op) op.Result {
	switch o := o.(type) {
	case op.Hello:
		return n.hello(o)
	case op.ClusterMap:
		if m := n.Map(); m.Epoch > o.Epoch {
			return op.Result{Detail: op.EncodeDetail(m)}
		}
		return op.Result{}
	case op.Status:
		return op.Result{Detail: op.EncodeDetail(n.statuses(ctx, o.All))}
	case op.Transfer:
		p := n.routeTransfer(ctx, o)
		return op.Result{Err: p.err(), Version: p.Epoch, Detail: op.EncodeDetail(p.Leader)}
	case op.SetConfig:
		p := n.change(ctx, metaCommand{Setting: &setting{Name: o.Name, Value: o.Value}})
		return op.Result{Err: p.err(), Version: p.Epoch}
	}
	return op.Fail(op.Invalid("code", "%s is not served", o.Code()))
}

func (n *Node) hello(o op.Hello) op.Result {
	cluster := n.cfg.Store.Identity().Cluster
	if o.Cluster != "" && o.Cluster != cluster {
		return op.Fail(op.Invalid("cluster", "this node belongs to cluster %q, not to %q", cluster, o.Cluster))
	}
	return op.Result{Detail: op.EncodeDetail(op.Greeting{Cluster: cluster, Node: n.cfg.ID, Epoch: n.Map().Epoch})}
}

// change brings a change of the cluster map to the meta group's leader.
func (n *Node) change(ctx context.Context, c metaCommand) proposal {
	m := n.meta.Load()
	if m == nil {
		return failedProposal(op.Unavailable("the node is starting"))
	}
	return m.change(ctx, c)
}

// proposeHere carries out a change that another node sends to the meta group's leader.
func (n *Node) proposeHere(ctx context.Context, c metaCommand) proposal {
	m := n.meta.Load()
	if m == nil {
		return failedProposal(op.Unavailable("the node is starting"))
	}
	return m.propose(ctx, c)
}

// routeTransfer brings a transfer to the group's leader.
func (n *Node) routeTransfer(ctx context.Context, o op.Transfer) proposal {
	placed, ok := n.Map().Group(o.Group)
	if !ok {
		return failedProposal(op.Invalid("group", "%d does not exist", o.Group))
	}
	if o.To != "" && !slices.ContainsFunc(placed.Replicas, func(r placement.Replica) bool { return r.Node == o.To }) {
		return failedProposal(op.Invalid("to", "%q has no replica of group %d", o.To, o.Group))
	}
	leader := n.leaderOf(ctx, placed)
	switch leader {
	case "":
		return failedProposal(op.Unavailable("group %d has no leader now", o.Group))
	case n.cfg.ID:
		return n.transferHere(ctx, o)
	}
	var p proposal
	if err := n.ask(ctx, leader, callTransfer, o, &p); err != nil {
		return unanswered(leader, err)
	}
	return p
}

// leaderOf returns the node that leads a group, as its replicas know it.
func (n *Node) leaderOf(ctx context.Context, placed placement.Group) string {
	if r := n.replica(placed.ID); r != nil && r.leaderNode() != "" {
		return r.leaderNode()
	}
	for _, status := range n.statuses(ctx, true) {
		for _, r := range status.Replicas {
			if r.Group == placed.ID && r.Role == roleLeader {
				return status.Node
			}
		}
	}
	return ""
}
