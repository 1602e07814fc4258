package shard

import (
	"context"
	"errors"
	"fmt"

	"github.com/hashicorp/raft"

	"github.com/ringraft/ringraft/op"
	"github.com/ringraft/ringraft/placement"
)

// closeBehind is how many entries a replica may lack to be called caught up.
const closeBehind = 256

// mayHandOver reports whether this replica leads, has done so for long enough, and is not
// the best to do so.
func (g *group) mayHandOver() bool {
	if !g.replica.settled(g.node.cfg.Timing.Settle) || g.node.draining.Load() {
		return false
	}
	placed, _ := g.node.Map().Group(g.id)
	best := len(placed.Replicas) > 0 && placed.Replicas[0].Node == g.node.cfg.ID
	return !best || g.node.cfg.Store.Full() != nil
}

// balance hands the group over to a replica that stands before this one in the
// map's order, if that replica can take it.
func (g *group) balance() {
	ctx, cancel := context.WithTimeout(g.ctx, g.node.cfg.Timing.Write)
	defer cancel()
	if g.node.cfg.Store.Full() != nil {
		if _, err := g.handOverToBest(ctx); err != nil {
			g.log.Warn("the disk is full and nobody else can lead", "err", err)
		}
		return
	}
	placed, _ := g.node.Map().Group(g.id)
	for _, r := range placed.Replicas {
		if r.Node == g.node.cfg.ID {
			return
		}
		if !g.node.eligible(ctx, r.Node, g.replica) {
			continue
		}
		if err := g.handOverTo(ctx, r); err != nil {
			g.log.Debug("preferred leader not reached", "to", r.Node, "err", err)
			continue
		}
		return
	}
}

// errNoSuccessor means that a leader has nobody to hand over to.
var errNoSuccessor = errors.New("no other replica is up and caught up")

// eligible reports whether node may lead instead of r, the leader's replica: it is
// up, not leaving, its replica has caught up, and its disk takes what that writes.
func (n *Node) eligible(ctx context.Context, node string, r *replica) bool {
	if !n.peers.Reachable(node) {
		return false
	}
	var status op.NodeStatus
	if err := n.ask(ctx, node, callStatus, struct{}{}, &status); err != nil || status.State != stateUp {
		return false
	}
	for _, s := range status.Replicas {
		if s.Group == r.group {
			return s.Role == roleFollower && s.Reason == "" && s.Applied+closeBehind >= r.machine.Applied()
		}
	}
	return false
}

// handOverTo makes another replica the leader. New writes wait meanwhile and those
// in flight end first, so that nobody's outcome is in doubt.
func (g *group) handOverTo(ctx context.Context, to placement.Replica) error {
	if !g.moving.TryLock() {
		return errors.New("it is being handed over already")
	}
	defer g.moving.Unlock()
	ctx, cancel := context.WithTimeout(ctx, g.node.cfg.Timing.Write)
	defer cancel()
	defer g.batcher.release()
	if err := g.batcher.hold(ctx); err != nil {
		return fmt.Errorf("writes in flight did not end: %w", err)
	}
	if err := g.replica.handOver(ctx, raft.ServerID(to.ServerID(g.id))); err != nil {
		return err
	}
	g.log.Info("leadership handed over", "to", to.Node)
	return nil
}

// handOverToBest makes the first eligible replica in the map's order the leader,
// and returns its node.
func (g *group) handOverToBest(ctx context.Context) (string, error) {
	placed, _ := g.node.Map().Group(g.id)
	err := errNoSuccessor
	for _, r := range placed.Replicas {
		if r.Node == g.node.cfg.ID || !g.node.eligible(ctx, r.Node, g.replica) {
			continue
		}
		if err = g.handOverTo(ctx, r); err == nil {
			return r.Node, nil
		}
	}
	return "", err
}

// unstick restarts the replica if Raft has refused all entries for a long time
// because of a leadership transfer: one to a hung follower can leave it in that
// state for good (hashicorp/raft#696).
func (g *group) unstick() {
	if !g.batcher.stuck(2 * g.node.cfg.Timing.Write) {
		return
	}
	g.log.Error("Raft is stuck in a leadership transfer; the replica is restarted")
	g.node.background.start(func() { g.node.rehost(g) })
}

// transferHere carries out a transfer if this node leads the group.
func (n *Node) transferHere(ctx context.Context, o op.Transfer) proposal {
	g := n.group(o.Group)
	if g == nil || g.replica.readyTerm() == 0 {
		return failedProposal(op.Unavailable("this node does not lead group %d", o.Group))
	}
	to, err := g.transfer(ctx, o.To)
	if err != nil {
		return failedProposal(op.Unavailable("group %d was not handed over: %v", o.Group, err))
	}
	p := n.change(ctx, metaCommand{Prefer: &preference{Group: o.Group, Node: to}})
	if p.Kind != 0 {
		p = failedProposal(op.UnknownOutcome("%s leads group %d now, but may not stay: %s", to, o.Group, p.Text))
	}
	p.Leader = to
	return p
}

// transfer hands over to node, or to the best replica if that is "".
func (g *group) transfer(ctx context.Context, node string) (string, error) {
	if node == g.node.cfg.ID {
		return node, nil
	}
	if node == "" {
		return g.handOverToBest(ctx)
	}
	placed, _ := g.node.Map().Group(g.id)
	for _, r := range placed.Replicas {
		if r.Node != node {
			continue
		}
		if !g.node.eligible(ctx, node, g.replica) {
			return "", fmt.Errorf("%s is down, leaving, or behind", node)
		}
		return node, g.handOverTo(ctx, r)
	}
	return "", fmt.Errorf("%s has no replica of the group", node)
}
