package raftfsm

import (
	"github.com/ringraft/ringraft/internal/mutant"
	"github.com/ringraft/ringraft/op"
)

// Locked reports whether a part that is prepared has locked key.
func (s *state) Locked(key []byte) bool { return s.txns.locks[string(key)] != nil }

// lockOn returns the refusal of an operation that names a locked key. The parts of
// transactions judge locks themselves, since they know their own.
func (s *state) lockOn(o op.Op) *op.Error {
	if mutant.IgnoreLocks || len(s.txns.locks) == 0 || op.SpecOf(o.Code()).Class == op.ClassPart {
		return nil
	}
	for _, key := range op.Keys(o) {
		if s.Locked(key) {
			return op.Locked(key)
		}
	}
	return nil
}

// hides reports whether a transaction that is prepared may change what o reads: it may
// have been committed.
func (s *state) hides(o op.Read) bool {
	if mutant.HalfVisible || len(s.txns.locks) == 0 {
		return false
	}
	if scan, ok := o.(op.Scan); ok {
		for key, r := range s.txns.locks { // any order: one that is found is enough
			if scan.Covers([]byte(key)) && r.part.Writes([]byte(key)) {
				return true
			}
		}
	}
	for _, key := range op.Keys(o) {
		if r := s.txns.locks[string(key)]; r != nil && r.part.Writes(key) {
			return true
		}
	}
	return false
}

// Part returns what is kept of an attempt that the group has a part in.
func (s *state) Part(a op.Attempt) (op.Part, bool) {
	r, ok := s.txns.byKey[partKey(a)]
	if !ok {
		return op.Part{}, false
	}
	return *r.part, true
}

// Decision returns what is kept of a transaction that the group has decided.
func (s *state) Decision(id []byte) (op.Decision, bool) {
	r, ok := s.txns.byKey[decisionKey(id)]
	if !ok {
		return op.Decision{}, false
	}
	return *r.decision, true
}

// Prepare keeps a new part, with room for what it will write, and locks its keys.
func (s *state) Prepare(p op.Part) *op.Error {
	if s.txns.numParts >= op.MaxParts && !s.forgetPart() {
		return op.Unavailable("the group has %d parts of transactions, its limit", op.MaxParts)
	}
	return s.admit(newPartRecord(p))
}

// Finish does the effects of a part, for which there is room, or drops them. A limit
// that has been lowered since does not keep it from that.
func (s *state) Finish(a op.Attempt, commit bool) []op.Item {
	r := s.txns.byKey[partKey(a)]
	s.txns.remove(r)
	s.unlocked = true
	var items []op.Item
	if commit {
		s.promised = true
		s.Together(func() { items = s.carryOut(r.part.Effects) })
		s.promised = false
	}
	s.txns.put(newPartRecord(op.Part{Attempt: r.part.Attempt, Finished: true, Answer: op.Result{Items: items}}))
	s.settle()
	return items
}

func (s *state) carryOut(effects []op.Effect) []op.Item {
	items := make([]op.Item, len(effects))
	for i, e := range effects {
		items[i].Key = e.Key
		if e.Removes {
			items[i].Version, _ = s.Remove(e.Key)
		} else {
			items[i].Version, _, _ = s.Store(e.Key, e.Record) // promised: it is not refused
		}
	}
	return items
}

// Decide keeps a new decision, or a changed one, which is not refused.
func (s *state) Decide(d op.Decision) *op.Error {
	r := newDecisionRecord(d)
	if _, changes := s.txns.byKey[r.key]; changes {
		s.txns.put(r)
		s.settle()
		return nil
	}
	if s.txns.numDecisions >= op.MaxDecisions && !s.forgetDecision() {
		return op.Unavailable("the group has %d decisions of transactions, its limit", op.MaxDecisions)
	}
	return s.admit(r)
}

func (s *state) admit(r *txnRecord) *op.Error {
	if err := s.Room(r.bytes); err != nil {
		return err
	}
	s.txns.put(r)
	s.settle()
	return nil
}

// forgetNext forgets the record that ends first, if its end has come.
func (s *state) forgetNext() bool {
	r, ok := s.txns.next()
	if !ok || r.ends() > s.time {
		return false
	}
	s.txns.remove(r)
	return true
}

// forgetPart forgets the part that ends first, if its end has come.
func (s *state) forgetPart() bool {
	if len(s.txns.parts) == 0 || s.txns.parts[0].ends() > s.time {
		return false
	}
	s.txns.remove(s.txns.parts[0])
	return true
}

// forgetDecision forgets the decision that ends first, if its attempt is too late for
// its coordinator or caller to be still waiting for it.
func (s *state) forgetDecision() bool {
	if len(s.txns.decisions) == 0 || s.txns.decisions[0].deadline()+op.TxnLateness >= s.time {
		return false
	}
	s.txns.remove(s.txns.decisions[0])
	return true
}

// Unresolved is work that a transaction's coordinator has left undone.
type Unresolved struct {
	Attempt      op.Attempt
	Slot         uint16   // one of the part's slots, if it is a part
	Part         bool     // the home group is to be asked, else Participants are to be told
	Participants []uint16 // of a decision to commit
}

// Unresolved returns up to limit attempts whose deadline is past by clock, in ms since
// the Unix epoch, and that are not finished here.
func (f *FSM) Unresolved(clock int64, limit int) (left []Unresolved) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	now := max(f.state.time, clock)
	for _, r := range f.state.txns.open {
		if r.due() > now || len(left) == limit {
			break
		}
		if r.part != nil {
			left = append(left, Unresolved{Attempt: r.attempt(), Part: true, Slot: op.SlotOf(r.part.Keys[0])})
		} else {
			left = append(left, Unresolved{Attempt: r.attempt(), Participants: r.decision.Participants})
		}
	}
	return left
}
