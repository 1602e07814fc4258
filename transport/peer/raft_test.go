package peer

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc64"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/ringraft/ringraft/internal/bubble"
)

// summer is a state machine whose state is the sum of all commands and, so that
// snapshots are large, the last large one.
type summer struct {
	mu    sync.Mutex
	count uint64
	sum   uint64
	large []byte
	grew  chan struct{} // closed, and replaced, when the state changes
}

func newSummer() *summer { return &summer{grew: make(chan struct{})} }

func (s *summer) Apply(l *raft.Log) any {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count++
	s.sum = crc64.Update(s.sum, crc64.MakeTable(crc64.ECMA), l.Data)
	if len(l.Data) >= 1<<20 {
		s.large = bytes.Clone(l.Data)
	}
	s.changedLocked()
	return s.sum
}

func (s *summer) changedLocked() {
	close(s.grew)
	s.grew = make(chan struct{})
}

func (s *summer) applied() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count
}

func (s *summer) Snapshot() (raft.FSMSnapshot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := binary.LittleEndian.AppendUint64(nil, s.count)
	b = binary.LittleEndian.AppendUint64(b, s.sum)
	return frozen(append(b, s.large...)), nil
}

func (s *summer) Restore(r io.ReadCloser) error {
	b, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count, s.sum, s.large = binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:]), b[16:]
	s.changedLocked()
	return nil
}

// frozen is a snapshot's bytes.
type frozen []byte

func (f frozen) Persist(sink raft.SnapshotSink) error {
	_, err := sink.Write(f)
	return errors.Join(err, sink.Close())
}
func (f frozen) Release() {}

// wait returns the sum once count commands are applied.
func (s *summer) wait(t *testing.T, count uint64) uint64 {
	t.Helper()
	for {
		s.mu.Lock()
		got, sum, grew := s.count, s.sum, s.grew
		s.mu.Unlock()
		if got >= count {
			return sum
		}
		select {
		case <-grew:
		case <-t.Context().Done():
			t.Fatalf("%d commands applied, want %d", got, count)
		}
	}
}

// patience is how long replicas wait for a leader. In real time, a busy machine must
// not make it run out.
const patience = 10 * time.Second

// member is one replica with its Raft.
type member struct {
	id    raft.ServerID
	raft  *raft.Raft
	state *summer
}

// group starts a replica of a group on each of the nodes, and ends them with the test.
func group(t *testing.T, number int, nodes ...*Network) []*member {
	t.Helper()
	var servers []raft.Server
	for _, n := range nodes {
		id := raft.ServerID(fmt.Sprintf("%s/%d/1", n.identity().Node, number))
		servers = append(servers, raft.Server{ID: id, Address: raft.ServerAddress(id)})
	}
	var members []*member
	for i, n := range nodes {
		members = append(members, join(t, n, servers[i].ID, servers))
	}
	return members
}

// elect makes the first of a new group's members stand at once, rather than after
// its patience has run out.
func elect(t *testing.T, n *Network, members []*member) []*member {
	t.Helper()
	if err := n.Stand(members[0].id); err != nil {
		t.Fatal(err)
	}
	return members
}

// join starts a replica; without servers it waits to be added.
func join(t *testing.T, n *Network, id raft.ServerID, servers []raft.Server) *member {
	t.Helper()
	cfg := raft.DefaultConfig()
	cfg.LocalID = id
	cfg.LogOutput = io.Discard
	cfg.TrailingLogs = 1
	cfg.HeartbeatTimeout, cfg.ElectionTimeout, cfg.LeaderLeaseTimeout = patience, patience, patience
	log := raft.NewInmemStore()
	snapshots := raft.NewInmemSnapshotStore()
	tr := n.Transport(id)
	if servers != nil {
		if err := raft.BootstrapCluster(cfg, log, log, snapshots, tr, raft.Configuration{Servers: servers}); err != nil {
			t.Fatal(err)
		}
	}
	m := &member{id: id, state: newSummer()}
	r, err := raft.NewRaft(cfg, m.state, log, log, snapshots, tr)
	if err != nil {
		t.Fatal(err)
	}
	m.raft = r
	t.Cleanup(func() {
		if err := r.Shutdown().Error(); err != nil {
			t.Errorf("shutting %s down: %v", id, err)
		}
	})
	return m
}

// leader waits until one of the members leads and all of them say so.
func leader(t *testing.T, members ...*member) *member {
	t.Helper()
	changed := make(chan raft.Observation, 1)
	for _, m := range members {
		o := raft.NewObserver(changed, false, func(o *raft.Observation) bool {
			switch o.Data.(type) {
			case raft.LeaderObservation, raft.RaftState:
				return true
			}
			return false
		})
		m.raft.RegisterObserver(o)
		defer m.raft.DeregisterObserver(o)
	}
	for {
		if found := agreed(members); found != nil {
			return found
		}
		select {
		case <-changed:
		case <-time.After(100 * time.Millisecond): // an observation may come before the state that it tells of
		case <-t.Context().Done():
			t.Fatal("no leader")
		}
	}
}

func agreed(members []*member) *member {
	_, id := members[0].raft.LeaderWithID()
	var found *member
	for _, m := range members {
		if _, other := m.raft.LeaderWithID(); other != id {
			return nil
		}
		if m.id == id && m.raft.State() == raft.Leader {
			found = m
		}
	}
	return found
}

func (m *member) apply(t *testing.T, command []byte) {
	t.Helper()
	if err := m.raft.Apply(command, 30*time.Second).Error(); err != nil {
		t.Fatalf("%s: %v", m.id, err)
	}
}

func followers(members []*member, leader *member) (others []*member) {
	for _, m := range members {
		if m != leader {
			others = append(others, m)
		}
	}
	return others
}

func wantEqualStates(t *testing.T, count uint64, members ...*member) {
	t.Helper()
	want := members[0].state.wait(t, count)
	for _, m := range members {
		if got := m.state.wait(t, count); got != want {
			t.Errorf("%s has the sum %x, %s has %x", m.id, got, members[0].id, want)
		}
	}
}

func TestThreeNodesOverLoopback(t *testing.T) {
	t.Parallel()
	w := newTown()
	a, b, c := w.node(t, Config{Self: in("a")}), w.node(t, Config{Self: in("b")}), w.node(t, Config{Self: in("c")})
	one, two := elect(t, a, group(t, 1, a, b, c)), elect(t, a, group(t, 2, a, b, c))
	for i := range 50 {
		leader(t, one...).apply(t, fmt.Appendf(nil, "one %d", i))
		leader(t, two...).apply(t, fmt.Appendf(nil, "two %d", i))
	}
	wantEqualStates(t, 50, one...)
	wantEqualStates(t, 50, two...)
	for _, n := range []*Network{a, b, c} {
		if got := len(n.accepted); got > 2 {
			t.Errorf("node %s has accepted %d connections for two groups, want at most 2", n.identity().Node, got)
		}
	}

	for _, n := range []*Network{a, b, c} { // as if every cable were pulled for a moment
		n.dropAll()
	}
	leader(t, one...).apply(t, []byte("after the break"))
	wantEqualStates(t, 51, one...)
}

func TestEntriesOfAMebibyteOverLoopback(t *testing.T) {
	t.Parallel()
	w := newTown()
	a, b := w.node(t, Config{Self: in("a"), MaxAppendBytes: 2 << 20}), w.node(t, Config{Self: in("b"), MaxAppendBytes: 2 << 20})
	members := elect(t, a, group(t, 1, a, b))
	l := leader(t, members...)
	var futures []raft.ApplyFuture
	for i := range 12 { // more than fit into one message, and one that is too large for any other's company
		size := 1 << 20
		if i == 6 {
			size = 3 << 20
		}
		futures = append(futures, l.raft.Apply(bytes.Repeat([]byte{byte(i)}, size), 30*time.Second))
	}
	for _, f := range futures {
		if err := f.Error(); err != nil {
			t.Fatal(err)
		}
	}
	wantEqualStates(t, 12, members...)
}

func TestLateFollowerGetsASnapshotOverLoopback(t *testing.T) {
	t.Parallel()
	w := newTown()
	a, b, c := w.node(t, Config{Self: in("a")}), w.node(t, Config{Self: in("b")}), w.node(t, Config{Self: in("c")})
	members := elect(t, a, group(t, 1, a, b))
	l := leader(t, members...)
	l.apply(t, bytes.Repeat([]byte("large"), 1<<20))
	for range 10 {
		l.apply(t, []byte("small"))
	}
	if err := l.raft.Snapshot().Error(); err != nil {
		t.Fatal(err)
	}
	late := join(t, c, "c/1/1", nil)
	if err := l.raft.AddVoter("c/1/1", "c/1/1", 0, time.Minute).Error(); err != nil {
		t.Fatal(err)
	}
	wantEqualStates(t, 11, append(members, late)...)
	late.state.mu.Lock()
	defer late.state.mu.Unlock()
	if got := len(late.state.large); got != 5<<20 {
		t.Errorf("the late follower holds %d bytes, want %d", got, 5<<20)
	}
}

func TestLeadershipIsHandedOverOverLoopback(t *testing.T) {
	t.Parallel()
	w := newTown()
	a, b, c := w.node(t, Config{Self: in("a")}), w.node(t, Config{Self: in("b")}), w.node(t, Config{Self: in("c")})
	members := elect(t, a, group(t, 1, a, b, c))
	old := leader(t, members...)
	old.apply(t, []byte("x"))
	heir := followers(members, old)[0]
	heir.state.wait(t, 1)
	if err := old.raft.LeadershipTransferToServer(heir.id, raft.ServerAddress(heir.id)).Error(); err != nil {
		t.Fatal(err)
	}
	if now := leader(t, members...); now == old {
		t.Errorf("%s still leads", old.id)
	}
}

func TestPartitionElectsANewLeaderAndHealsInSimulation(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newFabricTown()
		members := group(t, 1, w.node(t, Config{Self: in("a")}), w.node(t, Config{Self: in("b")}), w.node(t, Config{Self: in("c")}))
		old := leader(t, members...)
		old.apply(t, []byte("before"))
		wantEqualStates(t, 1, members...)

		w.fabric.Isolate(nodeName(t, old))
		lost := old.raft.Apply([]byte("lost"), 0)
		now := leader(t, followers(members, old)...)
		now.apply(t, []byte("after"))
		if err := lost.Error(); err == nil {
			t.Error("a leader without a majority acknowledged a write")
		}
		if got := old.state.applied(); got != 1 {
			t.Errorf("the cut-off leader has applied %d commands, want 1", got)
		}

		w.fabric.HealAll()
		wantEqualStates(t, 2, members...)
		term := now.raft.CurrentTerm()
		time.Sleep(time.Minute)
		if l := leader(t, members...); l != now || now.raft.CurrentTerm() != term {
			t.Errorf("%s leads in term %d, want %s to lead on in term %d", l.id, l.raft.CurrentTerm(), now.id, term)
		}
	})
}

func TestOneWayCutDoesNotDethroneTheLeaderInSimulation(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newFabricTown()
		members := group(t, 1, w.node(t, Config{Self: in("a")}), w.node(t, Config{Self: in("b")}), w.node(t, Config{Self: in("c")}))
		l := leader(t, members...)
		deaf := followers(members, l)[0]
		term := l.raft.CurrentTerm()
		w.fabric.CutOneWay(nodeName(t, l), nodeName(t, deaf))
		time.Sleep(time.Minute) // the deaf one asks for pre-votes, which the others refuse
		l.apply(t, []byte("x"))
		if got := l.raft.CurrentTerm(); got != term || l.raft.State() != raft.Leader {
			t.Errorf("%s is %v in term %d, want leader in term %d", l.id, l.raft.State(), got, term)
		}
		w.fabric.HealAll()
		wantEqualStates(t, 1, members...)
	})
}

func TestResetsCostNoAcknowledgedWriteInSimulation(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newFabricTown()
		members := group(t, 1, w.node(t, Config{Self: in("a")}), w.node(t, Config{Self: in("b")}), w.node(t, Config{Self: in("c")}))
		l := leader(t, members...)
		for i := range uint64(30) {
			w.fabric.Reset("a", "b")
			w.fabric.Reset("b", "c")
			l.apply(t, binary.LittleEndian.AppendUint64(nil, i))
			time.Sleep(37 * time.Millisecond)
		}
		wantEqualStates(t, 30, members...)
		if now := leader(t, members...); now != l {
			t.Errorf("%s leads, want %s to lead on", now.id, l.id)
		}
	})
}

func nodeName(t *testing.T, m *member) string {
	t.Helper()
	node, err := nodeOf(m.id)
	if err != nil {
		t.Fatal(err)
	}
	return node
}
