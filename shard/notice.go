package shard

import (
	"context"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// noticeWait is how long a leader waits for further entries, whose appends tell followers
// what is committed, before it tells them with a message of its own.
const noticeWait = 5 * time.Millisecond

// noticeTries is how often a follower is told that refuses a notice, since it has not been
// sent the entry yet: both may have waited for its connection. Each time takes twice as
// long as the one before, all of them more than a second.
const noticeTries = 9

// notices tell followers that the last entry of a burst is committed. Raft would tell them
// after its CommitTimeout, for which idle groups pay all the time if it is short.
//
// A notice is an append as Raft sends it: without entries, in a term in which this replica
// has committed an entry of that term; it names that entry both as the one that must
// precede, and as the end of what is committed. So a follower that accepts it has the
// entry, and it is true for ever, however late it arrives and whoever leads by then.
type notices struct {
	transport raft.Transport
	self      raft.ServerID
	others    func() []raft.Server // followers, with a vote or without
	lastIndex func() uint64        // of the log

	mu      sync.Mutex
	last    entryID
	at      time.Time // when last was committed
	armed   *time.Timer
	closed  bool
	closing chan struct{} // closed with closed
	sending map[raft.ServerID]bool
	tasks   tasks
}

// entryID is the place of an entry that is committed.
type entryID struct{ index, term uint64 }

func newNotices(t raft.Transport, self raft.ServerID, others func() []raft.Server, lastIndex func() uint64) *notices {
	return &notices{transport: t, self: self, others: others, lastIndex: lastIndex, closing: make(chan struct{}), sending: map[raft.ServerID]bool{}}
}

// committed notes that this replica has committed, as the leader, an entry of its own term.
func (n *notices) committed(e entryID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.last, n.at = e, time.Now()
	n.armLocked()
}

func (n *notices) armLocked() {
	if n.armed == nil && !n.closed {
		n.armed = time.AfterFunc(noticeWait, n.fire)
	}
}

// fire sends a notice once the burst is over.
func (n *notices) fire() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.armed = nil
	switch left := noticeWait - time.Since(n.at); {
	case n.closed:
	case left > 0:
		n.armed = time.AfterFunc(left, n.fire)
	case n.lastIndex() == n.last.index: // else an append is under way, or will be
		n.sendLocked()
	}
}

// sendLocked tells every follower to which no notice is under way.
func (n *notices) sendLocked() {
	for _, s := range n.others() {
		if n.sending[s.ID] {
			continue
		}
		last := n.last
		n.sending[s.ID] = n.tasks.start(func() { n.send(s, last) })
	}
}

// send ends by the transport's deadlines. A notice that is lost is made up for by Raft.
func (n *notices) send(to raft.Server, e entryID) {
	for try := 0; try < noticeTries && n.refused(to, e) && n.stands(e, noticeWait<<try); try++ {
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.sending, to.ID)
	if n.last != e {
		n.armLocked() // there may have been a notice meanwhile that was not for this follower
	}
}

// refused tells a follower, and reports whether it does not have the entry.
func (n *notices) refused(to raft.Server, e entryID) bool {
	var answer raft.AppendEntriesResponse
	addr := []byte(n.transport.LocalAddr())
	err := n.transport.AppendEntries(to.ID, to.Address, &raft.AppendEntriesRequest{
		RPCHeader:    raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax, ID: []byte(n.self), Addr: addr},
		Term:         e.term,
		PrevLogEntry: e.index, PrevLogTerm: e.term, LeaderCommitIndex: e.index,
	}, &answer)
	return err == nil && !answer.Success && answer.Term <= e.term
}

// stands reports, after a while, whether e is still the last that there is to tell.
func (n *notices) stands(e entryID, while time.Duration) bool {
	select {
	case <-time.After(while):
	case <-n.closing:
		return false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.last == e
}

// close waits for what is under way, which ends with the transport.
func (n *notices) close() {
	n.mu.Lock()
	if !n.closed {
		n.closed = true
		close(n.closing)
	}
	if n.armed != nil {
		n.armed.Stop()
	}
	n.mu.Unlock()
	_ = n.tasks.close(context.Background())
}
