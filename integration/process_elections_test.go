package integration

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ringraft/ringraft/op"
)

// TestGroupsOfAKilledProcessDoNotWaitForHeartbeats: these fail only after ten seconds,
// which nobody waits for. A machine that is so busy that the survivors do not hear each
// other within a quarter of a second gets further chances.
func TestGroupsOfAKilledProcessDoNotWaitForHeartbeats(t *testing.T) {
	t.Parallel()
	c := startCluster(t, 3, "--heartbeat", patient.String())
	for range 5 {
		nodes := c.waitCaughtUp()
		victim := c.leader(1)
		victim.kill()
		waited := 0
		for _, group := range groupsLedIn(nodes, victim.id) {
			key := string(keyOf(c.clusterMap(), max(group, 1)))
			eventually(t, fmt.Sprintf("group %d takes a write", group), func() error {
				_, err := c.client.Set(t.Context(), key, []byte("after the death"))
				return err
			})
			if !c.stoodAtOnce(victim, group) {
				waited++
			}
		}
		if waited == 0 {
			return
		}
		t.Logf("%d groups of %s have waited", waited, victim.id)
		victim.start()
	}
	t.Error("the groups of a dead process have waited for heartbeats each time")
}

// groupsLedIn returns the groups that a node led in a status.
func groupsLedIn(nodes []op.NodeStatus, id string) (led []uint64) {
	for _, n := range nodes {
		for _, r := range n.Replicas {
			if n.Node == id && r.Role == "leader" {
				led = append(led, r.Group)
			}
		}
	}
	return led
}

// stoodAtOnce reports whether a node stood in a group because it saw that victim is gone.
func (c *liveCluster) stoodAtOnce(victim *liveNode, group uint64) bool {
	for _, n := range c.others(victim) {
		line := fmt.Sprintf("standing for election at once: the leader's process has ended\" node=%s group=%d leader=%s", n.id, group, victim.id)
		if strings.Contains(n.logText(), line) {
			return true
		}
	}
	return false
}
