package resp

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
)

func clusterCommands() []subcommand {
	return []subcommand{
		{"info", 2, ofView(clusterInfo)},
		{"myid", 2, func(c *conn, _ query, r *reply) error { r.text(idOf(c.server.cfg.Node.ID())); return nil }},
		{"nodes", 2, ofView(clusterNodes)},
		{"slots", 2, ofView(clusterSlots)},
		{"shards", 2, ofView(clusterShards)},
		{"keyslot", 3, func(_ *conn, q query, r *reply) error { r.integer(int64(redisSlot(q.args[1]))); return nil }},
	}
}

// ofView serves what tells of the cluster as it is now. self is the node asked.
func ofView(tell func(v view, self string, r *reply)) func(*conn, query, *reply) error {
	return func(c *conn, _ query, r *reply) error {
		v, err := c.server.look()
		if err == nil {
			tell(v, c.server.cfg.Node.ID(), r)
		}
		return err
	}
}

// idOf returns a node's name in the form that Redis gives names: 40 hexadecimal digits.
func idOf(node string) string {
	sum := sha1.Sum([]byte(node))
	return hex.EncodeToString(sum[:])
}

func clusterInfo(v view, _ string, r *reply) {
	state, led := "ok", 0
	for _, s := range v.shares {
		if s.led {
			led += s.last - s.first + 1
		}
	}
	if led < redisSlots {
		state = "fail"
	}
	r.verbatim(fmt.Sprintf("cluster_enabled:1\r\ncluster_state:%s\r\ncluster_slots_assigned:%d\r\ncluster_slots_ok:%d\r\n"+
		"cluster_slots_pfail:0\r\ncluster_slots_fail:%d\r\ncluster_known_nodes:%d\r\ncluster_size:%d\r\ncluster_current_epoch:1\r\ncluster_my_epoch:1\r\n",
		state, redisSlots, led, redisSlots-led, len(v.members), len(v.leaders())))
}

// clusterNodes answers a line per node. One that leads nothing is a replica of the first
// that leads a group of its own.
func clusterNodes(v view, self string, r *reply) {
	var text strings.Builder
	for _, m := range v.members {
		role, master, ranges := "master", "-", ""
		for _, s := range v.ledBy(m) {
			ranges += fmt.Sprintf(" %d-%d", s.first, s.last)
		}
		if i := slices.IndexFunc(v.shares, func(s share) bool { return slices.Contains(s.nodes, m) }); ranges == "" && i >= 0 {
			role, master = "slave", idOf(v.shares[i].nodes[0].node)
		}
		if m.node == self {
			role = "myself," + role
		}
		fmt.Fprintf(&text, "%s %s:%d@%d %s %s 0 0 1 connected%s\n", idOf(m.node), m.host, m.port, m.port, role, master, ranges)
	}
	r.verbatim(text.String())
}

func clusterSlots(v view, _ string, r *reply) {
	r.array(len(v.shares))
	for _, s := range v.shares {
		r.array(2 + len(s.nodes))
		r.integer(int64(s.first))
		r.integer(int64(s.last))
		for _, m := range s.nodes {
			r.array(4)
			r.text(m.host)
			r.integer(int64(m.port))
			r.text(idOf(m.node))
			r.array(0)
		}
	}
}

// clusterShards answers for each node that leads: its slots, itself and the replicas.
func clusterShards(v view, _ string, r *reply) {
	leaders := v.leaders()
	r.array(len(leaders))
	for _, leader := range leaders {
		led, nodes := v.ledBy(leader), []member{leader}
		r.dict(2)
		r.text("slots")
		r.array(2 * len(led))
		for _, s := range led {
			r.integer(int64(s.first))
			r.integer(int64(s.last))
			for _, m := range s.nodes {
				if !slices.Contains(nodes, m) {
					nodes = append(nodes, m)
				}
			}
		}
		r.text("nodes")
		r.array(len(nodes))
		role := "master"
		for _, m := range nodes {
			m.describe(role, r)
			role = "replica"
		}
	}
}

// describe appends what CLUSTER SHARDS tells of a node.
func (m member) describe(role string, r *reply) {
	r.dict(7)
	for _, field := range [][2]string{{"id", idOf(m.node)}, {"ip", m.host}, {"endpoint", m.host}, {"role", role}, {"health", "online"}} {
		r.text(field[0])
		r.text(field[1])
	}
	r.text("port")
	r.integer(int64(m.port))
	r.text("replication-offset")
	r.integer(0)
}
