package shard

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/ringraft/ringraft/internal/mutant"
	"github.com/ringraft/ringraft/op"
)

// A cluster forms once, from the set of nodes given to all of them. Each node made
// up a random incarnation when its data directory was created. The members tell each
// other theirs; who knows all of them is formed, and the cluster's id is a hash of
// the set, so that all arrive at the same one without a leader. Who hears a formed
// member takes over the set from it, so that a member that is wiped or lost while the
// others form cannot part them. A member whose directory was wiped comes with another
// incarnation than the formed ones remember, and is refused.

// greetPeriod is how often an unformed node greets the members it does not know yet.
const greetPeriod = 200 * time.Millisecond

// greeting is what a node says of itself, and the answer to that.
type greeting struct {
	Node        string            `codec:"node"`
	Incarnation string            `codec:"incarnation"`
	Cluster     string            `codec:"cluster"` // "" while unformed
	Members     map[string]string `codec:"members"` // incarnations at formation, once formed
	Init        []string          `codec:"init"`    // ids of the set given, sorted; empty if none
}

// FormationError says why a node must not form or join a cluster.
type FormationError struct{ Reason string }

func (e *FormationError) Error() string { return "cannot form the cluster: " + e.Reason }

func formationError(format string, args ...any) error {
	return &FormationError{Reason: fmt.Sprintf(format, args...)}
}

// greet answers another node's greeting. It tells only what formation needs.
func (n *Node) greet(greeting) greeting {
	id := n.cfg.Store.Identity()
	return greeting{
		Node: id.Node, Incarnation: id.Incarnation, Cluster: id.Cluster,
		Members: id.Members, Init: initIDs(n.cfg.Init),
	}
}

func initIDs(init []Member) []string {
	var ids []string
	for _, m := range init {
		ids = append(ids, m.ID)
	}
	slices.Sort(ids)
	return ids
}

// form makes this node a member of the cluster that Init describes. It waits, until
// ctx ends, for every member to be heard, or one that is formed.
func (n *Node) form(ctx context.Context) error {
	self := n.cfg.Store.Identity()
	members := map[string]string{self.Node: self.Incarnation}
	tick := time.NewTicker(greetPeriod)
	defer tick.Stop()
	for {
		for _, m := range n.cfg.Init {
			if _, known := members[m.ID]; known {
				continue
			}
			var g greeting
			if err := n.ask(ctx, m.ID, callGreet, n.greet(greeting{}), &g); err != nil {
				n.log.Debug("member not heard yet", "member", m.ID, "err", err)
				continue
			}
			if err := n.admit(m.ID, g); err != nil {
				return err
			}
			if g.Cluster != "" {
				return n.cfg.Store.Form(g.Cluster, g.Members)
			}
			members[m.ID] = g.Incarnation
		}
		if len(members) == len(n.cfg.Init) {
			return n.cfg.Store.Form(clusterID(members), members)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("forming the cluster, heard only %v: %w", sortedKeys(members), ctx.Err())
		case <-tick.C:
		}
	}
}

// admit refuses a member with which this node cannot form a cluster.
func (n *Node) admit(id string, g greeting) error {
	self := n.cfg.Store.Identity()
	switch {
	case g.Node != id:
		return formationError("the node at %s's address says it is %q; check --init", id, g.Node)
	case g.Cluster == "" && !slices.Equal(g.Init, initIDs(n.cfg.Init)):
		return formationError("%s was given the members %v, this node %v; --init must be the same everywhere", id, g.Init, initIDs(n.cfg.Init))
	case g.Cluster == "":
		return nil
	}
	switch remembered, ok := g.Members[self.Node]; {
	case !ok:
		return formationError("%s belongs to cluster %s, of which this node is no member; --init forms new clusters only", id, g.Cluster)
	case remembered != self.Incarnation && !mutant.WipedMember:
		return formationError("%s belongs to cluster %s and knows %s with another data directory; "+
			"an emptied node must not come back under its old id: restore its directory as it was", id, g.Cluster, self.Node)
	case !slices.Equal(sortedKeys(g.Members), initIDs(n.cfg.Init)):
		return formationError("%s belongs to cluster %s of the members %v, this node was given %v; --init must be the same everywhere",
			id, g.Cluster, sortedKeys(g.Members), initIDs(n.cfg.Init))
	case g.Cluster != clusterID(g.Members):
		return formationError("%s names members that did not form its cluster, %s", id, g.Cluster)
	}
	return nil
}

// clusterID names a cluster by what its members were at its birth.
func clusterID(members map[string]string) string {
	h := sha256.New()
	for _, id := range sortedKeys(members) {
		fmt.Fprintf(h, "%d:%s=%s\n", len(id), id, members[id])
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// Verify reports whether a node that introduces itself with this cluster's id is
// the member it claims to be.
func (n *Node) Verify(node, incarnation string) error {
	known, ok := n.cfg.Store.Identity().Members[node]
	if m, found := n.Map().Node(node); found {
		known, ok = m.Incarnation, true
	}
	if !ok {
		return fmt.Errorf("%s is no member of this cluster", node)
	}
	if known != incarnation && !mutant.WipedMember {
		return fmt.Errorf("%s comes with another data directory than the member of that name", node)
	}
	return nil
}

// Address returns where node listens for peers, from the cluster map or, before
// there is one, from Init.
func (n *Node) Address(node string) (string, bool) {
	if m, ok := n.Map().Node(node); ok && m.Peer != "" {
		return m.Peer, true
	}
	for _, m := range n.cfg.Init {
		if m.ID == node {
			return m.Peer, true
		}
	}
	return "", false
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// checkIdentity says, before anything runs, whether the node can start.
func (n *Node) checkIdentity() error {
	id := n.cfg.Store.Identity()
	if id.Cluster != "" && len(n.cfg.Init) > 0 {
		n.log.Info("--init is ignored: this node already belongs to a cluster", "cluster", id.Cluster)
	}
	if id.Cluster == "" && len(n.cfg.Init) == 0 {
		return op.Invalid("init", "is needed: the data directory belongs to no cluster yet")
	}
	return nil
}
