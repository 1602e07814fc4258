package raftfsm

import (
	"github.com/ringraft/ringraft/internal/mutant"
	"github.com/ringraft/ringraft/op"
)

// answerRoom is the logical bytes that must be free of what is never evicted before a
// command of a session runs: room for its answer, which no write fails to find once it
// has changed something. Answers with many keys or with values can have more: these
// may take the group over its limit, each by its own size.
const answerRoom = 1 << 10

// OpenSession opens a session that ends after ttl ms without use. In a group full of
// them, one that has ended makes room.
func (s *state) OpenSession(ttl int64) (uint64, *op.Error) {
	if s.sessions.len() >= op.MaxSessions && !s.endNext() {
		return 0, op.Unavailable("the group has %d sessions, its limit", op.MaxSessions)
	}
	if err := s.Room(sessionCost); err != nil {
		return 0, err
	}
	x := s.sessions.open(ttl, s.time)
	s.settle()
	return x.id, nil
}

// CloseSession ends a session before its time.
func (s *state) CloseSession(id uint64) (existed bool) {
	x, ok := s.sessions.byID[id]
	if !ok {
		return false
	}
	s.sessions.end(x)
	return x.deadline > s.time
}

// once runs a command of a session, unless it has been run: then it gives the answer
// given before, whatever has changed since.
func (s *state) once(c *op.Command) (res op.Result) {
	x, ok := s.sessions.byID[c.Session]
	if !ok || x.deadline <= s.time {
		return op.Fail(&op.Error{Kind: op.KindSessionEnded, Field: op.FieldSession, Message: "is unknown here, or has ended"})
	}
	s.sessions.use(x, s.time, min(c.Acknowledged, c.Sequence))
	if c.Sequence < x.floor {
		return op.Fail(op.Invalid("sequence", "is %d; the answers below %d are acknowledged and forgotten", c.Sequence, x.floor))
	}
	if place, answered := x.answers.find(c.Sequence); answered && !mutant.ExecuteTwice {
		return x.answers.list()[place].result()
	}
	if err := s.lockOn(c.Op); err != nil {
		return op.Fail(err) // not its answer: the repeat may find the keys unlocked
	}
	if x.answers.len() >= op.MaxUnacknowledged {
		return op.Fail(op.Unavailable("the session has %d answers that it has not acknowledged, its limit", op.MaxUnacknowledged))
	}
	return s.first(x, c)
}

// first runs a command and keeps its answer. Without room for that it is refused and
// leaves no trace, unless it makes room itself. The refusal names the session: it is of
// this try alone, see op.Result.OfThisTry.
func (s *state) first(x *session, c *op.Command) (res op.Result) {
	full := s.Room(answerRoom)
	if full != nil {
		full.Field = op.FieldSession
	}
	if full != nil && !onlyRemoves(c.Op) {
		return op.Fail(full)
	}
	before := s.cache.Bytes()
	s.reserved = answerRoom
	res = c.Op.(op.Write).Apply(s)
	s.reserved = 0
	if full != nil && s.cache.Bytes() == before {
		return op.Fail(full) // nothing was there to remove
	}
	if x.place < 0 {
		return res // it has ended itself, which no node lets into the log
	}
	s.encoded = res.AppendTo(s.encoded[:0])
	s.sessions.keep(x, newAnswer(x.id, c.Sequence, s.encoded))
	if cap(s.encoded) > answerRoom {
		s.encoded = nil
	}
	s.settle()
	return res
}

// onlyRemoves reports whether o can do nothing but remove records, as it must be
// possible where protected ones fill the group.
func onlyRemoves(o op.Op) bool {
	switch o.(type) {
	case op.Delete, op.MDelete:
		return true
	}
	return false
}

// endNext removes the session that ends first, if it has ended.
func (s *state) endNext() bool {
	x, ok := s.sessions.next()
	if !ok || x.deadline > s.time {
		return false
	}
	s.sessions.end(x)
	return true
}
