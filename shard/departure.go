package shard

import (
	"cmp"
	"slices"
	"time"

	"github.com/ringraft/ringraft/placement"
)

// A process that dies is noticed at once: its connections break and its host refuses
// others. Its groups need not wait for their heartbeats to fail, if those who are left
// agree, since what one node sees may be its own link's fault. Each tells the others
// what it sees and how far its logs go, and once a majority of a group's voters says
// the same, they know by themselves in which order to stand for election. A silent node is
// reported in the same way, see listener.
const (
	// reportLife is how long a report counts: nobody acts on what was true once.
	reportLife = 250 * time.Millisecond
	// episode is the least time between two elections of a group for one dead node.
	episode = 500 * time.Millisecond
	// standStep is how long each candidate leaves to those before it. The first one wins,
	// since its log is the longest, however long a busy disk takes to store votes; the
	// others are there in case it ends too.
	standStep = 250 * time.Millisecond
	// lateReports is how long a majority waits for voters that may yet speak up, one of
	// which can have the longest log.
	lateReports = 10 * time.Millisecond
)

// position is how far a replica's log goes.
type position struct{ term, index uint64 }

func (p position) compare(q position) int {
	return cmp.Or(cmp.Compare(p.term, q.term), cmp.Compare(p.index, q.index))
}

// report is what a voter's node says of a node that may be gone: for each group that
// it led, as the voter believed, how far the voter's log goes. A report that the node is
// there holds no positions.
type report struct {
	node      string
	sequence  uint64 // of its sender's reports
	gone      bool
	positions map[uint64]position // by group
}

// candidacy is an election in which this node may be to stand.
type candidacy struct {
	group uint64
	at    time.Time     // when a majority called for it
	wait  time.Duration // from then on, for voters that have said nothing yet
}

// departures is what the nodes report of each other, and the rule by which groups
// elect. It knows no clock, and its owner guards it.
type departures struct {
	self   string
	voters func(group uint64) []string // nodes, in the order in which equals stand
	nodes  map[string]*departure       // by the node that is spoken of
}

// departure is what is said of one node.
type departure struct {
	reports map[string]datedReport // by who says it, this node included
	acted   map[uint64]time.Time   // by group: when it was last elected for this node's sake
}

type datedReport struct {
	report
	at time.Time
}

func newDepartures(self string, voters func(uint64) []string) *departures {
	return &departures{self: self, voters: voters, nodes: map[string]*departure{}}
}

// note takes a report over, unless a later one by the same node is known, and returns
// the elections that are due now.
func (d *departures) note(from string, r report, now time.Time) []candidacy {
	d.forget(now)
	about := d.nodes[r.node]
	if about == nil {
		about = &departure{reports: map[string]datedReport{}, acted: map[uint64]time.Time{}}
		d.nodes[r.node] = about
	}
	if last, known := about.reports[from]; known && last.sequence >= r.sequence {
		return nil
	}
	about.reports[from] = datedReport{r, now}
	return d.due(about, now)
}

// forget drops what no longer counts, but keeps what this node sees itself.
func (d *departures) forget(now time.Time) {
	for node, about := range d.nodes {
		for from, r := range about.reports {
			if now.Sub(r.at) > reportLife+placement.MaxReplicas*standStep && (from != d.self || !r.gone) {
				delete(about.reports, from)
			}
		}
		for group, at := range about.acted {
			if now.Sub(at) > episode {
				delete(about.acted, group)
			}
		}
		if len(about.reports) == 0 && len(about.acted) == 0 {
			delete(d.nodes, node)
		}
	}
}

// due returns the elections that are called for, once each.
func (d *departures) due(about *departure, now time.Time) []candidacy {
	mine := about.reports[d.self]
	if !mine.gone || now.Sub(mine.at) > reportLife {
		return nil
	}
	var all []candidacy
	for group := range mine.positions {
		if last, acted := about.acted[group]; acted && now.Sub(last) <= episode {
			continue
		}
		voters := d.voters(group)
		agreeing := about.agreeing(group, voters, now)
		if !slices.Contains(agreeing, d.self) || len(agreeing) <= len(voters)/2 {
			continue
		}
		c := candidacy{group: group, at: now}
		if len(agreeing) < d.left(voters) {
			c.wait = lateReports
		}
		about.acted[group] = now
		all = append(all, c)
	}
	return all
}

// agreeing returns the voters whose reports, young enough at a time, say that the node is
// gone and led the group: the one with the longest log first.
func (a *departure) agreeing(group uint64, voters []string, at time.Time) []string {
	says := func(voter string) (position, bool) {
		r := a.reports[voter]
		p, led := r.positions[group]
		return p, led && r.gone && at.Sub(r.at) <= reportLife
	}
	agreeing := slices.DeleteFunc(slices.Clone(voters), func(voter string) bool {
		_, yes := says(voter)
		return !yes
	})
	slices.SortStableFunc(agreeing, func(a, b string) int {
		p, _ := says(a)
		q, _ := says(b)
		return q.compare(p)
	})
	return agreeing
}

// left counts the voters that this node does not see gone.
func (d *departures) left(voters []string) int {
	n := 0
	for _, voter := range voters {
		if !d.seesGone(voter) {
			n++
		}
	}
	return n
}

// seesGone reports whether this node sees another one gone.
func (d *departures) seesGone(node string) bool {
	about := d.nodes[node]
	return about != nil && about.reports[d.self].gone
}

// turn returns when this node is to stand, and false if it is not to any more: since it,
// or too many others, have taken back what they said of node. The time changes with what
// others say meanwhile; nobody waits for a voter that is gone too.
func (d *departures) turn(node string, c candidacy) (time.Time, bool) {
	about := d.nodes[node]
	if about == nil {
		return time.Time{}, false
	}
	voters := d.voters(c.group)
	agreeing := about.agreeing(c.group, voters, c.at)
	place := slices.Index(agreeing, d.self)
	if place < 0 || len(agreeing) <= len(voters)/2 {
		return time.Time{}, false
	}
	ahead := slices.DeleteFunc(agreeing[:place], d.seesGone)
	return c.at.Add(c.wait + time.Duration(len(ahead))*standStep), true
}
