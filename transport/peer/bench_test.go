package peer

import (
	"fmt"
	"testing"

	"github.com/hashicorp/raft"
)

// BenchmarkAppendEntries measures round trips of one entry of 1 KiB over loopback, for
// some groups at once. The replica answers without doing anything.
func BenchmarkAppendEntries(b *testing.B) {
	for _, groups := range []int{1, 4, 16} {
		b.Run(fmt.Sprintf("groups=%d", groups), func(b *testing.B) {
			w := newTown()
			from, to := w.node(b, Config{Self: in("a")}), w.node(b, Config{Self: in("b")})
			turns := make(chan struct{}, b.N)
			for range b.N {
				turns <- struct{}{}
			}
			close(turns)
			done := make(chan error)
			for g := range groups {
				id := raft.ServerID(fmt.Sprintf("b/%d/1", g))
				serveRaft(b, to.Transport(id), accept)
				sender := from.Transport(raft.ServerID(fmt.Sprintf("a/%d/1", g)))
				go func() { done <- appendAll(sender, id, turns) }()
			}
			for range groups {
				if err := <-done; err != nil {
					b.Error(err)
				}
			}
		})
	}
}

func appendAll(sender raft.Transport, to raft.ServerID, turns <-chan struct{}) error {
	request := &raft.AppendEntriesRequest{Entries: []*raft.Log{{Data: make([]byte, 1<<10)}}}
	for range turns {
		if err := sender.AppendEntries(to, "", request, &raft.AppendEntriesResponse{}); err != nil {
			return err
		}
	}
	return nil
}
