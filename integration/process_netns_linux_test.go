package integration

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/ringraft/ringraft/client"
)

// wire is a network of namespaces in a star: each node has one of its own, with a link
// to the router in the middle, and so has the test. The router drops what is cut,
// silently, one direction at a time.
type wire struct {
	t      *testing.T
	prefix string // of the namespaces' names
	router string // a namespace
	octet  int    // the first of the third octets in use
	cuts   [][]string
}

// newWire makes a network for nodes. The test is skipped where that is not permitted.
func newWire(t *testing.T, nodes int) *wire {
	t.Helper()
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skip("needs the command ip, of iproute2")
	}
	w := &wire{t: t, prefix: fmt.Sprintf("rr%d", os.Getpid()), octet: 4 * rand.IntN(60)}
	w.router = w.prefix + "r"
	if out, err := exec.Command("ip", "netns", "add", w.router).CombinedOutput(); err != nil {
		t.Skipf("needs the right to make network namespaces: %v: %s", err, out)
	}
	t.Cleanup(func() { w.ip("netns", "del", w.router) })
	w.ip("netns", "exec", w.router, "sysctl", "-qw", "net.ipv4.ip_forward=1")
	w.link(0, "")
	for i := range nodes {
		w.ip("netns", "add", w.namespace(i))
		t.Cleanup(func() { w.ip("netns", "del", w.namespace(i)) })
		w.link(i+1, w.namespace(i))
		w.ip("route", "add", w.subnet(i+1), "via", w.host(0, 1))
	}
	return w
}

func (w *wire) namespace(node int) string { return fmt.Sprintf("%sn%d", w.prefix, node+1) }

// subnet is that of a place in the star: the test's is 0, a node's its number.
func (w *wire) subnet(place int) string { return fmt.Sprintf("198.18.%d.0/24", w.octet+place) }

func (w *wire) host(place, host int) string { return fmt.Sprintf("198.18.%d.%d", w.octet+place, host) }

// link connects a namespace, "" for the test's, to the router.
func (w *wire) link(place int, namespace string) {
	w.t.Helper()
	inside, outside := fmt.Sprintf("%s-%di", w.prefix, place), fmt.Sprintf("%s-%do", w.prefix, place)
	w.ip("link", "add", inside, "type", "veth", "peer", "name", outside, "netns", w.router)
	w.ip("-n", w.router, "addr", "add", w.host(place, 1)+"/24", "dev", outside)
	w.ip("-n", w.router, "link", "set", outside, "up")
	if namespace == "" {
		w.ip("addr", "add", w.host(place, 2)+"/24", "dev", inside)
		w.ip("link", "set", inside, "up")
		return
	}
	w.ip("link", "set", inside, "netns", namespace)
	w.ip("-n", namespace, "addr", "add", w.host(place, 2)+"/24", "dev", inside)
	w.ip("-n", namespace, "link", "set", inside, "up")
	w.ip("-n", namespace, "link", "set", "lo", "up")
	w.ip("-n", namespace, "route", "add", "default", "via", w.host(place, 1))
}

func (w *wire) ip(args ...string) {
	w.t.Helper()
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		w.t.Fatalf("ip %s: %v: %s", strings.Join(args, " "), err, out)
	}
}

// cut drops what one place sends to another.
func (w *wire) cut(from, to int) {
	w.t.Helper()
	rule := []string{"from", w.host(from, 2), "to", w.host(to, 2), "blackhole"}
	w.ip(slices.Concat([]string{"-n", w.router, "rule", "add"}, rule)...)
	w.cuts = append(w.cuts, rule)
}

// heal ends all cuts.
func (w *wire) heal() {
	w.t.Helper()
	for _, rule := range w.cuts {
		w.ip(slices.Concat([]string{"-n", w.router, "rule", "del"}, rule)...)
	}
	w.cuts = nil
}

// attach puts the cluster's nodes, before their first start, into their namespaces.
func (w *wire) attach(c *liveCluster, flags ...string) {
	var init []string
	for i, n := range c.nodes {
		n.native, n.peer = net.JoinHostPort(w.host(i+1, 2), "7000"), net.JoinHostPort(w.host(i+1, 2), "7001")
		n.launcher = []string{"ip", "netns", "exec", w.namespace(i)}
		init = append(init, n.id+"="+n.peer)
	}
	for _, n := range c.nodes {
		n.args = append(serverArgs(n, strings.Join(init, ",")), flags...)
	}
}

// TestOrderHoldsOnACutNetwork runs all workloads while the network between processes
// in namespaces of their own is cut, in one direction or both.
func TestOrderHoldsOnACutNetwork(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 3)
	w := newWire(t, 3)
	t.Cleanup(c.end) // before the namespaces go
	w.attach(c, "--groups", "3", "--insecure")
	for _, n := range c.nodes {
		n.start()
	}
	c.connect()
	seed := newSeed()
	n := newLiveNemesis(c, rand.New(rand.NewPCG(seed, 0)))
	n.acts = w.acts(n)
	holdLiveOrder(t, n, seed, client.Config{})
}

// acts are what can be cut. Place 0 is the clients'.
func (w *wire) acts(n *liveNemesis) []liveAct {
	place := func(node *liveNode) int { return 1 + slices.Index(n.cluster.nodes, node) }
	cut := func(pairs ...[2]int) {
		for _, p := range pairs {
			w.cut(p[0], p[1])
		}
		n.later(w.heal)
	}
	others := func(at int) (list []int) {
		for i := range n.cluster.nodes {
			if i+1 != at {
				list = append(list, i+1)
			}
		}
		return list
	}
	return []liveAct{
		{"isolated leader", func() {
			at := place(n.leader())
			for _, o := range others(at) {
				cut([2]int{at, o}, [2]int{o, at})
			}
		}},
		{"deaf leader", func() {
			at := place(n.leader())
			for _, o := range others(at) {
				cut([2]int{o, at})
			}
		}},
		{"mute leader", func() {
			at := place(n.leader())
			for _, o := range others(at) {
				cut([2]int{at, o})
			}
		}},
		{"bridge", func() {
			two := n.some(2)
			cut([2]int{place(two[0]), place(two[1])}, [2]int{place(two[1]), place(two[0])})
		}},
		{"one-way cut", func() {
			two := n.some(2)
			cut([2]int{place(two[0]), place(two[1])})
		}},
		{"clients cut off", func() {
			for _, o := range others(0) {
				cut([2]int{0, o}, [2]int{o, 0})
			}
		}},
		{"clients unanswered", func() {
			for _, o := range others(0) {
				cut([2]int{o, 0})
			}
		}},
		{"all cut", func() {
			for _, a := range others(0) {
				for _, b := range others(a) {
					cut([2]int{a, b})
				}
			}
		}},
	}
}
