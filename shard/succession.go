package shard

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"github.com/ringraft/ringraft/placement"
)

// maxTelling bounds the reports that are under way to other nodes. One that finds no
// room is not sent: then the others wait for their heartbeats to fail.
const maxTelling = 256

// settleWait bounds the wait for replicas that are busy with what a dead node has sent.
const settleWait = reportLife / 2

// succession has a dead node's groups elect others, by the rule of departures. It tells
// what this node sees, hears what others see, and stands when that is due.
type succession struct {
	node    *Node
	telling chan struct{} // a token per report under way

	mu       sync.Mutex
	rule     *departures
	sequence uint64              // of the last report
	seen     map[string]sighting // by node
	news     chan struct{}       // closed when a node says something, and replaced
}

// sighting is what this node sees of another one.
type sighting struct {
	sequence uint64   // of the last report of it
	ended    bool     // its process
	silent   bool     // see listener
	told     []string // the nodes that were told that it is gone, last
}

func newSuccession(n *Node) *succession {
	return &succession{
		node: n, telling: make(chan struct{}, maxTelling),
		rule: newDepartures(n.cfg.ID, n.votersInOrder), seen: map[string]sighting{},
		news: make(chan struct{}),
	}
}

// Departed is to be called when a node's process is gone, as its connections tell, and
// with gone false when it is back. It does not block.
func (n *Node) Departed(node string, gone bool) {
	if _, known := n.Map().Node(node); !known || node == n.cfg.ID {
		return
	}
	s := n.succession
	r := s.see(node, func(seen *sighting) { seen.ended = gone })
	switch {
	case gone:
		n.background.start(func() {
			r.positions = n.positions(n.under(node), false)
			s.publish(r)
		})
	case !r.gone:
		s.publish(r)
	}
}

// hush is told that the replicas have not heard of a node, whom they follow, for a while.
func (s *succession) hush(node string, under []*replica, while time.Duration) {
	r := s.see(node, func(seen *sighting) { seen.silent = true })
	s.node.background.start(func() {
		r.positions = s.node.positions(under, true)
		if unheard(under, time.Now().Add(-while)) { // by all that had arrived, too
			s.publish(r)
		}
	})
}

// unhush is told that a node is heard of again, or that nobody follows it any more.
func (s *succession) unhush(node string) {
	if r := s.see(node, func(seen *sighting) { seen.silent = false }); !r.gone {
		s.publish(r)
	}
}

// see notes that something is seen of a node, and returns the report of that, without
// positions.
func (s *succession) see(node string, change func(*sighting)) report {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sequence++
	seen := s.seen[node]
	change(&seen)
	seen.sequence = s.sequence
	s.seen[node] = seen
	return report{node: node, sequence: seen.sequence, gone: seen.ended || seen.silent}
}

// publish takes over what this node sees, unless it has seen something else since, and
// tells those whom that concerns.
func (s *succession) publish(r report) {
	s.mu.Lock()
	seen := s.seen[r.node]
	if seen.sequence != r.sequence {
		s.mu.Unlock()
		return
	}
	due := s.noteLocked(s.node.cfg.ID, r)
	to := seen.told
	seen.told = nil
	if r.gone {
		to = s.concernedLocked(r)
		seen.told = to
	}
	s.seen[r.node] = seen
	s.mu.Unlock()
	s.tell(to, r)
	s.elect(r.node, due)
}

// noteLocked takes a report over, and has those who await their turn look again.
func (s *succession) noteLocked(from string, r report) []candidacy {
	close(s.news)
	s.news = make(chan struct{})
	return s.rule.note(from, r, time.Now())
}

// concernedLocked returns the other voters of the groups that a report names.
func (s *succession) concernedLocked(r report) []string {
	var nodes []string
	for group := range r.positions {
		for _, voter := range s.rule.voters(group) {
			if voter != r.node && voter != s.node.cfg.ID && !slices.Contains(nodes, voter) {
				nodes = append(nodes, voter)
			}
		}
	}
	return nodes
}

// tell sends a report. Nobody hears of it once it is too old to count.
func (s *succession) tell(nodes []string, r report) {
	call := r.appendTo([]byte{byte(callReport)})
	for _, to := range nodes {
		select {
		case s.telling <- struct{}{}:
		default:
			return
		}
		started := s.node.background.start(func() {
			defer func() { <-s.telling }()
			ctx, cancel := context.WithTimeout(s.node.ctx, reportLife)
			defer cancel()
			if _, err := s.node.peers.Call(ctx, to, call); err != nil {
				s.node.log.Debug("a node was not told of another", "node", to, "about", r.node, "gone", r.gone, "err", err)
			}
		})
		if !started {
			<-s.telling
		}
	}
}

// hear takes over what another node sees.
func (s *succession) hear(from string, body []byte) error {
	r, err := decodeReport(body)
	if err != nil {
		return err
	}
	if _, known := s.node.Map().Node(r.node); !known || r.node == s.node.cfg.ID || from == r.node {
		return fmt.Errorf("a report by %s of %s is of no use here", from, r.node)
	}
	s.mu.Lock()
	due := s.noteLocked(from, r)
	s.mu.Unlock()
	s.elect(r.node, due)
	return nil
}

// elect has this node stand in elections, each in its turn.
func (s *succession) elect(node string, due []candidacy) {
	for _, c := range due {
		r := s.node.replica(c.group)
		if r == nil {
			continue
		}
		term := r.raft.CurrentTerm()
		s.node.background.start(func() {
			if s.await(node, c) && r.raft.CurrentTerm() == term {
				s.stand(node, r)
			}
		})
	}
}

// await returns when it is this node's turn, or false if it is not to stand.
func (s *succession) await(node string, c candidacy) bool {
	for {
		s.mu.Lock()
		turn, called := s.rule.turn(node, c)
		news := s.news
		s.mu.Unlock()
		wait := time.Until(turn)
		if !called || wait <= 0 {
			return called
		}
		select {
		case <-time.After(wait):
		case <-news:
		case <-s.node.ctx.Done():
			return false
		}
	}
}

// stand makes r a candidate unless somebody else leads by now.
func (s *succession) stand(node string, r *replica) {
	if s.node.draining.Load() || !r.orphaned(node) {
		return
	}
	s.mu.Lock()
	ended := s.seen[node].ended
	s.mu.Unlock()
	if ended {
		r.log.Info("standing for election at once: the leader's process has ended", "leader", node)
	} else {
		r.log.Info("standing for election: the leader is silent", "leader", node)
	}
	if err := s.node.peers.Stand(r.id); err != nil {
		r.log.Warn("standing for election at once failed", "err", err)
	}
}

// orphaned reports whether this replica follows nobody but leader.
func (r *replica) orphaned(leader string) bool {
	follows := r.leaderNode()
	return r.raft.State() == raft.Follower && (follows == leader || follows == "")
}

// under returns the replicas here that follow node.
func (n *Node) under(node string) []*replica {
	return slices.DeleteFunc(n.replicas(), func(r *replica) bool { return r.leaderNode() != node })
}

// replicas returns all replicas here, the meta group's first.
func (n *Node) replicas() []*replica {
	var all []*replica
	if m := n.meta.Load(); m != nil {
		all = append(all, m.replica)
	}
	for _, g := range n.hosted() {
		all = append(all, g.replica)
	}
	return all
}

// positions returns how far the logs of replicas go, once they have handled all that had
// arrived for them: so the one with the longest log is known before anybody stands. Those
// that are too busy for that are left out if the others are to be certain. One that cannot
// stand has no length.
func (n *Node) positions(replicas []*replica, certain bool) map[uint64]position {
	ctx, cancel := context.WithTimeout(n.ctx, settleWait)
	defer cancel()
	var mu sync.Mutex
	var settling sync.WaitGroup
	positions := map[uint64]position{}
	for _, r := range replicas {
		settling.Go(func() {
			if err := n.peers.Settle(ctx, r.id); err != nil {
				r.log.Debug("the length of the log is not certain", "err", err)
				if certain {
					return
				}
			}
			var end position
			if r.raft.State() == raft.Follower {
				end = r.position()
			}
			mu.Lock()
			defer mu.Unlock()
			positions[r.group] = end
		})
	}
	settling.Wait()
	return positions
}

// votersInOrder returns the nodes that vote in a group hosted here, in the order in
// which equals should lead it.
func (n *Node) votersInOrder(group uint64) []string {
	r := n.replica(group)
	if r == nil {
		return nil
	}
	servers, err := r.voters()
	if err != nil {
		return nil
	}
	var voters []string
	for _, s := range servers {
		voters = append(voters, nodeOf(s.ID))
	}
	placed, _ := n.Map().Group(group)
	preference := func(node string) int {
		return slices.IndexFunc(placed.Replicas, func(r placement.Replica) bool { return r.Node == node })
	}
	slices.SortStableFunc(voters, func(a, b string) int { return cmp.Compare(preference(a), preference(b)) })
	return voters
}
