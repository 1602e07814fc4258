package integration

import (
	"fmt"
	"path/filepath"
	"syscall"
	"testing"
)

// TestSnapshotsAreTakenOnDemand sends SIGUSR1, long before a snapshot would be due, and
// kills the node once it has one: it comes back with all it had.
func TestSnapshotsAreTakenOnDemand(t *testing.T) {
	t.Parallel()
	c := startCluster(t, 3, "--groups", "1")
	c.set("a", "1")
	n := c.nodes[0]
	n.signal(syscall.SIGUSR1)
	eventually(t, "there is a snapshot", func() error {
		found, err := filepath.Glob(filepath.Join(n.data, "groups", "1.*", "snapshots", "*[0-9]"))
		if err == nil && len(found) != 1 {
			err = fmt.Errorf("there are %q", found)
		}
		return err
	})
	c.set("b", "2")
	n.kill()
	n.start()
	c.waitCaughtUp()
	c.want("a", "1")
	c.want("b", "2")
}
