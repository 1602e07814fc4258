package raftfsm

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/raft"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/ringraft/ringraft/lru"
	"github.com/ringraft/ringraft/op"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// failer is what helpers need of testing.TB and of rapid.T.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

func entryOf(time int64, touches [][]byte, ops ...op.Write) []byte {
	var eb op.EntryBuilder
	for _, o := range ops {
		eb.Add(op.Append(nil, o))
	}
	return eb.Build(time, touches)
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
		for ref := range s.cache.Slot(uint16(slot)) {
			fmt.Fprintf(&b, "  %q %q v%d d%d p%v s%d old %v\n", ref.Key, ref.Value, ref.Version, ref.Deadline,
				ref.Protected, ref.Stamp, s.cache.Old(ref.Slot, []byte(ref.Key)))
		}
	}
	return b.String()
}

// recount computes the digest from the records.
func recount(t failer, f *FSM) uint64 {
	t.Helper()
	var count tally
	for slot := range op.Slots {
		if block := appendBlock(nil, f.state, uint16(slot)); len(block) > 0 {
			if err := count.block(block); err != nil {
				t.Fatalf("recount slot %d: %v", slot, err)
			}
		}
	}
	return count.sum + groupTerm(f.state.settings, f.state.time, f.state.cache.Stamp())
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

// The keys of random operations: few, so that they meet, and some in one slot.
var someKeys = []string{"a", "b", "c", "d", "e", "f", "{s}a", "{s}b", "{s}c", "{s}d", "{u}a", "{u}b", "long" + strings.Repeat("g", 60)}

func anyKey() *rapid.Generator[[]byte] {
	return rapid.Map(rapid.SampledFrom(someKeys), func(k string) []byte { return []byte(k) })
}

func anyValue() *rapid.Generator[[]byte] {
	return rapid.OneOf(
		rapid.Map(rapid.IntRange(0, 300), func(n int) []byte { return bytes.Repeat([]byte{'v'}, n) }),
		rapid.SliceOfN(rapid.Byte(), 0, 8),
		rapid.Just([]byte("17")),
	)
}

func anyTTL() *rapid.Generator[int64] {
	return rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(1, 60))
}

// anyWrite returns operations as leaders propose them, on records of a few hundred
// bytes and under limits of a few thousand.
func anyWrite() *rapid.Generator[op.Write] {
	return rapid.Custom(func(t *rapid.T) op.Write {
		key := anyKey().Draw(t, "key")
		switch rapid.IntRange(0, 15).Draw(t, "op") {
		case 0, 1, 2, 3, 4:
			return op.Set{Key: key, Value: anyValue().Draw(t, "value"), TTL: anyTTL().Draw(t, "ttl")}
		case 5:
			return op.Set{Key: key, Value: anyValue().Draw(t, "value"), KeepTTL: true}
		case 6:
			return op.Set{Key: key, Value: anyValue().Draw(t, "value"), Protect: true, TTL: anyTTL().Draw(t, "ttl")}
		case 7, 8:
			return op.Delete{Key: key}
		case 9:
			return op.Expire{Key: key, TTL: anyTTL().Draw(t, "ttl")}
		case 10, 11:
			return op.Add{Key: key, Delta: rapid.Int64().Draw(t, "delta")}
		case 12:
			o := op.MSet{TTL: anyTTL().Draw(t, "ttl")}
			for range rapid.IntRange(1, 4).Draw(t, "pairs") {
				o.Pairs = append(o.Pairs, op.Pair{Key: anyKey().Draw(t, "key"), Value: anyValue().Draw(t, "value")})
			}
			return o
		case 13:
			return op.MDelete{Keys: rapid.SliceOfN(anyKey(), 1, 3).Draw(t, "keys")}
		case 14:
			return op.Sweep{Limit: rapid.IntRange(1, 4).Draw(t, "limit")}
		default:
			return op.Configure{Settings: op.GroupSettings{MaxBytes: rapid.Int64Range(200, 3000).Draw(t, "limit")}}
		}
	})
}

// entry is an entry before it is encoded.
type entry struct {
	time    int64
	touches [][]byte
	writes  []op.Write
}

func (e entry) encode() []byte { return entryOf(e.time, e.touches, e.writes...) }

// anyEntry returns entries whose time is around now, and sometimes goes back.
func anyEntry(now int64) *rapid.Generator[entry] {
	return rapid.Custom(func(t *rapid.T) entry {
		return entry{
			time:    now + rapid.Int64Range(-5, 15).Draw(t, "time"),
			touches: rapid.SliceOfN(anyKey(), 0, 3).Draw(t, "touches"),
			writes:  rapid.SliceOfN(anyWrite(), 0, 5).Draw(t, "writes"),
		}
	})
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
