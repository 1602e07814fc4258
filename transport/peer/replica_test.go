package peer

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"

	"github.com/ringraft/ringraft/internal/bubble"
)

// pair is two nodes on a fabric, a transport on the first, and a replica on the second.
func pair(t *testing.T, change func(*Config)) (w *town, a, b *Network, from, to transport) {
	w = newFabricTown()
	start := func(node string) *Network {
		cfg := Config{Self: in(node), Handle: echo}
		if change != nil {
			change(&cfg)
		}
		return w.node(t, cfg)
	}
	a, b = start("a"), start("b")
	return w, a, b, transportOf(a, "a/1/1"), transportOf(b, "b/1/1")
}

func TestEachMessageReachesTheConsumerAndItsAnswerComesBack(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		_, _, _, from, to := pair(t, nil)
		to.SetHeartbeatHandler(func(raft.RPC) { t.Error("a heartbeat went past the consumer") })
		serveRaft(t, to, accept)

		heartbeat := &raft.AppendEntriesRequest{RPCHeader: raft.RPCHeader{Addr: []byte("a/1/1")}, Term: 3}
		var appended raft.AppendEntriesResponse
		if err := from.AppendEntries("b/1/1", "b/1/1", heartbeat, &appended); err != nil || !appended.Success || appended.Term != 3 {
			t.Errorf("heartbeat: %+v, %v", appended, err)
		}
		var vote raft.RequestVoteResponse
		if err := from.RequestVote("b/1/1", "b/1/1", &raft.RequestVoteRequest{Term: 4}, &vote); err != nil || !vote.Granted || vote.Term != 4 {
			t.Errorf("vote: %+v, %v", vote, err)
		}
		var preVote raft.RequestPreVoteResponse
		if err := from.RequestPreVote("b/1/1", "b/1/1", &raft.RequestPreVoteRequest{Term: 5}, &preVote); err != nil || !preVote.Granted || preVote.Term != 5 {
			t.Errorf("pre-vote: %+v, %v", preVote, err)
		}
		if err := from.TimeoutNow("b/1/1", "b/1/1", &raft.TimeoutNowRequest{}, &raft.TimeoutNowResponse{}); err != nil {
			t.Errorf("timeout now: %v", err)
		}
	})
}

func TestAddressesAreIDs(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		_, _, _, from, _ := pair(t, nil)
		if got := from.LocalAddr(); got != "a/1/1" {
			t.Errorf("LocalAddr = %q", got)
		}
		if got := from.DecodePeer(from.EncodePeer("b/1/1", "b/1/1")); got != "b/1/1" {
			t.Errorf("a peer's address came back as %q", got)
		}
		for _, id := range []raft.ServerID{"", "b", "/1/1", "b/", raft.ServerID("b/" + strings.Repeat("1", maxTarget))} {
			if err := from.TimeoutNow(id, "", &raft.TimeoutNowRequest{}, &raft.TimeoutNowResponse{}); err == nil {
				t.Errorf("a message to replica %q was sent", id)
			}
		}
	})
}

func TestPipeliningIsRefused(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		_, _, _, from, _ := pair(t, nil)
		_, err := from.AppendEntriesPipeline("b/1/1", "b/1/1")
		wantError(t, err, raft.ErrPipelineReplicationNotSupported)
	})
}

func TestTrim(t *testing.T) {
	t.Parallel()
	entries := func(sizes ...int) (all []*raft.Log) {
		for _, n := range sizes {
			all = append(all, &raft.Log{Data: make([]byte, n/2), Extensions: make([]byte, n-n/2)})
		}
		return all
	}
	tests := map[string]struct {
		sizes []int
		want  int
	}{
		"none":              {nil, 0},
		"all fit":           {[]int{4, 6}, 2},
		"the last does not": {[]int{4, 6, 1}, 2},
		"only the first":    {[]int{10, 1}, 1},
		"not even one":      {[]int{11, 1}, 1},
		"empty ones at end": {[]int{10, 0, 0}, 3},
	}
	for name, test := range tests {
		if got := len(trim(entries(test.sizes...), 10)); got != test.want {
			t.Errorf("%s: %d entries, want %d", name, got, test.want)
		}
	}
}

func TestAppendEntriesTellsRaftWhatItSent(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		_, _, _, from, to := pair(t, func(c *Config) { c.MaxAppendBytes = 100 })
		serveRaft(t, to, accept)
		request := &raft.AppendEntriesRequest{Entries: []*raft.Log{{Data: make([]byte, 60)}, {Data: make([]byte, 60)}}}
		var response raft.AppendEntriesResponse
		if err := from.AppendEntries("b/1/1", "b/1/1", request, &response); err != nil {
			t.Fatal(err)
		}
		if len(request.Entries) != 1 || response.LastLog != 1 {
			t.Errorf("request holds %d entries, %d arrived, want 1 and 1", len(request.Entries), response.LastLog)
		}
	})
}

// TestFollowerIsToldOfNoCommitBeyondWhatItIsSent: Raft takes such a one for that of all the
// follower has, which may be another leader's.
func TestFollowerIsToldOfNoCommitBeyondWhatItIsSent(t *testing.T) {
	for name, tc := range map[string]struct {
		entries        int // of which the first fits
		commit, arrive uint64
	}{
		"no entries":               {0, 9, 7},
		"one":                      {1, 9, 8},
		"one of two":               {2, 9, 8},
		"less than was there":      {1, 5, 5},
		"as much as there will be": {1, 8, 8},
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				_, _, _, from, to := pair(t, func(c *Config) { c.MaxAppendBytes = 100 })
				got := make(chan uint64, 1)
				serveRaft(t, to, func(rpc raft.RPC) (any, error) {
					got <- rpc.Command.(*raft.AppendEntriesRequest).LeaderCommitIndex
					return accept(rpc)
				})
				request := &raft.AppendEntriesRequest{PrevLogEntry: 7, PrevLogTerm: 1, LeaderCommitIndex: tc.commit}
				for i := range tc.entries {
					request.Entries = append(request.Entries, &raft.Log{Index: 8 + uint64(i), Data: make([]byte, 60)})
				}
				if err := from.AppendEntries("b/1/1", "b/1/1", request, &raft.AppendEntriesResponse{}); err != nil {
					t.Fatal(err)
				}
				if commit := <-got; commit != tc.arrive {
					t.Errorf("committed up to %d, the follower is told up to %d, want %d", tc.commit, commit, tc.arrive)
				}
			})
		})
	}
}

func TestAppendsBehindTheBaseBeginTheLog(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		_, _, b, from, to := pair(t, nil)
		got := make(chan entryID, 1)
		serveRaft(t, to, func(rpc raft.RPC) (any, error) {
			m := rpc.Command.(*raft.AppendEntriesRequest)
			got <- entryID{m.PrevLogEntry, m.PrevLogTerm}
			return accept(rpc)
		})
		b.Base("b/1/1", 7, 2)
		for sent, want := range map[entryID]entryID{{7, 2}: {}, {7, 1}: {7, 1}, {8, 2}: {8, 2}, {}: {}} {
			request := &raft.AppendEntriesRequest{PrevLogEntry: sent.index, PrevLogTerm: sent.term, Entries: []*raft.Log{{Index: sent.index + 1}}}
			if err := from.AppendEntries("b/1/1", "b/1/1", request, &raft.AppendEntriesResponse{}); err != nil {
				t.Fatal(err)
			}
			if arrived := <-got; arrived != want {
				t.Errorf("an append behind %v is handed over as one behind %v, want %v", sent, arrived, want)
			}
		}
	})
}

func TestTooLargeAnEntryFailsAloneAndAtOnce(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		_, a, _, from, to := pair(t, func(c *Config) { c.MaxFrame, c.MaxAppendBytes = 1000, 100 })
		serveRaft(t, to, accept)
		send := func(size int) error {
			request := &raft.AppendEntriesRequest{Entries: []*raft.Log{{Data: make([]byte, size)}}}
			return from.AppendEntries("b/1/1", "b/1/1", request, &raft.AppendEntriesResponse{})
		}
		if err := send(10); err != nil {
			t.Fatal(err)
		}
		session := a.links["b"].current()
		within(t, 0, func() {
			if err := send(1001); err == nil || !strings.Contains(err.Error(), "at most 1000") {
				t.Errorf("err = %v, want one that tells the bound", err)
			}
		})
		if err := send(10); err != nil || a.links["b"].current() != session {
			t.Errorf("the connection did not survive: %v", err)
		}
	})
}

func TestUnknownReplicaIsAnErrorThatIsNoVote(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		_, _, _, from, _ := pair(t, nil)
		var response raft.RequestPreVoteResponse
		within(t, 0, func() {
			err := from.RequestPreVote("b/9/1", "b/9/1", &raft.RequestPreVoteRequest{}, &response)
			wantError(t, err, ErrUnreachable)
			// raft counts a text with these words as a granted pre-vote.
			if strings.Contains(fmt.Sprint(err), "unexpected command") {
				t.Errorf("err = %v", err)
			}
		})
		if response.Granted {
			t.Error("a replica that is not there granted a pre-vote")
		}
	})
}

func TestRaftsErrorsCross(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		_, _, _, from, to := pair(t, nil)
		serveRaft(t, to, func(raft.RPC) (any, error) { return nil, errors.New("no such protocol version") })
		err := from.RequestVote("b/1/1", "b/1/1", &raft.RequestVoteRequest{}, &raft.RequestVoteResponse{})
		var remote *RemoteError
		if !errors.As(err, &remote) || *remote != (RemoteError{Node: "b", Text: "no such protocol version"}) {
			t.Errorf("err = %v", err)
		}
	})
}

func TestAnswersKeepTheirQuestions(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		_, _, _, from, to := pair(t, nil)
		serveRaft(t, to, accept)
		other := transportOf(from.(*replica).net, "a/2/1")
		errs := make(chan error, 40)
		for i := range cap(errs) {
			go func() {
				sender := []transport{from, other}[i%2]
				request := &raft.AppendEntriesRequest{Term: uint64(i), PrevLogEntry: uint64(i)}
				var response raft.AppendEntriesResponse
				err := sender.AppendEntries("b/1/1", "b/1/1", request, &response)
				if err == nil && (response.Term != uint64(i) || response.LastLog != uint64(i)) {
					err = fmt.Errorf("request %d got %+v", i, response)
				}
				errs <- err
			}()
		}
		for range cap(errs) {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
	})
}

func TestBusyReplicaStopsNoOther(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		_, _, b, from, stuck := pair(t, func(c *Config) { c.MaxQueue = 3 })
		serveRaft(t, b.Transport("b/2/1"), accept)
		ask := func(id raft.ServerID) error {
			return from.RequestVote(id, "", &raft.RequestVoteRequest{}, &raft.RequestVoteResponse{})
		}
		waiting := make(chan error, 4)
		for range cap(waiting) { // one that the replica waits for, and three in its queue
			go func() { waiting <- ask("b/1/1") }()
			synctest.Wait()
		}
		within(t, 0, func() {
			if err := ask("b/1/1"); !errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), "queue is full") {
				t.Errorf("a full queue answers %v", err)
			}
			if err := ask("b/2/1"); err != nil {
				t.Errorf("the other replica answers %v", err)
			}
		})
		full := 0
		for range 4 {
			if err := <-waiting; errors.Is(err, ErrUnreachable) {
				full++
			} else {
				wantError(t, err, errTimeout)
			}
		}
		if queued := len(stuck.Consumer()); queued != 3 || full != 1 {
			t.Errorf("%d messages queued and %d refused, want 3 and 1", queued, full)
		}
	})
}

func TestClosedReplicaAnswersAtOnceAndItsNeighbourStays(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		_, _, b, from, to := pair(t, nil)
		serveRaft(t, b.Transport("b/2/1"), accept)
		waiting := make(chan error, 1)
		go func() {
			waiting <- from.RequestVote("b/1/1", "", &raft.RequestVoteRequest{}, &raft.RequestVoteResponse{})
		}()
		synctest.Wait()
		within(t, 0, func() {
			for range 2 {
				if err := to.Close(); err != nil {
					t.Error(err)
				}
			}
			if err := <-waiting; err == nil {
				t.Error("a message for a replica that closed was answered")
			}
			if err := from.RequestVote("b/1/1", "", &raft.RequestVoteRequest{}, &raft.RequestVoteResponse{}); !errors.Is(err, ErrUnreachable) {
				t.Errorf("the closed replica answers %v", err)
			}
			if err := from.RequestVote("b/2/1", "", &raft.RequestVoteRequest{}, &raft.RequestVoteResponse{}); err != nil {
				t.Errorf("its neighbour answers %v", err)
			}
			err := to.RequestVote("a/1/1", "", &raft.RequestVoteRequest{}, &raft.RequestVoteResponse{})
			if err == nil {
				t.Error("a closed replica can send")
			}
		})
	})
}

func TestReplicaCanStartAgain(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		_, _, b, from, old := pair(t, nil)
		serveRaft(t, b.Transport("b/1/1"), accept)
		if err := old.Close(); err != nil { // the elder's end is not the younger's
			t.Fatal(err)
		}
		if err := from.RequestVote("b/1/1", "", &raft.RequestVoteRequest{}, &raft.RequestVoteResponse{}); err != nil {
			t.Error(err)
		}
	})
}

// voteTakes returns how a vote ends and in what time.
func voteTakes(from transport) (time.Duration, error) {
	start := time.Now()
	err := from.RequestVote("b/1/1", "", &raft.RequestVoteRequest{}, &raft.RequestVoteResponse{})
	return time.Since(start), err
}

func TestVotesFailAtOnceAndAppendsWaitForTheReconnect(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w, _, b, from, to := pair(t, nil)
		serveRaft(t, to, accept)
		appendTakes := func() (time.Duration, error) {
			start := time.Now()
			err := from.AppendEntries("b/1/1", "", &raft.AppendEntriesRequest{}, &raft.AppendEntriesResponse{})
			return time.Since(start), err
		}
		if _, err := voteTakes(from); err != nil {
			t.Fatalf("the first vote, before there was a connection: %v", err)
		}

		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if took, err := voteTakes(from); !errors.Is(err, ErrUnreachable) || took != 0 {
			t.Errorf("vote without a connection: %v after %v", err, took)
		}
		if took, err := appendTakes(); !errors.Is(err, ErrUnreachable) || took != 500*time.Millisecond {
			t.Errorf("append without a connection: %v after %v, want 500ms", err, took)
		}

		done := make(chan error, 1)
		go func() { _, err := appendTakes(); done <- err }()
		time.Sleep(10 * time.Millisecond)
		serveRaft(t, w.node(t, Config{Self: in("b")}).Transport("b/1/1"), accept)
		if err := <-done; err != nil {
			t.Errorf("append while the node starts: %v", err)
		}
	})
}

func TestRedialsAreSpacedOut(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		var dials []time.Time
		w := newFabricTown()
		l, err := w.fabric.listen("a")
		if err != nil {
			t.Fatal(err)
		}
		n, err := New(Config{
			Self: in("a"), Listener: l, Logger: quiet(),
			Address: func(string) (string, bool) { dials = append(dials, time.Now()); return "", false },
		})
		if err != nil {
			t.Fatal(err)
		}
		defer n.Close()
		if _, err := n.Call(t.Context(), "b", nil); !errors.Is(err, ErrUnreachable) {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Second)
		synctest.Wait()
		for i := 1; i < len(dials); i++ {
			if gap := dials[i].Sub(dials[i-1]); gap < minPause || gap > maxPause {
				t.Errorf("pause %d is %v", i, gap)
			}
		}
		if first := dials[1].Sub(dials[0]); first > 50*time.Millisecond {
			t.Errorf("the first pause is %v, want at most 50ms", first)
		}
		if n := len(dials); n < 40 || n > 120 {
			t.Errorf("%d attempts in 20 s, want them to be 200 to 500 ms apart in the end", n)
		}
	})
}

func TestEveryMessageHasADeadline(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		_, _, _, from, to := pair(t, nil) // nobody reads to.Consumer
		tests := map[string]struct {
			send func() error
			want time.Duration
		}{
			"append": {func() error {
				return from.AppendEntries(raft.ServerID(to.LocalAddr()), "", &raft.AppendEntriesRequest{}, &raft.AppendEntriesResponse{})
			}, 5 * time.Second},
			"vote": {func() error {
				return from.RequestVote("b/1/1", "", &raft.RequestVoteRequest{}, &raft.RequestVoteResponse{})
			}, 2 * time.Second},
			"pre-vote": {func() error {
				return from.RequestPreVote("b/1/1", "", &raft.RequestPreVoteRequest{}, &raft.RequestPreVoteResponse{})
			}, 2 * time.Second},
			"timeout now": {func() error {
				return from.TimeoutNow("b/1/1", "", &raft.TimeoutNowRequest{}, &raft.TimeoutNowResponse{})
			}, 2 * time.Second},
		}
		for name, test := range tests {
			start := time.Now()
			err := test.send()
			if took := time.Since(start); !errors.Is(err, errTimeout) || took != test.want {
				t.Errorf("%s: %v after %v, want a passed deadline after %v", name, err, took, test.want)
			}
		}
	})
}
