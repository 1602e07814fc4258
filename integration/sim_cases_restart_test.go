package integration

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/ringraft/ringraft/op"
)

// TestSimRestartedReplicaAnswersOnceItHasCaughtUp: until then a node sends readers
// elsewhere. It never shows less than it had applied before it stopped.
func TestSimRestartedReplicaAnswersOnceItHasCaughtUp(t *testing.T) {
	for name, stop := range map[string]func(c *simCluster) []string{
		"a follower":  func(c *simCluster) []string { return []string{c.follower(1)} },
		"the leader":  func(c *simCluster) []string { return []string{c.leader(1)} },
		"all at once": func(c *simCluster) []string { return c.without("") },
	} {
		t.Run(name, func(t *testing.T) {
			simulate(t, 1, func(t *testing.T, c *simCluster) {
				for i := range 100 {
					c.do(op.Set{Key: fmt.Appendf(nil, "k%d", i), Value: []byte("v")}, op.Local)
				}
				c.checkDigests()
				ids := stop(c)
				for _, id := range ids {
					c.halt(id)
				}
				for _, id := range ids {
					c.restart(id)
				}
				for _, id := range ids {
					c.readFromTheStart(id, []byte("k99"), "v")
				}
			})
		})
	}
}

// readFromTheStart reads from a node that has just been started until it answers, and
// fails the test if the first answer is not the value.
func (c *simCluster) readFromTheStart(id string, key []byte, value string) {
	c.t.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		res := c.at(id, op.Get{Key: key}, op.Local)
		switch {
		case res.Err == nil && string(res.Value) != value:
			c.t.Fatalf("%s answers %q, found %v; want %q", id, res.Value, res.Found, value)
		case res.Err == nil:
			return
		case !errors.Is(res.Err, op.ErrUnavailable):
			c.t.Fatal(res.Err)
		}
	}
	c.t.Errorf("%s answers nothing", id)
}
