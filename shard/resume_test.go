package shard

import (
	"testing"
	"time"

	"github.com/ringraft/ringraft/internal/bubble"
	"github.com/ringraft/ringraft/op"
)

// TestFollowersAreBroughtUpToDateWhenTheyAreHeardOfAgain, though nobody writes any more,
// and much sooner than Raft would by itself.
func TestFollowersAreBroughtUpToDateWhenTheyAreHeardOfAgain(t *testing.T) {
	const soon = 700 * time.Millisecond // a connection and two beats
	for name, write := range map[string]bool{"having missed nothing": false, "having missed an entry": true} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				for range 5 { // Raft's times are random
					g := newTrio(t, nil)
					leader, followers := g.leader()
					id := nodeOf(followers[0].id)
					time.Sleep(5 * time.Second)
					g.stop(id)
					if write {
						if err := leader.raft.Apply(op.EncodeDetail(metaCommand{}), time.Second).Error(); err != nil {
							t.Fatal(err)
						}
					}
					last := leader.machine.Applied()
					time.Sleep(time.Second)
					g.start(id)
					back := g.replicas[id]
					time.Sleep(soon)
					if got := back.machine.Applied(); got < last || !back.caughtUp() {
						t.Errorf("%v after its start a follower has applied %d entries of %d, caught up: %v", soon, got, last, back.caughtUp())
					}
					g.close()
				}
			})
		})
	}
}
