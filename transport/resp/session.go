package resp

import (
	"sync"

	"github.com/ringraft/ringraft/op"
)

// session is what a connection reads: at which level, and what it has seen already.
type session struct {
	node  Node
	level op.Level
	bound uint64 // of reads at the level Bounded, ms
	seen  *sightings
}

func newSession(node Node) session {
	return session{node: node, level: op.Session, seen: &sightings{at: map[uint64]uint64{}}}
}

// request returns the request of an operation on a group.
func (s *session) request(o op.Op, group uint64) op.Request {
	if _, reads := o.(op.Read); reads {
		return s.read(o, group, s.level)
	}
	return op.Request{Op: o}
}

// read returns the request of a read at a level. At level Session, what the replica here
// does not show yet is better asked of the leader: a group that is idle tells its
// followers of its last entry only after a while.
func (s *session) read(o op.Op, group uint64, level op.Level) op.Request {
	req := op.Request{Op: o, Level: level}
	switch level {
	case op.Session:
		if req.Bound = s.seen.newest(group); req.Bound > 0 && s.node.Shown(group) < req.Bound {
			req.Level, req.Bound = op.Linearizable, 0
		}
	case op.Bounded:
		req.Bound = s.bound
	}
	return req
}

// sightings are the newest log indexes that answers have shown, by group.
type sightings struct {
	mu sync.RWMutex
	at map[uint64]uint64
}

func (s *sightings) newest(group uint64) uint64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.at[group]
}

func (s *sightings) note(group, index uint64) {
	if index <= s.newest(group) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if index > s.at[group] {
		s.at[group] = index
	}
}

// sighting is a group's log index that an answer has shown.
type sighting struct{ group, index uint64 }

// bind sets the bounds of lookups, and in seen the groups of their keys.
func (s *session) bind(asked []op.Lookup, seen []sighting) {
	for i := range asked {
		seen[i].group = s.node.Group(asked[i].Slot)
	}
	if s.level != op.Session {
		return
	}
	s.seen.mu.RLock()
	defer s.seen.mu.RUnlock()
	for i := range asked {
		asked[i].Bound = s.seen.at[seen[i].group]
	}
}

// noteAll notes what answers have shown.
func (s *sightings) noteAll(seen []sighting) {
	for i := range seen {
		s.note(seen[i].group, seen[i].index)
	}
}
