package integration

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringraft/ringraft/client"
	"github.com/ringraft/ringraft/op"
	"github.com/ringraft/ringraft/placement"
	"github.com/ringraft/ringraft/transport"
)

// liveCluster is a cluster of server processes, driven through the real client.
type liveCluster struct {
	t      *testing.T
	nodes  []*liveNode
	client *client.Client
}

// liveSlots bounds the clusters that run at once: processes share few cores.
var liveSlots = make(chan struct{}, 2)

// startCluster forms a cluster of n server processes, n1 to nN, with further flags,
// and waits until it serves. Everything is gone when the test ends.
func startCluster(t *testing.T, n int, flags ...string) *liveCluster {
	t.Helper()
	c := newCluster(t, n, flags...)
	for _, node := range c.nodes {
		node.start()
	}
	c.connect()
	return c
}

// newCluster is startCluster before the first process starts.
func newCluster(t *testing.T, n int, flags ...string) *liveCluster {
	t.Helper()
	liveSlots <- struct{}{}
	t.Cleanup(func() { <-liveSlots })
	c := &liveCluster{t: t}
	dir, addresses := t.TempDir(), freeAddresses(t, 3*n)
	var init []string
	for i := range n {
		id := fmt.Sprintf("n%d", i+1)
		node := &liveNode{
			t: t, id: id, native: addresses[3*i], peer: addresses[3*i+1], resp: addresses[3*i+2],
			data: filepath.Join(dir, id), log: filepath.Join(dir, id+".log"),
		}
		c.nodes = append(c.nodes, node)
		init = append(init, id+"="+node.peer)
	}
	for _, node := range c.nodes {
		node.args = append(serverArgs(node, strings.Join(init, ",")), flags...)
	}
	t.Cleanup(c.end)
	return c
}

// logFlag makes all process tests run on another log.
var logFlag = flag.String("log", "", "the `KIND` of the nodes' logs on disk: wal, shared or bolt")

func serverArgs(n *liveNode, init string) []string {
	args := []string{
		"server", "--id", n.id, "--data", n.data, "--native", n.native, "--peer", n.peer, "--resp", n.resp,
		"--init", init, "--stop-with-stdin",
	}
	if *logFlag != "" {
		args = append(args, "--log", *logFlag)
	}
	return args
}

// end ends all processes, and prints their logs if the test failed.
func (c *liveCluster) end() {
	if c.client != nil {
		c.client.Close()
	}
	for _, n := range c.nodes {
		n.end()
		if strings.Contains(n.logText(), "DATA RACE") {
			c.t.Errorf("%s has a data race", n.id)
		}
	}
	if c.t.Failed() {
		for _, n := range c.nodes {
			c.t.Logf("log of %s:\n%s", n.id, n.logText())
		}
	}
}

// hosts counts the loopback addresses given out.
var hosts atomic.Uint32

// freeAddresses returns count addresses to listen on. The ports come from the system.
// Their host is one that nobody else uses where the system has all of 127/8 as
// loopback: there no connection that anybody opens can take a port while its node is
// down.
func freeAddresses(t *testing.T, count int) []string {
	t.Helper()
	host := fmt.Sprintf("127.%d.%d.%d", 1+os.Getpid()>>7&0x7f, 1+os.Getpid()&0x7f, 1+hosts.Add(1)%250)
	if l, err := net.Listen("tcp", net.JoinHostPort(host, "0")); err != nil {
		host = "127.0.0.1"
	} else {
		l.Close()
	}
	var list []string
	for range count {
		l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close() // after all are found, so that they differ
		list = append(list, l.Addr().String())
	}
	return list
}

// connect makes the cluster's client once the cluster serves.
func (c *liveCluster) connect() {
	c.t.Helper()
	eventually(c.t, "a client connects", func() (err error) {
		c.client, err = c.dial(client.Config{})
		return err
	})
	c.waitReady()
}

// dial returns another client of the cluster, from all its nodes.
func (c *liveCluster) dial(cfg client.Config) (*client.Client, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	cfg.Endpoints = c.endpoints()
	return client.New(ctx, cfg)
}

func (c *liveCluster) endpoints() []string {
	var list []string
	for _, n := range c.nodes {
		list = append(list, n.native)
	}
	return list
}

// waitReady returns when every group answers a linearizable read.
func (c *liveCluster) waitReady() {
	c.t.Helper()
	eventually(c.t, "all groups answer", func() error {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		m, err := c.client.Map(ctx)
		if err != nil {
			return err
		}
		if m.Epoch == 0 || len(m.Groups) == 0 {
			return errors.New("there is no cluster map")
		}
		for _, g := range m.Groups {
			if _, err := c.client.Exists(ctx, string(keyOf(m, g.ID)), client.At(client.Linearizable)); err != nil {
				return fmt.Errorf("group %d: %w", g.ID, err)
			}
		}
		return nil
	})
}

// waitCaughtUp returns the status once every node is up and all replicas of each
// group stand at the same index.
func (c *liveCluster) waitCaughtUp() []op.NodeStatus {
	c.t.Helper()
	var nodes []op.NodeStatus
	eventually(c.t, "all replicas catch up", func() (err error) {
		if nodes, err = c.status(); err != nil {
			return err
		}
		return caughtUp(nodes, len(c.nodes))
	})
	return nodes
}

func caughtUp(nodes []op.NodeStatus, want int) error {
	applied, replicas := map[uint64]uint64{}, 0
	for _, n := range nodes {
		if n.State != "up" {
			return fmt.Errorf("%s is %s", n.Node, n.State)
		}
		for _, r := range n.Replicas {
			at, known := applied[r.Group]
			if r.Role != "leader" && r.Role != "follower" || r.Applied != r.Commit || known && at != r.Applied {
				return fmt.Errorf("%s: %+v", n.Node, r)
			}
			applied[r.Group] = r.Applied
			replicas++
		}
	}
	if len(applied) < 2 || replicas != want*len(applied) {
		return fmt.Errorf("%d replicas of %d groups on %d nodes", replicas, len(applied), want)
	}
	return nil
}

func (c *liveCluster) status() ([]op.NodeStatus, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return c.client.Status(ctx)
}

func (c *liveCluster) clusterMap() placement.Map {
	c.t.Helper()
	m, err := c.client.Map(c.t.Context())
	if err != nil {
		c.t.Fatal(err)
	}
	return m
}

func (c *liveCluster) node(id string) *liveNode {
	return c.nodes[slices.IndexFunc(c.nodes, func(n *liveNode) bool { return n.id == id })]
}

// leader returns the node that leads a group, once one does.
func (c *liveCluster) leader(group uint64) *liveNode {
	c.t.Helper()
	var leader *liveNode
	eventually(c.t, fmt.Sprintf("group %d has a leader", group), func() error {
		nodes, err := c.status()
		if err != nil {
			return err
		}
		term := uint64(0)
		for _, n := range nodes {
			for _, r := range n.Replicas {
				if r.Group == group && r.Role == "leader" && r.Term >= term {
					leader, term = c.node(n.Node), r.Term
				}
			}
		}
		if leader == nil {
			return errors.New("nobody leads")
		}
		return nil
	})
	return leader
}

// others returns the nodes without n.
func (c *liveCluster) others(n *liveNode) []*liveNode {
	return slices.DeleteFunc(slices.Clone(c.nodes), func(o *liveNode) bool { return o == n })
}

// connectTo returns a bare connection to one node, which answers for itself alone.
func (c *liveCluster) connectTo(n *liveNode) *transport.Conn {
	c.t.Helper()
	var conn *transport.Conn
	eventually(c.t, n.id+" takes connections", func() (err error) {
		ctx, cancel := context.WithTimeout(c.t.Context(), 5*time.Second)
		defer cancel()
		conn, err = transport.Dial(ctx, n.native, transport.ConnConfig{})
		return err
	})
	c.t.Cleanup(func() { conn.Close() })
	return conn
}

// set writes a key, which must succeed.
func (c *liveCluster) set(key, value string) {
	c.t.Helper()
	if _, err := c.client.Set(c.t.Context(), key, []byte(value)); err != nil {
		c.t.Fatalf("set %q: %v", key, err)
	}
}

// want fails the test unless a linearizable read of key gives value.
func (c *liveCluster) want(key, value string) {
	c.t.Helper()
	v, err := c.client.Get(c.t.Context(), key, client.At(client.Linearizable))
	if err != nil || string(v.Bytes) != value {
		c.t.Fatalf("get %q: %q, %v; want %q", key, v.Bytes, err, value)
	}
}

// eventually returns once probe returns nil, and fails the test if it never does.
func eventually(t *testing.T, what string, probe func() error) {
	t.Helper()
	deadline := time.After(patience)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := probe()
		if err == nil {
			return
		}
		select {
		case <-deadline:
			t.Fatalf("not within %v: %s: %v", patience, what, err)
		case <-t.Context().Done():
			t.Fatalf("%s: %v", what, t.Context().Err())
		case <-tick.C:
		}
	}
}
