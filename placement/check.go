package placement

import "slices"

// Check refuses a map that contradicts itself or passes a bound. The error names
// the first thing found.
func (m Map) Check() error {
	switch {
	case len(m.Cluster) < 1 || len(m.Cluster) > maxCluster:
		return refuse("cluster", "has %d bytes; it must have 1 to %d", len(m.Cluster), maxCluster)
	case m.Epoch < 1:
		return refuse("epoch", "is 0; it must be at least 1")
	case m.FeatureLevel < 1:
		return refuse("feature level", "is 0; it must be at least 1")
	}
	if err := checkNodes(m.Nodes); err != nil {
		return err
	}
	if err := m.checkGroups(); err != nil {
		return err
	}
	if err := m.checkSlots(); err != nil {
		return err
	}
	return m.Settings.check()
}

// checkNodes wants ids that are valid and ascend.
func checkNodes(nodes []Node) error {
	if len(nodes) < 1 || len(nodes) > MaxNodes {
		return refuse("nodes", "there are %d; there must be 1 to %d", len(nodes), MaxNodes)
	}
	for i, n := range nodes {
		if err := CheckNodeID(n.ID); err != nil {
			return err
		}
		switch {
		case i > 0 && n.ID == nodes[i-1].ID:
			return refuse("nodes", "%s is there twice", n.ID)
		case i > 0 && n.ID < nodes[i-1].ID:
			return refuse("nodes", "%s stands behind %s; ids must ascend", n.ID, nodes[i-1].ID)
		}
	}
	return nil
}

// checkGroups wants ids that ascend from 1 on.
func (m Map) checkGroups() error {
	if len(m.Groups) < 1 || len(m.Groups) > MaxGroups {
		return refuse("groups", "there are %d; there must be 1 to %d", len(m.Groups), MaxGroups)
	}
	before := uint64(noGroup)
	for _, g := range m.Groups {
		if g.ID <= before {
			return refuse("groups", "%d stands behind %d; ids must ascend from 1 on", g.ID, before)
		}
		if err := m.checkReplicas(g); err != nil {
			return err
		}
		before = g.ID
	}
	return nil
}

// checkReplicas wants replicas on different nodes of the map.
func (m Map) checkReplicas(g Group) error {
	if len(g.Replicas) < 1 || len(g.Replicas) > MaxReplicas {
		return refuse("replicas", "group %d has %d; there must be 1 to %d", g.ID, len(g.Replicas), MaxReplicas)
	}
	for i, r := range g.Replicas {
		_, known := m.Node(r.Node)
		switch {
		case !known:
			return refuse("replicas", "group %d has one on %.100q, which is not in the cluster", g.ID, r.Node)
		case g.on(r.Node) < i:
			return refuse("replicas", "group %d has two on node %s", g.ID, r.Node)
		case r.Generation < 1:
			return refuse("replicas", "the one of group %d on %s has generation 0; it must be at least 1", g.ID, r.Node)
		}
	}
	return nil
}

// checkSlots wants an owner among the groups for each slot.
func (m Map) checkSlots() error {
	if len(m.Slots) != Slots {
		return refuse("slots", "there are %d; there must be %d", len(m.Slots), Slots)
	}
	groups := m.groupIDs()
	for slot, owner := range m.Slots {
		if _, known := slices.BinarySearch(groups, owner); !known {
			return refuse("slots", "%d belongs to group %d, which is not in the cluster", slot, owner)
		}
	}
	return nil
}
