package raftfsm

import (
	"github.com/ringraft/ringraft/lru"
	"github.com/ringraft/ringraft/op"
)

// Lookups are keys that are read together, of one state machine or of several. One
// goroutine uses them at a time; after Read they are empty, and may be used again.
type Lookups struct {
	asked  []lookup
	held   []*FSM    // whose locks are held
	result op.Result // of the lookup being answered
}

type lookup struct {
	fsm    *FSM
	slot   uint16
	key    []byte
	hint   func(key []byte)
	search lru.Search
}

// Add adds a key of f in its slot. hint is as of [FSM.Read].
func (l *Lookups) Add(f *FSM, slot uint16, key []byte, hint func(key []byte)) {
	l.asked = append(l.asked, lookup{fsm: f, slot: slot, key: key, hint: hint})
}

// Read calls answer with what stands at each key, in the order in which they were added,
// until it says that there is room for no more. It returns how many keys that were.
// Deadlines and the results' Index are as of [FSM.Read]. answer runs under read locks: it
// must not block nor call a state machine, and keeps nothing that the result refers to.
func (l *Lookups) Read(clock int64, answer func(i int, res *op.Result) (more bool)) (n int) {
	together := l.lock()
	if together {
		l.approach()
	}
	for more := true; more && n < len(l.asked); n++ {
		if together {
			more = l.answer(n, clock, answer)
		} else {
			more = l.answerAlone(n, clock, answer)
		}
	}
	l.result = op.Result{}
	l.unlock()
	clear(l.asked)
	l.asked = l.asked[:0]
	return n
}

// lock takes the read locks of all state machines, or none if one of them is not free: to
// wait for one while another is held would make one wait for the other's entries.
func (l *Lookups) lock() bool {
	for i := range l.asked {
		f := l.asked[i].fsm
		if l.holds(f) {
			continue
		}
		if !f.mu.TryRLock() {
			l.unlock()
			return false
		}
		l.held = append(l.held, f)
	}
	return true
}

func (l *Lookups) holds(f *FSM) bool {
	for _, h := range l.held {
		if h == f {
			return true
		}
	}
	return false
}

func (l *Lookups) unlock() {
	for _, f := range l.held {
		f.mu.RUnlock()
	}
	clear(l.held)
	l.held = l.held[:0]
}

// approach takes all steps of all searches but the last.
func (l *Lookups) approach() {
	for i := range l.asked {
		a := &l.asked[i]
		a.search.Begin(a.fsm.state.cache, a.slot, a.key)
	}
	for i := range l.asked {
		l.asked[i].search.Enter()
	}
	for i := range l.asked {
		l.asked[i].search.Choose()
	}
	for i := range l.asked {
		l.asked[i].search.Approach()
	}
	for i := range l.asked {
		l.asked[i].search.Fetch()
	}
}

// answer answers a lookup whose lock is held, by its search.
func (l *Lookups) answer(i int, clock int64, answer func(i int, res *op.Result) bool) (more bool) {
	a := &l.asked[i]
	now := a.fsm.nowLocked(clock)
	rec, found := a.fsm.state.read(&a.search, now, a.key, a.hint)
	l.result = op.Get{}.Answer(rec, found, now)
	l.result.Index = a.fsm.shown.Load()
	return answer(i, &l.result)
}

// answerAlone answers a lookup of which nothing is done yet.
func (l *Lookups) answerAlone(i int, clock int64, answer func(i int, res *op.Result) bool) (more bool) {
	a := &l.asked[i]
	a.fsm.mu.RLock()
	defer a.fsm.mu.RUnlock()
	a.search.Begin(a.fsm.state.cache, a.slot, a.key)
	return l.answer(i, clock, answer)
}
