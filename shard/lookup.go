package shard

import (
	"github.com/ringraft/ringraft/op"
	"github.com/ringraft/ringraft/raftfsm"
)

// LookUp answers the first of asked, as many as the replicas here can answer at once and
// as answer says that there is room for, in their order. It returns how many those were;
// what is left is for Serve. answer must not block, and keeps nothing that res refers to.
func (n *Node) LookUp(asked []op.Lookup, answer func(i int, res *op.Result) (more bool)) int {
	l := n.lookups.Get().(*raftfsm.Lookups)
	n.addLookups(l, asked)
	done := l.Read(n.cfg.Clock(), answer)
	n.lookups.Put(l)
	return done
}

// addLookups adds the first of asked, up to one that cannot be answered here and now.
func (n *Node) addLookups(l *raftfsm.Lookups, asked []op.Lookup) {
	m := n.current.Load()
	n.mu.RLock()
	defer n.mu.RUnlock()
	for i := range asked {
		a := &asked[i]
		g := n.groups[m.GroupOf(a.Slot)]
		if g == nil || !g.answers(a.Bound) {
			return
		}
		l.Add(g.fsm, a.Slot, a.Key, g.hint)
	}
}

// answers reports whether a read at level Session with this bound, or without one at level
// Local, can be answered at once.
func (g *group) answers(bound uint64) bool {
	if bound == 0 {
		return g.replica.caughtUp()
	}
	return g.shows(bound)
}
