package shard

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/ringraft/ringraft/internal/bubble"
)

// noticeTransport records the appends that it is given, and answers after a while.
type noticeTransport struct {
	raft.Transport
	takes   time.Duration
	refuses int    // the first of them, to each follower; all others get an error
	term    uint64 // of the refusals

	mu   sync.Mutex
	sent []sentNotice
}

type sentNotice struct {
	to      raft.ServerID
	after   time.Duration
	request raft.AppendEntriesRequest
}

var noticesBegan = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) // as synctest's clock

func (t *noticeTransport) LocalAddr() raft.ServerAddress { return "n1/1/1" }

func (t *noticeTransport) AppendEntries(id raft.ServerID, _ raft.ServerAddress, request *raft.AppendEntriesRequest, answer *raft.AppendEntriesResponse) error {
	t.mu.Lock()
	t.sent = append(t.sent, sentNotice{id, time.Since(noticesBegan), *request})
	told := 0
	for _, s := range t.sent {
		if s.to == id {
			told++
		}
	}
	t.mu.Unlock()
	time.Sleep(t.takes)
	if told <= t.refuses {
		answer.Term = t.term
		return nil
	}
	return errors.New("nobody cares")
}

func (t *noticeTransport) all() []sentNotice {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.sent)
}

func TestNotices(t *testing.T) {
	type commit struct {
		after time.Duration
		entryID
	}
	ms := time.Millisecond
	tests := map[string]struct {
		takes     time.Duration
		commits   []commit
		lastIndex uint64
		at        []time.Duration // when each follower is told
		index     uint64          // of what, in the end
	}{
		"nothing":                      {0, nil, 7, nil, 0},
		"one entry":                    {0, []commit{{0, entryID{7, 2}}}, 7, []time.Duration{5 * ms}, 7},
		"a burst is told of once":      {0, []commit{{0, entryID{5, 2}}, {3 * ms, entryID{6, 2}}, {4 * ms, entryID{7, 2}}}, 7, []time.Duration{12 * ms}, 7},
		"two bursts":                   {0, []commit{{0, entryID{7, 2}}, {20 * ms, entryID{7, 3}}}, 7, []time.Duration{5 * ms, 25 * ms}, 7},
		"an append is under way":       {0, []commit{{0, entryID{7, 2}}}, 8, nil, 0},
		"a follower that answers late": {time.Second, []commit{{0, entryID{7, 2}}, {20 * ms, entryID{7, 3}}, {20 * ms, entryID{7, 4}}}, 7, []time.Duration{5 * ms, 1010 * ms}, 7},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				tr := &noticeTransport{takes: tc.takes}
				followers := []raft.Server{{ID: "n2/1/1"}, {ID: "n3/1/1", Suffrage: raft.Nonvoter}}
				n := newNotices(tr, "n1/1/1", func() []raft.Server { return followers }, func() uint64 { return tc.lastIndex })
				for _, c := range tc.commits {
					time.Sleep(c.after)
					n.committed(c.entryID)
				}
				time.Sleep(10 * time.Second)
				for _, f := range followers {
					var at []time.Duration
					var last raft.AppendEntriesRequest
					for _, s := range tr.all() {
						if s.to == f.ID {
							at, last = append(at, s.after), s.request
						}
					}
					if !slices.Equal(at, tc.at) {
						t.Errorf("%s was told after %v, want %v", f.ID, at, tc.at)
					}
					if len(at) == 0 {
						continue
					}
					term := tc.commits[len(tc.commits)-1].term
					if last.PrevLogEntry != tc.index || last.LeaderCommitIndex != tc.index || last.PrevLogTerm != term || last.Term != term || len(last.Entries) > 0 {
						t.Errorf("%s was told %+v, want that entry %d of term %d is committed", f.ID, last, tc.index, term)
					}
				}
				n.committed(entryID{9, 9})
				n.close()
				told := len(tr.all())
				n.committed(entryID{10, 9})
				time.Sleep(time.Second)
				if len(tr.all()) != told {
					t.Error("a notice was sent after the close")
				}
			})
		})
	}
}

// TestRefusedNoticesAreRepeated until the follower has the entry, there is another one, or
// it follows a later leader.
func TestRefusedNoticesAreRepeated(t *testing.T) {
	ms := time.Millisecond
	for name, tc := range map[string]struct {
		refuses int
		term    uint64
		another time.Duration // when another entry is committed; 0 is never
		at      []time.Duration
	}{
		"twice":           {2, 2, 0, []time.Duration{5 * ms, 10 * ms, 20 * ms}},
		"for ever":        {100, 2, 0, []time.Duration{5 * ms, 10 * ms, 20 * ms, 40 * ms, 80 * ms, 160 * ms, 320 * ms, 640 * ms, 1280 * ms}},
		"by a later term": {1, 3, 0, []time.Duration{5 * ms}},
		"until the next":  {2, 2, 14 * ms, []time.Duration{5 * ms, 10 * ms, 25 * ms}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				tr := &noticeTransport{refuses: tc.refuses, term: tc.term}
				followers := []raft.Server{{ID: "n2/1/1"}}
				n := newNotices(tr, "n1/1/1", func() []raft.Server { return followers }, func() uint64 { return 7 })
				defer n.close()
				n.committed(entryID{7, 2})
				if tc.another > 0 {
					time.Sleep(tc.another)
					n.committed(entryID{7, 3})
				}
				time.Sleep(10 * time.Second)
				var at []time.Duration
				for _, s := range tr.all() {
					at = append(at, s.after)
				}
				if !slices.Equal(at, tc.at) {
					t.Errorf("it was told after %v, want %v", at, tc.at)
				}
			})
		})
	}
}
