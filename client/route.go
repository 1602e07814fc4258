package client

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/ringraft/ringraft/op"
	"github.com/ringraft/ringraft/placement"
)

// table is a cluster map made ready for routing. It is replaced, never changed;
// only what its groups have learned about their leaders is.
type table struct {
	cluster placement.Map
	slots   [op.Slots]*group
	groups  []*group
	nodes   map[string]*pool // by node id
	// meta serves cluster operations: any node answers them, or names the one
	// that does.
	meta *group
}

// group is where a group's replicas are, in order of preference.
type group struct {
	id       uint64
	replicas []*pool
	account  *account
	leader   atomic.Pointer[pool] // presumed
	turn     atomic.Uint32        // spreads local reads
}

func newGroup(id uint64, replicas []*pool, a *account) *group {
	g := &group{id: id, replicas: replicas, account: a}
	g.leader.Store(replicas[0])
	return g
}

// newTable makes m, which has been checked, ready for routing. poolOf returns the
// pool of a node, accountOf the account with a group. What old, which may be nil, knows
// of leaders is kept.
func newTable(m placement.Map, old *table, poolOf func(placement.Node) *pool, accountOf func(group uint64) *account) *table {
	t := &table{cluster: m, nodes: make(map[string]*pool, len(m.Nodes))}
	all := make([]*pool, len(m.Nodes))
	for i, n := range m.Nodes {
		all[i] = poolOf(n)
		t.nodes[n.ID] = all[i]
	}
	t.meta = newGroup(0, all[:min(len(all), maxTried)], accountOf(0))
	byID := make(map[uint64]*group, len(m.Groups))
	for _, g := range m.Groups {
		replicas := make([]*pool, len(g.Replicas))
		for i, r := range g.Replicas {
			replicas[i] = t.nodes[r.Node]
		}
		byID[g.ID] = newGroup(g.ID, replicas, accountOf(g.ID))
		t.groups = append(t.groups, byID[g.ID])
	}
	for slot := range t.slots {
		t.slots[slot] = byID[m.GroupOf(uint16(slot))]
	}
	if old != nil {
		t.keepLeaders(old, byID)
	}
	return t
}

func (t *table) keepLeaders(old *table, byID map[uint64]*group) {
	for _, was := range append(old.groups, old.meta) {
		g := byID[was.id]
		if was.id == 0 {
			g = t.meta
		}
		if g == nil {
			continue
		}
		leader := was.leader.Load()
		for _, p := range g.replicas {
			if p == leader {
				g.leader.Store(p)
			}
		}
	}
}

// tells reports whether the map tells address to be a node's.
func (t *table) tells(address string) bool {
	return slices.ContainsFunc(t.cluster.Nodes, func(n placement.Node) bool { return n.Native == address })
}

// lacksNode reports whether attempts to reach one of the nodes fail.
func (t *table) lacksNode() bool {
	for _, p := range t.nodes {
		if p.lost() {
			return true
		}
	}
	return false
}

// groupOf returns the group that serves o; false if its slots are no longer all
// in one group.
func (t *table) groupOf(o op.Op) (*group, bool) {
	routed, ok := o.(op.Routed)
	if !ok {
		return t.meta, true
	}
	if spans(o) {
		return t.slots[o.(op.Txn).Home()], true
	}
	g := t.slots[routed.Slot(0)]
	for i := 1; i < routed.NumSlots(); i++ {
		if t.slots[routed.Slot(i)] != g {
			return nil, false
		}
	}
	return g, true
}

// led notes that p leads: it served what only the leader serves.
func (g *group) led(p *pool) {
	if g.leader.Load() != p {
		g.leader.Store(p)
	}
}

// doubt makes the replica after p the presumed leader, if p still is.
func (g *group) doubt(p *pool) {
	for i, r := range g.replicas {
		if r == p {
			g.leader.CompareAndSwap(p, g.replicas[(i+1)%len(g.replicas)])
			return
		}
	}
	g.leader.CompareAndSwap(p, g.replicas[0])
}

// maxHops bounds the nodes that a call asks without a pause between them: enough
// to be sent on by a follower and by a leader that has just handed over.
const maxHops = 4

// maxTried bounds the nodes of which a walk remembers that it asked them.
const maxTried = 64

// walk is a call's way from node to node. The zero value, with byLeader set for
// what only the leader serves, is at its start.
type walk struct {
	byLeader bool
	group    *group
	tried    uint64 // bit i: replicas[i] has been asked in this round
	hops     int    // nodes asked since the last pause
	named    *pool  // by the last answer, as the one to ask

	silent *pool     // the last node that did not answer, if another one can be asked
	until  time.Time // it is not asked again before, whoever names it
}

// next returns the node to ask, and nil after a round that led nowhere: then the
// call pauses and rests.
func (w *walk) next(g *group) *pool {
	if w.group != g {
		w.group, w.tried = g, 0
	}
	if w.hops == maxHops {
		return nil
	}
	p := w.choose()
	w.named = nil
	if p != nil {
		w.hops++
		w.try(p)
	}
	return p
}

// rest begins a new run of hops and, once all replicas have been asked, a new round.
func (w *walk) rest() {
	w.hops = 0
	if w.group == nil {
		return
	}
	for i, p := range w.group.replicas {
		if w.tried&(1<<i) == 0 && !w.avoids(p) {
			return
		}
	}
	w.tried = 0
}

// avoid has a node that did not answer left alone for a while. Others name it as the
// leader until they have elected another one, and are better asked themselves meanwhile.
func (w *walk) avoid(p *pool, while time.Duration) {
	if len(w.group.replicas) > 1 {
		w.silent, w.until = p, time.Now().Add(while)
	}
}

func (w *walk) avoids(p *pool) bool { return p == w.silent && time.Now().Before(w.until) }

func (w *walk) choose() *pool {
	if w.named != nil && !w.avoids(w.named) {
		return w.named
	}
	if !w.byLeader {
		return w.leastLoaded()
	}
	if p := w.group.leader.Load(); !w.hasTried(p) && !w.avoids(p) {
		return p
	}
	for i, p := range w.group.replicas {
		if w.tried&(1<<i) == 0 && !w.avoids(p) {
			return p
		}
	}
	return nil
}

// leastLoaded returns the untried replica with the fewest calls waiting, one that
// is connected before one that is not. Among equals they take turns.
func (w *walk) leastLoaded() (best *pool) {
	g := w.group
	n := len(g.replicas)
	first := int(g.turn.Add(1))
	var least int
	var ready bool
	for i := range n {
		at := (first + i) % n
		p := g.replicas[at]
		if w.tried&(1<<at) != 0 || w.avoids(p) {
			continue
		}
		load, connected := p.load()
		if best == nil || connected && !ready || connected == ready && load < least {
			best, least, ready = p, load, connected
		}
	}
	return best
}

func (w *walk) try(p *pool) {
	for i, r := range w.group.replicas {
		if r == p {
			w.tried |= 1 << i
		}
	}
}

func (w *walk) hasTried(p *pool) bool {
	for i, r := range w.group.replicas {
		if r == p {
			return w.tried&(1<<i) != 0
		}
	}
	return w.hops > 0 // a leader that the map does not know is asked first only
}
