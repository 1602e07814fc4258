package resp

import (
	"cmp"
	"context"
	"maps"
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/ringraft/ringraft/op"
)

// A client in cluster mode shares its load out by Redis's slots. These are not those of
// the cluster, which hashes keys in another way, and any node serves any key. So each
// group stands for an equal run of Redis's slots, and its leader for their master: a
// client's load is spread as the leaders are, and leaves a node that leads no more.

// viewLife is how long a view is shown to connections before the nodes are asked again:
// many clients look at the same time, after a failover.
const viewLife = 100 * time.Millisecond

// view is the cluster as clients in cluster mode see it.
type view struct {
	members []member // those that answer and serve Redis clients, by node id
	shares  []share  // one per group; together all slots, ascending
}

// member is a node, at the address where Redis clients find it.
type member struct {
	node string // id
	host string
	port int
}

// share is a run of Redis's slots.
type share struct {
	first, last int
	nodes       []member // the leader, then the other replicas by node id; at least one
	led         bool     // the group has a leader; if not, another node stands for it
}

// look returns the cluster's view, which is viewLife old at most. Those who look at the
// same time wait for one question to the nodes.
func (s *Server) look() (view, error) {
	s.viewing.Lock()
	defer s.viewing.Unlock()
	if s.viewed.IsZero() || time.Since(s.viewed) > viewLife {
		ctx, cancel := context.WithTimeout(s.ctx, s.cfg.CommandTimeout)
		defer cancel()
		var nodes []op.NodeStatus
		if nodes, s.viewErr = s.statuses(ctx); s.viewErr == nil {
			s.view, s.viewErr = newView(nodes, s.groups(), s.cfg.Node.ID())
		}
		s.viewed = time.Now()
	}
	return s.view, s.viewErr
}

// statuses returns what every node tells of itself; one that does not answer is down.
func (s *Server) statuses(ctx context.Context) (nodes []op.NodeStatus, err error) {
	res := s.cfg.Node.Do(ctx, op.Request{Op: op.Status{All: true}})
	if res.Err != nil {
		return nil, failureOf(res.Err)
	}
	if err := op.DecodeDetail(res.Detail, &nodes); err != nil {
		return nil, failure("ERR the nodes' status is damaged: " + err.Error())
	}
	return nodes, nil
}

// groups returns the groups that own slots, ascending.
func (s *Server) groups() []uint64 {
	owners := map[uint64]bool{}
	for slot := range op.Slots {
		owners[s.cfg.Node.Group(uint16(slot))] = true
	}
	return slices.Sorted(maps.Keys(owners))
}

// newView joins what nodes tell of themselves. A group of which no replica can be
// reached is shown at self, the node that is asked, which says so to whoever uses it.
func newView(nodes []op.NodeStatus, groups []uint64, self string) (view, error) {
	slices.SortFunc(nodes, func(a, b op.NodeStatus) int { return cmp.Compare(a.Node, b.Node) })
	v := view{}
	for _, n := range nodes {
		if m, ok := memberOf(n); ok {
			v.members = append(v.members, m)
		}
	}
	for i, group := range groups {
		s := share{first: redisSlots * i / len(groups), last: redisSlots*(i+1)/len(groups) - 1}
		s.nodes, s.led = v.replicas(nodes, group)
		if len(s.nodes) == 0 {
			s.nodes = v.named(self)
		}
		if len(s.nodes) == 0 {
			return view{}, failure("CLUSTERDOWN this node does not know its own address")
		}
		v.shares = append(v.shares, s)
	}
	return v, nil
}

// memberOf returns a node that serves Redis clients.
func memberOf(n op.NodeStatus) (member, bool) {
	host, text, err := net.SplitHostPort(n.Redis)
	if err != nil {
		return member{}, false // it has no such address, or it did not answer
	}
	port, err := strconv.Atoi(text)
	return member{n.Node, host, port}, err == nil
}

// replicas returns the members with a replica of a group, its leader first, and whether
// it has one.
func (v view) replicas(nodes []op.NodeStatus, group uint64) (found []member, led bool) {
	var best op.ReplicaStatus
	var leader string
	for _, n := range nodes {
		i := slices.IndexFunc(n.Replicas, func(r op.ReplicaStatus) bool { return r.Group == group })
		if i < 0 {
			continue
		}
		if leader == "" || ahead(n.Replicas[i], best) {
			leader, best = n.Node, n.Replicas[i]
		}
		found = append(found, v.named(n.Node)...)
	}
	if i := slices.IndexFunc(found, func(m member) bool { return m.node == leader }); i > 0 {
		first := found[i]
		found = slices.Insert(slices.Delete(found, i, i+1), 0, first)
	}
	return found, best.Role == "leader"
}

// named returns the member with that id, if there is one.
func (v view) named(node string) []member {
	i := slices.IndexFunc(v.members, func(m member) bool { return m.node == node })
	if i < 0 {
		return nil
	}
	return v.members[i : i+1 : i+1]
}

// ledBy returns the shares that a node stands for.
func (v view) ledBy(m member) []share {
	return slices.DeleteFunc(slices.Clone(v.shares), func(s share) bool { return s.nodes[0] != m })
}

// leaders returns the members that stand for slots.
func (v view) leaders() []member {
	return slices.DeleteFunc(slices.Clone(v.members), func(m member) bool { return len(v.ledBy(m)) == 0 })
}
