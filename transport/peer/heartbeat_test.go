package peer

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"

	"github.com/ringraft/ringraft/internal/bubble"
)

// beat sends a heartbeat of term from a replica to its fellow on node b.
func beat(a *Network, group int, term uint64) (raft.AppendEntriesResponse, error) {
	request := &raft.AppendEntriesRequest{Term: term}
	var response raft.AppendEntriesResponse
	err := transportOf(a, raft.ServerID(fmt.Sprintf("a/%d/1", group))).
		AppendEntries(raft.ServerID(fmt.Sprintf("b/%d/1", group)), "", request, &response)
	return response, err
}

func TestHeartbeatsLeaveTogetherAndNothingElseWaits(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newFabricTown()
		a, b := w.node(t, Config{Self: in("a")}), w.node(t, Config{Self: in("b")})
		var mu sync.Mutex
		arrived := map[string]time.Duration{}
		start := time.Now()
		const groups = 40
		for group := range groups {
			serveRaft(t, b.Transport(raft.ServerID(fmt.Sprintf("b/%d/1", group))), func(rpc raft.RPC) (any, error) {
				m := rpc.Command.(*raft.AppendEntriesRequest)
				mu.Lock()
				defer mu.Unlock()
				arrived[fmt.Sprintf("%d in term %d", group, m.Term)] = time.Since(start)
				return accept(rpc)
			})
		}
		if _, err := beat(a, 0, 1); err != nil {
			t.Fatal(err)
		}
		var senders sync.WaitGroup
		for group := range groups {
			senders.Go(func() {
				time.Sleep(time.Duration(group) * time.Millisecond)
				if group == 7 {
					request := &raft.AppendEntriesRequest{Term: 9, PrevLogEntry: 1, PrevLogTerm: 1}
					if err := transportOf(a, "a/7/1").AppendEntries("b/7/1", "", request, &raft.AppendEntriesResponse{}); err != nil {
						t.Error(err)
					}
				}
				if response, err := beat(a, group, 2); err != nil || response.Term != 2 || !response.Success {
					t.Errorf("group %d: %+v, %v", group, response, err)
				}
			})
		}
		senders.Wait()
		for group := range groups {
			if at := arrived[fmt.Sprintf("%d in term 2", group)]; at != 300*time.Millisecond {
				t.Errorf("the heartbeat of group %d arrived after %v, want 300ms", group, at)
			}
		}
		if first, append := arrived["0 in term 1"], arrived["7 in term 9"]; first != 150*time.Millisecond || append != 157*time.Millisecond {
			t.Errorf("the first heartbeat arrived after %v, want 150ms; an append after %v, want 157ms", first, append)
		}
	})
}

// TestEachHeartbeatHasItsOwnOutcome, and none waits for a slower one.
func TestEachHeartbeatHasItsOwnOutcome(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newFabricTown()
		a, b := w.node(t, Config{Self: in("a")}), w.node(t, Config{Self: in("b")})
		answers := []func(raft.RPC) (any, error){
			accept,
			func(raft.RPC) (any, error) { return &raft.AppendEntriesResponse{Term: 7}, nil },
			func(raft.RPC) (any, error) { return nil, errors.New("out of order") },
			func(rpc raft.RPC) (any, error) { time.Sleep(time.Second); return accept(rpc) },
			func(rpc raft.RPC) (any, error) { time.Sleep(time.Hour); return accept(rpc) },
		}
		for group, answer := range answers {
			serveRaft(t, b.Transport(raft.ServerID(fmt.Sprintf("b/%d/1", group))), answer)
		}
		if _, err := a.Call(t.Context(), "b", nil); err == nil { // connects
			t.Fatal("calls are not served, and one was answered")
		}
		const soon = 150*time.Millisecond + answerPatience
		check := func(group int, within time.Duration, good func(raft.AppendEntriesResponse, error) bool) func() {
			return func() {
				start := time.Now()
				response, err := beat(a, group, 1)
				if took := time.Since(start); took > within || !good(response, err) {
					t.Errorf("group %d: %+v, %v after %v, want it within %v", group, response, err, took, within)
				}
			}
		}
		var senders sync.WaitGroup
		for _, send := range []func(){
			check(0, soon, func(r raft.AppendEntriesResponse, err error) bool { return err == nil && r.Success }),
			check(1, soon, func(r raft.AppendEntriesResponse, err error) bool { return err == nil && !r.Success && r.Term == 7 }),
			check(2, soon, func(_ raft.AppendEntriesResponse, err error) bool {
				var remote *RemoteError
				return errors.As(err, &remote) && remote.Text == "out of order"
			}),
			check(3, 2*time.Second, func(r raft.AppendEntriesResponse, err error) bool { return err == nil && r.Success }),
			check(4, 5*time.Second, func(_ raft.AppendEntriesResponse, err error) bool { return errors.Is(err, errTimeout) }),
			check(5, soon, func(_ raft.AppendEntriesResponse, err error) bool {
				return errors.Is(err, ErrUnreachable) && strings.Contains(err.Error(), "no replica")
			}),
		} {
			senders.Go(send)
		}
		senders.Wait()
		time.Sleep(2 * time.Hour)
	})
}

func TestHeartbeatsEndWithTheirConnection(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newFabricTown()
		a, b := w.node(t, Config{Self: in("a")}), w.node(t, Config{Self: in("b")})
		tr := b.Transport("b/1/1") // nobody serves it
		lost := make(chan error, 3)
		for range cap(lost) {
			go func() { _, err := beat(a, 1, 1); lost <- err }()
			synctest.Wait() // the first one is on its way, the others wait
		}
		w.fabric.Reset("a", "b")
		within(t, 0, func() {
			for range cap(lost) {
				if err := <-lost; err == nil {
					t.Error("a heartbeat without a connection was answered")
				}
			}
		})
		time.Sleep(time.Second)
		serveRaft(t, tr, accept)
		if _, err := beat(a, 1, 2); err != nil {
			t.Errorf("once connected again: %v", err)
		}
		go func() { _, err := beat(a, 2, 1); lost <- err }()
		time.Sleep(time.Second)
		if err := <-lost; !errors.Is(err, ErrUnreachable) {
			t.Errorf("a heartbeat for nobody: %v", err)
		}
	})
}

func TestMoreHeartbeatsThanAFrameHoldsGoAlone(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newFabricTown()
		small := Config{MaxFrame: 4096, MaxAppendBytes: 100}
		a, b := small, small
		a.Self, b.Self = in("a"), in("b")
		from, to := w.node(t, a), w.node(t, b)
		var senders sync.WaitGroup
		for group := range 20 {
			serveRaft(t, to.Transport(raft.ServerID(fmt.Sprintf("b/%d/1", group))), accept)
			senders.Go(func() {
				if _, err := beat(from, group, 1); err != nil {
					t.Error(err)
				}
			})
		}
		senders.Wait()
	})
}

// FuzzHeartbeatFrames: neither side is taken down by what the other one puts into a frame.
func FuzzHeartbeatFrames(f *testing.F) {
	request := appendRequest(nil, &raft.AppendEntriesRequest{Term: 1})
	f.Add(appendBytes(appendBytes([]byte{1}, "b/1/1"), request))
	f.Add(appendAnswer(nil, 1, kindReply, func(b []byte) []byte { return appendResponse(b, &raft.AppendEntriesResponse{Term: 1}) }))
	f.Add([]byte{1, 0xff, 0xff, 0xff, 0xff, 0x0f})
	f.Fuzz(func(t *testing.T, payload []byte) {
		bubble.Test(t, func(t *testing.T) {
			n := newFabricTown().node(t, Config{Self: in("b")})
			serveRaft(t, n.Transport("b/1/1"), accept)
			c := newInbound(n, nil, nil, From{Identity: in("a"), Member: true})
			_ = c.beats(frame{kind: kindBeats, payload: payload})
			c.wg.Wait()
			c.stop(nil)
			s := newSession(newLink(n, "a"), nil, nil, true)
			_, answers, err := s.register()
			if err != nil {
				t.Fatal(err)
			}
			if err := s.takeBeats(frame{kind: kindBeatReplies, payload: payload}); err == nil && len(payload) > 0 {
				select {
				case <-answers:
				default:
				}
			}
		})
	})
}
