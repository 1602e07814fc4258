package placement

import "slices"

// The changes below return the map itself, at its epoch, if nothing would differ.

// WithNode registers n, whose id is valid, or gives the node of that id a new
// incarnation and addresses.
func (m Map) WithNode(n Node) Map {
	i, found := m.findNode(n.ID)
	if found && m.Nodes[i] == n {
		return m
	}
	m.Nodes = slices.Clone(m.Nodes)
	if found {
		m.Nodes[i] = n
	} else {
		m.Nodes = slices.Insert(m.Nodes, i, n)
	}
	m.Epoch++
	return m
}

// WithPreferred puts node first in the order of preference of group. The others
// keep their order. It refuses unknown groups and nodes without a replica of it.
func (m Map) WithPreferred(group uint64, node string) (Map, error) {
	i, found := m.findGroup(group)
	if !found {
		return m, refuse("group", "%d is not in the cluster", group)
	}
	at := m.Groups[i].on(node)
	switch {
	case at < 0:
		return m, refuse("node", "%.100q has no replica of group %d", node, group)
	case at == 0:
		return m, nil
	}
	replicas := slices.Clone(m.Groups[i].Replicas)
	toFront(replicas, at)
	m.Groups = slices.Clone(m.Groups)
	m.Groups[i].Replicas = replicas
	m.Epoch++
	return m, nil
}

// WithSetting changes a setting, see [Settings.Set].
func (m Map) WithSetting(name, value string) (Map, error) {
	s, err := m.Settings.Set(name, value)
	if err != nil || s == m.Settings {
		return m, err
	}
	m.Settings = s
	m.Epoch++
	return m, nil
}

// toFront moves the element at index i to the front and keeps the others' order.
func toFront[E any](s []E, i int) {
	front := s[i]
	copy(s[1:i+1], s[:i])
	s[0] = front
}
