package resp

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"net"
	"strconv"
)

// A client in cluster mode sees one node that owns all of Redis's slots, the one it is
// connected to: any node serves any key, so nobody is ever sent elsewhere.

// redisSlots is the number of slots that clients in cluster mode count with.
const redisSlots = 16384

func clusterCommands() []subcommand {
	return []subcommand{
		{"info", 2, clusterInfo},
		{"myid", 2, func(c *conn, _ query, r *reply) error { r.text(idOf(c.server.cfg.Node.ID())); return nil }},
		{"nodes", 2, clusterNodes},
		{"slots", 2, clusterSlots},
		{"shards", 2, clusterShards},
		{"keyslot", 3, func(_ *conn, q query, r *reply) error { r.integer(int64(redisSlot(q.args[1]))); return nil }},
	}
}

// idOf returns a node's name in the form that Redis gives names: 40 hexadecimal digits.
func idOf(node string) string {
	sum := sha1.Sum([]byte(node))
	return hex.EncodeToString(sum[:])
}

// at returns where the client has reached this node.
func (c *conn) at() (host string, port int) {
	host, text, err := net.SplitHostPort(c.conn.LocalAddr().String())
	if err != nil {
		return c.conn.LocalAddr().String(), 0 // a listener of another kind
	}
	port, _ = strconv.Atoi(text) // a listener's is a number
	return host, port
}

func clusterInfo(c *conn, _ query, r *reply) error {
	r.verbatim(fmt.Sprintf("cluster_enabled:1\r\ncluster_state:ok\r\ncluster_slots_assigned:%d\r\ncluster_slots_ok:%d\r\n"+
		"cluster_slots_pfail:0\r\ncluster_slots_fail:0\r\ncluster_known_nodes:1\r\ncluster_size:1\r\ncluster_current_epoch:1\r\ncluster_my_epoch:1\r\n", redisSlots, redisSlots))
	return nil
}

func clusterNodes(c *conn, _ query, r *reply) error {
	host, port := c.at()
	r.verbatim(fmt.Sprintf("%s %s@%d myself,master - 0 0 1 connected 0-%d\n", idOf(c.server.cfg.Node.ID()), net.JoinHostPort(host, strconv.Itoa(port)), port, redisSlots-1))
	return nil
}

func clusterSlots(c *conn, _ query, r *reply) error {
	host, port := c.at()
	r.array(1)
	r.array(3)
	r.integer(0)
	r.integer(redisSlots - 1)
	r.array(4)
	r.text(host)
	r.integer(int64(port))
	r.text(idOf(c.server.cfg.Node.ID()))
	r.array(0)
	return nil
}

func clusterShards(c *conn, _ query, r *reply) error {
	host, port := c.at()
	r.array(1)
	r.dict(2)
	r.text("slots")
	r.array(2)
	r.integer(0)
	r.integer(redisSlots - 1)
	r.text("nodes")
	r.array(1)
	r.dict(7)
	for _, field := range [][2]string{{"id", idOf(c.server.cfg.Node.ID())}, {"ip", host}, {"endpoint", host}, {"role", "master"}, {"health", "online"}} {
		r.text(field[0])
		r.text(field[1])
	}
	r.text("port")
	r.integer(int64(port))
	r.text("replication-offset")
	r.integer(0)
	return nil
}

// redisSlot returns the slot that clients in cluster mode give a key: the CRC-16 of its
// hash tag or, without one, of the key.
func redisSlot(key []byte) uint16 {
	return crc16(hashTag(key)) % redisSlots
}

func hashTag(key []byte) []byte {
	for i, b := range key {
		if b != '{' {
			continue
		}
		for n, end := range key[i+1:] {
			if end == '}' && n > 0 {
				return key[i+1 : i+1+n]
			} else if end == '}' {
				break
			}
		}
		break
	}
	return key
}

// crc16 is the XMODEM variant: polynomial 0x1021, from 0.
func crc16(b []byte) (sum uint16) {
	for _, x := range b {
		sum ^= uint16(x) << 8
		for range 8 {
			if sum&0x8000 != 0 {
				sum = sum<<1 ^ 0x1021
			} else {
				sum <<= 1
			}
		}
	}
	return sum
}
