package client_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ringraft/ringraft/client"
	"github.com/ringraft/ringraft/internal/fakenode"
	"github.com/ringraft/ringraft/op"
)

// names resolves host names as a name server under the test's control would.
type names struct {
	mu sync.Mutex
	at map[string]string // host:port by the host:port that a client dials; "" does not resolve
}

func (n *names) set(name, address string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.at[name] = address
}

func (n *names) dial(ctx context.Context, network, name string) (net.Conn, error) {
	n.mu.Lock()
	address := n.at[name]
	n.mu.Unlock()
	if address == "" {
		return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
	}
	var d net.Dialer
	return d.DialContext(ctx, network, address)
}

var nodeIDs = []string{"n1", "n2", "n3"}

func nameOf(id string) string { return id + ".test:7401" }

// startNamed starts a cluster whose map tells told(id) for each node's address, and a
// client that knows the nodes by name.
func startNamed(t *testing.T, told func(id string) string) (*fakenode.Cluster, *names, *client.Client) {
	t.Helper()
	nodes, err := fakenode.Start(fakenode.Config{Cluster: t.Name(), Groups: 3})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nodes.Close)
	n := &names{at: map[string]string{}}
	for i, address := range nodes.Endpoints() {
		n.set(nameOf(nodeIDs[i]), address)
	}
	tell(nodes, told)
	for i, id := range nodeIDs {
		nodes.Lead(uint64(i+1), id)
	}
	cfg := client.Config{Dial: n.dial, RequestTimeout: time.Minute, BackoffMax: 20 * time.Millisecond}
	for _, id := range nodeIDs {
		cfg.Endpoints = append(cfg.Endpoints, nameOf(id))
	}
	c, err := client.New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return nodes, n, c
}

// tell puts told(id) into the map as each node's address. The epoch stays, so clients
// see no change.
func tell(nodes *fakenode.Cluster, told func(id string) string) {
	m := nodes.Map()
	m.Nodes = slices.Clone(m.Nodes)
	for i := range m.Nodes {
		m.Nodes[i].Native = told(m.Nodes[i].ID)
	}
	nodes.Install(m)
}

// move starts a node again at another address, and returns that.
func move(t *testing.T, nodes *fakenode.Cluster, id string) string {
	t.Helper()
	before := nodes.Map()
	nodes.Stop(id)
	if err := nodes.Restart(id); err != nil {
		t.Fatal(err)
	}
	moved, _ := nodes.Map().Node(id)
	nodes.Install(before) // the name stays
	return moved.Native
}

// useAll writes and reads keys of all groups, each of which another node leads. What
// is under way when a node moves may have been done.
func useAll(t *testing.T, nodes *fakenode.Cluster, c *client.Client) {
	t.Helper()
	seen := map[uint64]bool{}
	for i := 0; len(seen) < 3; i++ {
		key := fmt.Sprintf("key-%d", i)
		if seen[nodes.GroupOf(key)] {
			continue
		}
		seen[nodes.GroupOf(key)] = true
		if _, err := c.Set(t.Context(), key, []byte("v")); err != nil && !errors.Is(err, client.ErrUnknownOutcome) {
			t.Fatalf("set in group %d: %v", nodes.GroupOf(key), err)
		}
		must[bool](t)(c.Exists(t.Context(), key, client.At(client.Linearizable)))
	}
}

func TestNamesAreResolvedAnew(t *testing.T) {
	t.Parallel()
	nodes, names, c := startNamed(t, nameOf)
	useAll(t, nodes, c)
	for _, id := range nodeIDs { // one after the other
		names.set(nameOf(id), move(t, nodes, id))
		useAll(t, nodes, c)
	}
	for _, id := range nodeIDs { // and all at once
		names.set(nameOf(id), move(t, nodes, id))
	}
	useAll(t, nodes, c)
}

func TestNamesThatDoNotResolveAreTriedAgain(t *testing.T) {
	t.Parallel()
	nodes, names, c := startNamed(t, nameOf)
	moved := map[string]string{}
	for _, id := range nodeIDs {
		names.set(nameOf(id), "")
		moved[id] = move(t, nodes, id)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := c.Get(ctx, "k"); !errors.Is(err, client.ErrUnavailable) {
		t.Errorf("while no name resolves: %v, want %v", err, client.ErrUnavailable)
	}
	for id, address := range moved {
		names.set(nameOf(id), address)
	}
	useAll(t, nodes, c)
}

// TestForeignClusterIsNotUsed lets the old addresses be taken over by another cluster
// with nodes of the same ids.
func TestForeignClusterIsNotUsed(t *testing.T) {
	t.Parallel()
	nodes, names, c := startNamed(t, nameOf)
	foreign, err := fakenode.Start(fakenode.Config{Cluster: "foreign"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(foreign.Close)
	moved := map[string]string{}
	for i, id := range nodeIDs {
		names.set(nameOf(id), foreign.Endpoints()[i])
		moved[id] = move(t, nodes, id)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	for _, err := range []error{c.SetConfig(ctx, "max-bytes", "1GiB"), c.Expire(ctx, "k", time.Hour)} {
		if errors.Is(err, client.ErrNotFound) || err == nil {
			t.Errorf("err = %v: the foreign cluster answered", err)
		}
	}
	for _, code := range []op.Code{op.CodeExpire, op.CodeSetConfig} {
		if n := foreign.Served(code); n > 0 {
			t.Errorf("the foreign cluster did %d %s", n, code)
		}
	}
	for id, address := range moved {
		names.set(nameOf(id), address)
	}
	useAll(t, nodes, c)
}

// TestNodesAreFoundAtTheEndpoints where the addresses that the cluster tells are of
// no use, as behind a translation of addresses.
func TestNodesAreFoundAtTheEndpoints(t *testing.T) {
	t.Parallel()
	nodes, names, c := startNamed(t, func(id string) string { return id + ".inside:7401" })
	useAll(t, nodes, c)
	for _, id := range nodeIDs {
		names.set(nameOf(id), move(t, nodes, id))
		useAll(t, nodes, c)
	}
}
