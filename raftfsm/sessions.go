package raftfsm

import (
	"cmp"
	"container/heap"
	"slices"
)

// sessions are those of a group. It knows no limits and no time: see once.go.
type sessions struct {
	opened uint64 // sessions opened so far, and so the last id: none is given twice
	byID   map[uint64]*session
	ends   ends
	bytes  int64  // logical, of all sessions
	sum    uint64 // of all their terms
}

func newSessions() sessions { return sessions{byID: map[uint64]*session{}} }

func (t *sessions) len() int { return len(t.ends) }

// open adds a session that has not been used yet.
func (t *sessions) open(ttl, now int64) *session {
	t.opened++
	x := &session{id: t.opened, ttl: ttl, deadline: now + ttl, floor: 1}
	x.recount()
	t.add(x)
	return x
}

// add takes a session over, with what it counts.
func (t *sessions) add(x *session) {
	t.byID[x.id] = x
	heap.Push(&t.ends, x)
	t.bytes += x.bytes
	t.sum += x.sum
}

// end takes a session out, with all its answers.
func (t *sessions) end(x *session) {
	delete(t.byID, x.id)
	heap.Remove(&t.ends, x.place)
	x.place = -1
	t.bytes -= x.bytes
	t.sum -= x.sum
}

// next returns the session that ends first: the least by deadline and id.
func (t *sessions) next() (*session, bool) {
	if len(t.ends) == 0 {
		return nil, false
	}
	return t.ends[0], true
}

// use renews a session at the time now, and forgets the answers to sequences below
// acknowledged.
func (t *sessions) use(x *session, now int64, acknowledged uint64) {
	deadline, floor := now+x.ttl, max(x.floor, acknowledged)
	if deadline == x.deadline && floor == x.floor {
		return
	}
	if deadline != x.deadline { // once per entry
		x.deadline = deadline
		heap.Fix(&t.ends, x.place)
	}
	if floor > x.floor {
		x.floor = floor
		t.forget(x)
	}
	before := x.own
	x.own = x.term()
	t.count(x, 0, x.own-before)
}

// forget lets go of the answers to sequences below the floor, which are few if any.
func (t *sessions) forget(x *session) {
	list := x.answers.list()
	n := 0
	for n < len(list) && list[n].sequence < x.floor {
		t.count(x, -list[n].cost(), -list[n].term)
		n++
	}
	x.answers.drop(n)
}

// keep stores the answer to a sequence that has none.
func (t *sessions) keep(x *session, a answer) {
	place, _ := x.answers.find(a.sequence)
	x.answers.insert(place, a)
	t.count(x, a.cost(), a.term)
}

func (t *sessions) count(x *session, bytes int64, sum uint64) {
	x.bytes += bytes
	x.sum += sum
	t.bytes += bytes
	t.sum += sum
}

// copies returns the sessions as they are, by ascending id. They share with the table
// only the encodings of long answers, which never change.
func (t *sessions) copies() []session {
	all := make([]session, len(t.ends))
	for i, x := range t.ends {
		all[i] = *x
		all[i].answers = answers{memory: slices.Clone(x.answers.list())}
	}
	slices.SortFunc(all, func(a, b session) int { return cmp.Compare(a.id, b.id) })
	return all
}

// ends is a heap of the sessions by deadline. The id breaks ties, so that the order
// does not depend on how the heap was built.
type ends []*session

// Len, Less, Swap, Push and Pop are for container/heap.
func (e ends) Len() int { return len(e) }

func (e ends) Less(i, j int) bool {
	if e[i].deadline != e[j].deadline {
		return e[i].deadline < e[j].deadline
	}
	return e[i].id < e[j].id
}

func (e ends) Swap(i, j int) {
	e[i], e[j] = e[j], e[i]
	e[i].place, e[j].place = i, j
}

func (e *ends) Push(x any) {
	s := x.(*session)
	s.place = len(*e)
	*e = append(*e, s)
}

func (e *ends) Pop() any {
	last := len(*e) - 1
	s := (*e)[last]
	(*e)[last] = nil // let go of the session
	*e = (*e)[:last]
	return s
}
