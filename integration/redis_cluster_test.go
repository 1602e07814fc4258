package integration

import (
	"fmt"
	"strings"
	"testing"
)

// TestRedisClientsSeeAllNodes asks any node in cluster mode: all are shown where they
// are, one that is killed no more, and each slot has a master that serves it all the time.
func TestRedisClientsSeeAllNodes(t *testing.T) {
	t.Parallel()
	c := startCluster(t, 3)
	c.waitCaughtUp()
	for _, asked := range c.nodes {
		eventually(t, asked.id+" shows all nodes", func() error {
			return shownAt(dialRedis(t, asked.resp).must(t, "CLUSTER", "NODES"), c.nodes...)
		})
	}
	first, rest := c.nodes[0], c.nodes[1:]
	first.kill()
	for _, asked := range rest {
		conn := dialRedis(t, asked.resp)
		eventually(t, asked.id+" shows the others only", func() error {
			answer := conn.must(t, "CLUSTER", "NODES")
			if strings.Contains(answer, first.resp+"@") {
				return fmt.Errorf("%s is still there: %s", first.id, answer)
			}
			return shownAt(answer, rest...)
		})
		eventually(t, "all groups have leaders among them", func() error {
			if answer := conn.must(t, "CLUSTER", "INFO"); !strings.Contains(answer, "cluster_state:ok") {
				return fmt.Errorf("%s", answer)
			}
			return nil
		})
	}
	first.start()
	eventually(t, "the killed node is shown again", func() error {
		return shownAt(dialRedis(t, rest[0].resp).must(t, "CLUSTER", "NODES"), c.nodes...)
	})
}

// shownAt returns an error unless an answer to CLUSTER NODES has the nodes, each at its
// address, and masters of all slots.
func shownAt(answer string, nodes ...*liveNode) error {
	for _, n := range nodes {
		if !strings.Contains(answer, " "+n.resp+"@") {
			return fmt.Errorf("%s at %s is missing: %s", n.id, n.resp, answer)
		}
	}
	slots := 0
	for line := range strings.SplitSeq(answer, "\n") {
		words := strings.Fields(line)
		for _, word := range words[min(len(words), 8):] {
			var first, last int
			if _, err := fmt.Sscanf(word, "%d-%d", &first, &last); err != nil {
				return fmt.Errorf("%q: %w", line, err)
			}
			slots += last - first + 1
		}
	}
	if slots != 16384 {
		return fmt.Errorf("%d slots have masters: %s", slots, answer)
	}
	return nil
}

// TestAdvertisedRedisAddressIsShown listens everywhere and is found elsewhere.
func TestAdvertisedRedisAddressIsShown(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1, "--replicas", "1")
	n := c.nodes[0]
	n.args = append(n.args, "--advertise-resp", "cache1.example:7000")
	n.start()
	c.connect()
	if answer := dialRedis(t, n.resp).must(t, "CLUSTER", "SLOTS"); !strings.Contains(answer, bulk("cache1.example")+":7000\r\n") {
		t.Errorf("CLUSTER SLOTS: %q", answer)
	}
}
