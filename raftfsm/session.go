package raftfsm

// sessionCost is what a session costs in logical bytes, beside its answers: about what it
// takes in memory.
const sessionCost = 128

// session is what a group keeps of a client's session.
type session struct {
	id       uint64
	ttl      int64   // ms, of the group's time
	deadline int64   // ttl after its last use; from then on it has ended
	floor    uint64  // all lower sequences are acknowledged; at least 1
	answers  answers // not acknowledged

	place int    // in the order of ends; -1 if the session has been removed
	bytes int64  // logical, of the session and its answers
	own   uint64 // the term of the session without its answers
	sum   uint64 // of that and the answers' terms
}

// term is that of the session without its answers.
func (x *session) term() uint64 {
	return term(termSession, x.id, uint64(x.ttl), uint64(x.deadline), x.floor, 0)
}

// recount sets bytes, own and sum from all the rest.
func (x *session) recount() {
	x.own = x.term()
	x.bytes, x.sum = sessionCost, x.own
	for _, a := range x.answers.list() {
		x.bytes += a.cost()
		x.sum += a.term
	}
}
