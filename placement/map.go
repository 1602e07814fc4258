package placement

import (
	"cmp"
	"slices"
	"strings"
)

// Bounds of a cluster.
const (
	MaxNodes    = 256
	MaxGroups   = 1024
	MaxReplicas = 7
	// maxCluster is the longest cluster id, in bytes.
	maxCluster = 128
)

// Map says who owns what. It is a value: whoever changes it gets another, and none
// of its slices may be written to. A map that comes from elsewhere is not trusted
// before Check has accepted it; the other methods build on that.
type Map struct {
	Cluster      string   `codec:"cluster"`       // the cluster's id
	Epoch        uint64   `codec:"epoch"`         // from 1; every change adds one
	FeatureLevel uint64   `codec:"feature_level"` // what every node understands, from 1
	Nodes        []Node   `codec:"nodes"`         // ascending by ID
	Groups       []Group  `codec:"groups"`        // ascending by ID
	Slots        []uint64 `codec:"slots"`         // owner group of each slot
	Settings     Settings `codec:"settings"`
}

// Node is a process with an identity.
type Node struct {
	ID          string `codec:"id"`          // see CheckNodeID
	Incarnation string `codec:"incarnation"` // of its data directory
	Native      string `codec:"native"`      // host:port for clients
	Peer        string `codec:"peer"`        // host:port for other nodes
}

// Group is a Raft cluster. Ids start at 1; 0 is the meta group, which the map does
// not list.
type Group struct {
	ID uint64 `codec:"id"`
	// Replicas are in order of preference: the first one that can be reached and has
	// caught up should lead.
	Replicas []Replica `codec:"replicas"`
}

// Replica is a group's member on a node.
type Replica struct {
	Node       string `codec:"node"`
	Generation uint64 `codec:"generation"` // from 1; grows when a replica is replaced
}

// New returns the first map of a cluster, epoch 1, with groups 1 to groups. Each has
// the given odd number of replicas, or one on every node where there are not as
// many. Zero settings are the defaults. A [FieldError] names the parameter that is
// out of bounds.
func New(cluster string, nodes []Node, groups, replicas int, s Settings) (Map, error) {
	switch {
	case groups < 1 || groups > MaxGroups:
		return Map{}, refuse("groups", "is %d; it must lie between 1 and %d", groups, MaxGroups)
	case replicas < 1 || replicas > MaxReplicas || replicas%2 == 0:
		return Map{}, refuse("replicas", "is %d; it must be odd and lie between 1 and %d", replicas, MaxReplicas)
	}
	nodes = slices.Clone(nodes)
	slices.SortFunc(nodes, func(a, b Node) int { return strings.Compare(a.ID, b.ID) })
	if err := checkNodes(nodes); err != nil {
		return Map{}, err
	}
	m := Map{
		Cluster:      cluster,
		Epoch:        1,
		FeatureLevel: 1,
		Nodes:        nodes,
		Groups:       newGroups(nodes, groups, min(replicas, len(nodes))),
		Slots:        make([]uint64, Slots),
		Settings:     s.withDefaults(),
	}
	deal(m.Slots, m.groupIDs())
	if err := m.Check(); err != nil {
		return Map{}, err
	}
	return m, nil
}

func newGroups(nodes []Node, n, replicas int) []Group {
	groups := make([]Group, n)
	for i, members := range spread(n, len(nodes), replicas) {
		groups[i].ID = uint64(i) + 1
		for _, node := range members {
			groups[i].Replicas = append(groups[i].Replicas, Replica{Node: nodes[node].ID, Generation: 1})
		}
	}
	return groups
}

// GroupOf returns the group that owns slot, or 0, the meta group, which owns none, if
// the map has no such slot: the zero Map has none at all.
func (m Map) GroupOf(slot uint16) uint64 {
	if int(slot) >= len(m.Slots) {
		return noGroup
	}
	return m.Slots[slot]
}

// Run returns the last slot of the run of slots that starts at slot and has one owner.
func (m Map) Run(slot uint16) (last uint16) {
	last = slot
	for int(last)+1 < len(m.Slots) && m.Slots[last+1] == m.Slots[slot] {
		last++
	}
	return last
}

// Group returns the group with the given id.
func (m Map) Group(id uint64) (Group, bool) {
	i, found := m.findGroup(id)
	if !found {
		return Group{}, false
	}
	return m.Groups[i], true
}

func (m Map) findGroup(id uint64) (int, bool) {
	return slices.BinarySearchFunc(m.Groups, id, func(g Group, id uint64) int { return cmp.Compare(g.ID, id) })
}

// Node returns the node with the given id.
func (m Map) Node(id string) (Node, bool) {
	i, found := m.findNode(id)
	if !found {
		return Node{}, false
	}
	return m.Nodes[i], true
}

func (m Map) findNode(id string) (int, bool) {
	return slices.BinarySearchFunc(m.Nodes, id, func(n Node, id string) int { return strings.Compare(n.ID, id) })
}

// Replicas returns the groups that have a replica on node, ascending.
func (m Map) Replicas(node string) []uint64 {
	var groups []uint64
	for _, g := range m.Groups {
		if g.on(node) >= 0 {
			groups = append(groups, g.ID)
		}
	}
	return groups
}

// on returns the place of the replica on node in the order of preference, or -1.
func (g Group) on(node string) int {
	return slices.IndexFunc(g.Replicas, func(r Replica) bool { return r.Node == node })
}

func (m Map) groupIDs() []uint64 {
	ids := make([]uint64, len(m.Groups))
	for i, g := range m.Groups {
		ids[i] = g.ID
	}
	return ids
}
