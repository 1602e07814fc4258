package shard

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/ringraft/ringraft/internal/bubble"
	"github.com/ringraft/ringraft/placement"
)

// beatTimes records when Raft hands heartbeats to the network, as parts of a beat.
type beatTimes struct {
	raft.Transport
	beat time.Duration

	mu *sync.Mutex
	at *[]time.Duration
}

func (b beatTimes) AppendEntries(id raft.ServerID, addr raft.ServerAddress, request *raft.AppendEntriesRequest, response *raft.AppendEntriesResponse) error {
	if request.PrevLogEntry == 0 && len(request.Entries) == 0 {
		b.mu.Lock()
		*b.at = append(*b.at, time.Duration(time.Now().UnixNano())%b.beat)
		b.mu.Unlock()
	}
	return b.Transport.AppendEntries(id, addr, request, response)
}

func TestHeartbeatsWakeNobodyBetweenTwoBeats(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		timing := Timing{}.withDefaults()
		var mu sync.Mutex
		var at []time.Duration
		g := newTrio(t, func(tr raft.Transport) raft.Transport { return beatTimes{tr, timing.Beat(), &mu, &at} })
		defer g.close()
		leader, _ := g.leader()
		n := &Node{cfg: Config{Timing: timing}}
		n.current.Store(new(placement.Map))
		n.meta.Store(&meta{replica: leader})
		n.ctx, n.stop = context.WithCancel(t.Context())
		n.background.start(n.pace)
		time.Sleep(time.Second)
		mu.Lock()
		at = nil
		mu.Unlock()
		const beats = 40
		time.Sleep(beats * timing.Beat())
		n.stop()
		if err := n.background.close(t.Context()); err != nil {
			t.Fatal(err)
		}
		mu.Lock()
		defer mu.Unlock()
		if len(at) != 2*beats {
			t.Errorf("%d heartbeats in %d beats to two followers", len(at), beats)
		}
		for _, a := range at {
			if a != 0 {
				t.Fatalf("heartbeats were handed over %v of the way to the next beat: %v", a, at)
			}
		}
	})
}
