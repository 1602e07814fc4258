package shard

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/hashicorp/raft"

	"github.com/ringraft/ringraft/placement"
)

// nemesis does to replicas what disks, networks, people and crashes do.
type nemesis struct {
	*ensemble
	random    *rand.Rand
	proposed  int // entries
	forgotten int // leaders that crashed without entries that a majority had with them
}

// hang is for how long a disk hangs, unless something else becomes of it: longer than an election takes.
const hang = 4 * time.Second

// strike does one thing, and has entries proposed.
func (n *nemesis) strike() {
	node, other := n.any(), n.nodes[n.random.IntN(len(n.nodes))]
	disk := n.disks[node]
	acts := []func(){
		func() {},
		func() { disk.delay(30 * time.Millisecond) },
		func() { disk.delay(hang) },
		func() { disk.onLog(func() error { return errors.New("input/output error") }) },
		func() { disk.onLog(nil) },
		func() { n.fabric.Cut(node, other) },
		func() { n.fabric.CutOneWay(node, other) },
		n.fabric.HealAll,
		n.heal,
		func() { n.transfer(node, other) },
		func() { n.snapshot(node) },
		func() { disk.onLog(nil); n.stop(node); n.start(node) },
		func() { n.crash(node); n.rest(time.Second); n.start(node) },
		n.forget,
	}
	acts[n.random.IntN(len(acts))]()
	n.propose(n.any())
}

// any returns a node, more often than not one that leads.
func (n *nemesis) any() string {
	node, leads := n.nodes[n.random.IntN(len(n.nodes))], n.random.IntN(3) > 0
	for _, id := range n.nodes {
		if leads && n.replicas[id].raft.State() == raft.Leader {
			return id
		}
	}
	return node
}

// rest lets at most so much time pass.
func (n *nemesis) rest(most time.Duration) { time.Sleep(time.Duration(n.random.Int64N(int64(most)))) }

// propose gives a node some entries, one after the other.
func (n *nemesis) propose(node string) {
	for range 1 + n.random.IntN(4) {
		n.proposed++
		n.replicas[node].raft.Apply([]byte(strconv.Itoa(n.proposed)), time.Millisecond)
		n.rest(20 * time.Millisecond)
	}
}

func (n *nemesis) transfer(from, to string) {
	r := n.replicas[from]
	r.calls.start(func() { // of either outcome
		_ = r.handOver(n.t.Context(), raft.ServerID(placement.Replica{Node: to, Generation: 1}.ServerID(metaGroup)))
	})
}

// snapshot has a node take a snapshot, with which it starts the next time.
func (n *nemesis) snapshot(node string) {
	r := n.replicas[node]
	r.calls.start(func() { _ = r.raft.Snapshot().Error() }) // of either outcome
}

// heal mends all disks and links.
func (n *nemesis) heal() {
	n.fabric.HealAll()
	for _, disk := range n.disks {
		disk.onLog(nil)
	}
}

// crash ends a replica: nothing more reaches its log, or anybody. It can be started again, and
// is cut off until its links are healed.
func (n *nemesis) crash(node string) {
	n.fabric.Isolate(node)
	n.disks[node].onLog(func() error { return errors.New("the node has crashed") })
	n.replicas[node].logs.close() // nobody waits for that disk
	n.stop(node)
	n.disks[node].onLog(nil)
}

// forget has a leader crash whose newest entries are on others' disks, as many as make a majority with its
// own, but not on that. It goes on with those who never had them.
func (n *nemesis) forget() {
	n.heal()
	leader, followers := n.leader()
	node := nodeOf(leader.id)
	n.random.Shuffle(len(followers), func(i, j int) { followers[i], followers[j] = followers[j], followers[i] })
	without, with := followers[:len(followers)/2], followers[len(followers)/2:]
	for _, r := range without {
		n.fabric.Cut(node, nodeOf(r.id))
	}
	n.disks[node].delay(hang)
	n.propose(node)
	if leader.logs.shown() != nil && with[0].raft.LastIndex() == leader.raft.LastIndex() {
		n.forgotten++
	}
	for _, r := range with {
		n.fabric.Isolate(nodeOf(r.id))
	}
	n.crash(node)
	for _, r := range without {
		n.fabric.Heal(node, nodeOf(r.id))
	}
	n.start(node)
	n.rest(3 * time.Second)
}

// end has a last entry done and applied by all, and returns its index.
func (n *nemesis) end() uint64 {
	n.t.Helper()
	ctx, cancel := context.WithTimeout(n.t.Context(), time.Minute)
	defer cancel()
	index := n.last(ctx)
	for _, node := range n.nodes {
		if err := n.replicas[node].machine.Wait(ctx, index); err != nil {
			n.t.Fatalf("all is well, and %s has applied %d of %d: %v", node, n.replicas[node].machine.Applied(), index, err)
		}
	}
	return index
}

// last proposes an entry until it is done, and returns its index.
func (n *nemesis) last(ctx context.Context) uint64 {
	n.t.Helper()
	for ctx.Err() == nil {
		leader, _ := n.leader()
		last, err := await(ctx, &leader.calls, func() raft.ApplyFuture {
			future := leader.raft.Apply([]byte("the end"), 0)
			_ = future.Error() // waits, and says it again
			return future
		})
		if err == nil && last.Error() == nil {
			return last.Index()
		}
	}
	n.t.Fatal("all is well, and no entry is done")
	return 0
}
