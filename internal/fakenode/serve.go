package fakenode

import (
	"github.com/ringraft/ringraft/op"
	"github.com/ringraft/ringraft/placement"
)

// serveLocked does what a node does with a request.
func (c *Cluster) serveLocked(n *node, req op.Request) op.Result {
	limits := op.Limits{MaxValue: int(c.cluster.Settings.MaxValueBytes)}
	if err := req.Check(); err != nil {
		return op.Fail(err)
	}
	if err := req.Op.Check(limits); err != nil {
		return op.Fail(err)
	}
	switch o := req.Op.(type) {
	case op.Write:
		if txn, ok := o.(op.Txn); ok && txn.Spans() {
			return c.txnLocked(txn)
		}
		g, err := c.placeLocked(n, o, true)
		if err != nil {
			return op.Fail(err)
		}
		return g.write(req.Command(), c.nowLocked())
	case op.Read:
		g, err := c.placeLocked(n, o, req.Level == op.Linearizable)
		switch {
		case err != nil:
			return op.Fail(err)
		case req.Level == op.Session && req.Bound > g.index:
			return op.Fail(op.Invalid("bound", "is index %d; the log ends at %d", req.Bound, g.index))
		}
		return g.read(o, c.nowLocked())
	}
	return c.serveClusterLocked(n, req.Op)
}

// placeLocked returns the group that o belongs to, and refuses what node n does not serve.
func (c *Cluster) placeLocked(n *node, o op.Routed, byLeader bool) (*group, *op.Error) {
	id := c.cluster.GroupOf(o.Slot(0))
	for i := 1; i < o.NumSlots(); i++ {
		if c.cluster.GroupOf(o.Slot(i)) != id {
			return nil, &op.Error{Kind: op.KindWrongNode, Message: "the slots belong to several groups", Epoch: c.cluster.Epoch}
		}
	}
	leader := c.leaders[id]
	if byLeader && leader != n.id {
		return nil, &op.Error{Kind: op.KindWrongNode, Message: "another node leads", Node: leader, Epoch: c.cluster.Epoch}
	}
	placed, _ := c.cluster.Group(id)
	for _, r := range placed.Replicas {
		if r.Node == n.id {
			return c.groupLocked(id), nil
		}
	}
	return nil, &op.Error{Kind: op.KindWrongNode, Message: "no replica is here", Node: leader, Epoch: c.cluster.Epoch}
}

func (c *Cluster) serveClusterLocked(n *node, o op.Op) op.Result {
	switch o := o.(type) {
	case op.Hello:
		if o.Cluster != "" && o.Cluster != c.cluster.Cluster {
			return op.Fail(op.Invalid("cluster", "is %q; this node belongs to %q", o.Cluster, c.cluster.Cluster))
		}
		return detail(op.Greeting{Cluster: c.cluster.Cluster, Node: n.id, Epoch: c.cluster.Epoch})
	case op.ClusterMap:
		if o.Epoch >= c.cluster.Epoch {
			return op.Result{}
		}
		return detail(c.cluster)
	case op.Status:
		return detail(c.statusLocked())
	}
	if leader := c.leaders[0]; leader != n.id {
		return op.Fail(&op.Error{Kind: op.KindWrongNode, Message: "another node leads the meta group", Node: leader, Epoch: c.cluster.Epoch})
	}
	return c.changeLocked(o)
}

// changeLocked is what the leader of the meta group does.
func (c *Cluster) changeLocked(o op.Op) op.Result {
	switch o := o.(type) {
	case op.Transfer:
		group, found := c.cluster.Group(o.Group)
		if !found {
			return op.Fail(op.Invalid("group", "%d does not exist", o.Group))
		}
		to := o.To
		if to == "" {
			to = group.Replicas[len(group.Replicas)-1].Node
		}
		return c.preferLocked(o.Group, to)
	case op.SetConfig:
		m, err := c.cluster.WithSetting(o.Name, o.Value)
		if err != nil {
			return op.Fail(op.Invalid(o.Name, "%v", err))
		}
		c.cluster = m
		return op.Result{Version: m.Epoch}
	}
	return op.Fail(op.Invalid("operation", "%s is not served to clients", o.Code()))
}

func (c *Cluster) preferLocked(group uint64, to string) op.Result {
	m, err := c.cluster.WithPreferred(group, to)
	if err != nil {
		return op.Fail(op.Invalid("to", "%v", err))
	}
	c.cluster, c.leaders[group] = m, to
	return detail(to)
}

func (c *Cluster) statusLocked() []op.NodeStatus {
	nodes := make([]op.NodeStatus, 0, len(c.cluster.Nodes))
	for _, member := range c.cluster.Nodes {
		status := op.NodeStatus{Node: member.ID, State: "up", Redis: member.Native}
		for _, id := range c.cluster.Replicas(member.ID) {
			status.Replicas = append(status.Replicas, c.replicaLocked(member, id))
		}
		nodes = append(nodes, status)
	}
	return nodes
}

// replicaLocked makes up the status of a replica: all have applied everything.
func (c *Cluster) replicaLocked(member placement.Node, id uint64) op.ReplicaStatus {
	g := c.groupLocked(id)
	stats := g.fsm.Stats()
	status := op.ReplicaStatus{
		Group: id, Role: "follower", Term: 1, Commit: g.index, Applied: g.index, Keys: stats.Keys, Bytes: stats.Bytes,
		Digest: g.fsm.Mark().Digest, Sessions: stats.Sessions, SessionBytes: stats.SessionBytes, Locks: stats.Locks,
		MemoryUsed: stats.MemoryUsed, MemoryHeld: stats.MemoryHeld,
	}
	if c.leaders[id] == member.ID {
		status.Role = "leader"
	}
	return status
}

func detail(v any) op.Result { return op.Result{Detail: op.EncodeDetail(v)} }
