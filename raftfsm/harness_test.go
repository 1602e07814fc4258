package raftfsm

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/raft"
	"go.uber.org/goleak"

	"github.com/ringraft/ringraft/lru"
	"github.com/ringraft/ringraft/op"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// failer is what helpers need of testing.TB and of rapid.T.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// entryOf encodes an entry of operations without a session.
func entryOf(time int64, touches [][]byte, ops ...op.Write) []byte {
	return entryOfCommands(time, touches, plain(ops)...)
}

func entryOfCommands(time int64, touches [][]byte, commands ...op.Command) []byte {
	var eb op.EntryBuilder
	for _, c := range commands {
		eb.Add(op.AppendCommand(nil, c))
	}
	return eb.Build(time, touches)
}

func plain(ops []op.Write) []op.Command {
	commands := make([]op.Command, len(ops))
	for i, o := range ops {
		commands[i].Op = o
	}
	return commands
}

func command(index uint64, entry []byte) *raft.Log {
	return &raft.Log{Index: index, Type: raft.LogCommand, Data: entry}
}

// applyEntry applies an entry at the next index.
func applyEntry(t failer, f *FSM, entry []byte) []op.Result {
	t.Helper()
	answer := f.Apply(command(f.Applied()+1, entry))
	results, ok := answer.([]op.Result)
	if !ok {
		t.Fatalf("answer %v, want results", answer)
	}
	return results
}

// do applies an entry of these operations at the next index.
func do(t failer, f *FSM, time int64, ops ...op.Write) []op.Result {
	t.Helper()
	return applyEntry(t, f, entryOf(time, nil, ops...))
}

// run applies one command in an entry of its own.
func run(t failer, f *FSM, time int64, c op.Command) op.Result {
	t.Helper()
	return applyEntry(t, f, entryOfCommands(time, nil, c))[0]
}

// open opens a session that ends after op.MinSessionTTL.
func open(t failer, f *FSM, time int64) uint64 {
	t.Helper()
	res := do(t, f, time, op.OpenSession{TTL: op.MinSessionTTL})[0]
	if res.Err != nil {
		t.Fatalf("open a session: %v", res.Err)
	}
	return uint64(res.Number)
}

func set(key, value string) op.Set { return op.Set{Key: []byte(key), Value: []byte(value)} }

func get(f *FSM, key string, clock int64) op.Result {
	return f.Read(op.Get{Key: []byte(key)}, clock, nil)
}

func limited(maxBytes int64) *FSM {
	return New(Config{Group: "g", Settings: op.GroupSettings{MaxBytes: maxBytes}})
}

// dump is all of a state that replicas must agree on, and the old marks that follow
// from it.
func dump(f *FSM) string {
	var b strings.Builder
	s := f.state
	fmt.Fprintf(&b, "applied %d time %d limit %d stamp %d bytes %d protected %d digest %016x\n",
		f.Applied(), s.time, s.settings.MaxBytes, s.cache.Stamp(), s.cache.Bytes(), s.cache.ProtectedBytes(), s.digest())
	for slot, version := range s.versions {
		if version == 0 {
			continue
		}
		fmt.Fprintf(&b, "slot %d version %d\n", slot, version)
		for _, ref := range items(s.cache, uint16(slot)) {
			fmt.Fprintf(&b, "  %q %q v%d d%d p%v s%d old %v\n", ref.Key, ref.Value, ref.Version, ref.Deadline,
				ref.Protected, ref.Stamp, s.cache.Old(ref.Slot, ref.Key))
		}
	}
	fmt.Fprintf(&b, "sessions %d of %d, %d bytes\n", s.sessions.len(), s.sessions.opened, s.sessions.bytes)
	for _, x := range s.sessions.copies() {
		fmt.Fprintf(&b, "  %d ttl %d d%d floor %d %x\n", x.id, x.ttl, x.deadline, x.floor, x.answers.list())
	}
	fmt.Fprintf(&b, "transactions %d bytes, %d parts, %d decisions, locks %q\n", s.txns.bytes, s.txns.numParts, s.txns.numDecisions,
		slices.Sorted(maps.Keys(s.txns.locks)))
	for _, r := range sortedTxns(s) {
		fmt.Fprintf(&b, "  %x %x\n", r.key, r.encoded)
	}
	return b.String()
}

// items returns the records of a slot by ascending key.
func items(c *lru.Cache, slot uint16) []lru.Ref {
	var all []lru.Ref
	c.Walk(slot, 0, math.MaxInt64, func(r lru.Ref) { all = append(all, r) })
	slices.SortFunc(all, func(a, b lru.Ref) int { return bytes.Compare(a.Key, b.Key) })
	return all
}

// blockOf encodes a slot, as nothing if it was never written.
func blockOf(s *state, slot uint16) []byte {
	if s.versions[slot] == 0 {
		return nil
	}
	b := appendBlockHead(nil, slot, s.versions[slot])
	for _, r := range items(s.cache, slot) {
		b = appendRecord(b, r)
	}
	return b
}

func sortedTxns(s *state) []*txnRecord {
	list := s.txns.list()
	sortTxns(list)
	return list
}

// recount computes the digest from the records and sessions.
func recount(t failer, f *FSM) uint64 {
	t.Helper()
	var count tally
	for slot := range op.Slots {
		if block := blockOf(f.state, uint16(slot)); len(block) > 0 {
			if err := count.block(block); err != nil {
				t.Fatalf("recount slot %d: %v", slot, err)
			}
		}
	}
	for _, x := range f.state.sessions.copies() {
		if _, err := count.session(appendSession(nil, &x)); err != nil {
			t.Fatalf("recount: %v", err)
		}
	}
	for _, r := range sortedTxns(f.state) {
		if _, err := count.txn(r.block(nil)); err != nil {
			t.Fatalf("recount: %v", err)
		}
	}
	return count.digest(header{
		MaxBytes: f.state.settings.MaxBytes, Epoch: f.state.settings.Epoch, Time: f.state.time, Stamp: f.state.cache.Stamp(), Opened: f.state.sessions.opened,
	})
}

// sink keeps a snapshot in memory.
type sink struct {
	bytes.Buffer
	onWrite           func() // called before each write, if not nil
	fail              error  // of each write, if not nil
	closed, cancelled int
}

func (s *sink) Write(b []byte) (int, error) {
	if s.onWrite != nil {
		s.onWrite()
	}
	if s.fail != nil {
		return 0, s.fail
	}
	return s.Buffer.Write(b)
}

func (s *sink) ID() string    { return "test" }
func (s *sink) Close() error  { s.closed++; return nil }
func (s *sink) Cancel() error { s.cancelled++; return nil }

func takeSnapshot(t failer, f *FSM) raft.FSMSnapshot {
	t.Helper()
	snap, err := f.Snapshot()
	if err != nil {
		t.Fatalf("Snapshot: %v", err)
	}
	return snap
}

// persist writes and releases snap.
func persist(t failer, snap raft.FSMSnapshot) []byte {
	t.Helper()
	var s sink
	if err := snap.Persist(&s); err != nil {
		t.Fatalf("Persist: %v", err)
	}
	snap.Release()
	if s.closed != 1 || s.cancelled != 0 {
		t.Fatalf("sink closed %d and cancelled %d times, want 1 and 0", s.closed, s.cancelled)
	}
	return s.Bytes()
}

func restore(f *FSM, snapshot []byte) error {
	return f.Restore(io.NopCloser(bytes.NewReader(snapshot)))
}

// restored returns a new state machine with the snapshot.
func restored(t failer, snapshot []byte) *FSM {
	t.Helper()
	f := limited(1 << 40)
	if err := restore(f, snapshot); err != nil {
		t.Fatalf("Restore: %v", err)
	}
	return f
}

// fill stores n records of size bytes each, at keys k0, k1 …
func fill(t testing.TB, f *FSM, n, size int) {
	t.Helper()
	for batch := range slices.Chunk(make([]int, n), 100) {
		var ops []op.Write
		for range batch {
			i := int(f.Stats().Keys) + len(ops)
			ops = append(ops, op.Set{Key: fmt.Appendf(nil, "k%d", i), Value: bytes.Repeat([]byte{byte(i)}, size)})
		}
		do(t, f, 0, ops...)
	}
}

// cost is the logical bytes of a record.
func cost(key, value string) int64 { return lru.Cost(len(key), len(value)) }
