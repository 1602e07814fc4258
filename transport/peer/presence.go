package peer

import "sync"

// presence is what a node's connections tell of its process. It is gone once its
// connections have ended in both directions and its host refuses another one. A node
// that is only silent, as one that is cut off, stands still or has a full backlog, is
// not called gone: nobody could tell whether it goes on.
type presence struct {
	tell func(gone bool) // called in order, with mu held

	mu      sync.Mutex
	heard   int  // connections that the node has opened and that last
	refused bool // ours has ended, and the next one was refused where it had led to
	gone    bool // what was told last
}

// opened and ended count the connections that the node opens.
func (p *presence) opened() { p.change(func() { p.heard++ }) }
func (p *presence) ended()  { p.change(func() { p.heard-- }) }

// refuse notes that the node's host has refused a connection, after one had ended;
// reached, that there is one again.
func (p *presence) refuse()  { p.change(func() { p.refused = true }) }
func (p *presence) reached() { p.change(func() { p.refused = false }) }

func (p *presence) isGone() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.gone
}

func (p *presence) change(what func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	what()
	if gone := p.refused && p.heard == 0; gone != p.gone {
		p.gone = gone
		p.tell(gone)
	}
}
