package raftfsm

import (
	"testing"

	"github.com/ringraft/ringraft/op"
)

// FuzzApply applies any bytes as an entry on two replicas: they apply it and agree,
// or they halt and stay as they were.
func FuzzApply(f *testing.F) {
	f.Add(entryOf(7, nil))
	f.Add(entryOf(-7, [][]byte{[]byte("{s}a"), nil}, set("", ""), op.Delete{}, op.Expire{Key: []byte("p"), TTL: -1}))
	f.Add(entryOf(1<<62, nil, op.Set{Key: []byte("a"), TTL: 1 << 62}, op.Sweep{Limit: -1}, op.Add{Key: []byte("n"), Delta: 2}))
	f.Add(entryOf(7, nil, op.Configure{Settings: op.GroupSettings{MaxBytes: -1}}, set("a", "1")))
	f.Add(entryOf(2000, nil, op.MSet{Pairs: []op.Pair{{Key: []byte("a"), Value: []byte("1")}}}, op.MDelete{Keys: [][]byte{[]byte("a")}}, op.Sweep{Limit: 9}))
	f.Add([]byte{0x94, 2, 7, 0x90, 0x91, 0x94, 0, 0, 0, 0x91, 127})
	f.Add(entryOfCommands(2000, nil,
		op.Command{Session: 1, Sequence: 4, Op: set("a", "1")}, // answered before
		op.Command{Session: 1, Sequence: 9, Acknowledged: 5, Op: op.Txn{Then: []op.Op{set("a", "1"), op.Add{Key: []byte("b"), Delta: 1}}}},
		op.Command{Session: 2, Sequence: 1 << 63, Acknowledged: 1<<64 - 1, Op: op.MDelete{Keys: [][]byte{[]byte("a")}}},
		op.Command{Session: 3, Sequence: 1, Op: set("a", "1")}, op.Command{Session: 5, Op: set("a", "1")}, op.Command{Op: op.OpenSession{TTL: 1 << 62}}))
	f.Add(entryOfCommands(1<<63-1, nil, op.Command{Op: op.OpenSession{TTL: op.MinSessionTTL}}, op.Command{Session: 5, Sequence: 1, Op: op.Sweep{Limit: 9}}))
	f.Add(entryOfCommands(9, nil, op.Command{Op: op.OpenSession{TTL: op.MinSessionTTL}}, op.Command{Session: 1, Sequence: 1, Op: op.CloseSession{Session: 1}}, op.Command{Op: op.CloseSession{Session: 1}}))
	a := op.Attempt{ID: []byte("0123456789abcdef"), Number: 7, Home: 3, Deadline: 3000}
	f.Add(entryOf(2000, nil,
		op.Prepare{Attempt: a, Compares: []op.Compare{{Key: []byte("a"), Cond: op.Cond{Kind: op.CondPresent}}}, Ops: []op.Op{set("b", "1"), op.Delete{Key: []byte("c")}}},
		set("b", "2"), op.Finish{Attempt: a, Commit: true}, op.Decide{Attempt: a, Commit: true, Ops: []op.Op{set("b", "3")}, Participants: []uint16{4}},
		op.Decide{Attempt: a}, op.Forget{Attempt: a}, op.Decide{}, op.Prepare{Attempt: a}, op.Finish{}, op.Forget{}))
	start := smallSnapshot(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		a, b := restored(t, start), restored(t, start)
		before := dump(a)
		_, halted := a.Apply(command(a.Applied()+1, data)).(error)
		if _, other := b.Apply(command(b.Applied()+1, data)).(error); other != halted {
			t.Fatalf("one replica halted: %v, the other: %v", halted, other)
		}
		if a.Mark() != b.Mark() || dump(a) != dump(b) {
			t.Fatalf("one replica:\n%sthe other:\n%s", dump(a), dump(b))
		}
		if halted && dump(a) != before {
			t.Fatalf("halted at\n%swant\n%s", dump(a), before)
		}
		if got, want := a.Mark().Digest, recount(t, a); got != want {
			t.Fatalf("digest %016x, from the records %016x", got, want)
		}
		if !halted {
			if got, want := dump(restored(t, persist(t, takeSnapshot(t, a)))), dump(a); got != want {
				t.Fatalf("restored:\n%swant:\n%s", got, want)
			}
		}
	})
}

// FuzzRestore restores any bytes: they are refused and change nothing, or they are a
// state that its own snapshot gives again.
func FuzzRestore(f *testing.F) {
	snapshot := smallSnapshot(f)
	f.Add(snapshot)
	f.Add(snapshot[:len(snapshot)-1])
	f.Add([]byte(magic))
	f.Add(persist(f, takeSnapshot(f, New(Config{}))))
	f.Fuzz(checkRestore)
}

// FuzzRestoreBlock gets past the checksums that stop FuzzRestore.
func FuzzRestoreBlock(f *testing.F) {
	source := restored(f, smallSnapshot(f))
	for slot := range source.state.cache.Slots() {
		f.Add(uint64(9), uint64(0), uint64(0), int64(0), blockOf(source.state, slot), []byte(nil))
	}
	for _, x := range source.state.sessions.copies() {
		f.Add(uint64(9), uint64(0), uint64(0), int64(0), blockOf(source.state, op.SlotOf([]byte("{s}"))), appendSession(nil, &x))
	}
	f.Add(uint64(9), uint64(1<<63), uint64(3), int64(1<<62), make([]byte, 100), make([]byte, 100))
	f.Fuzz(func(t *testing.T, stamp, slots, records uint64, bytes int64, block, session []byte) {
		h := header{MaxBytes: 5000, Time: 1 << 20, Stamp: stamp, Opened: stamp, Slots: slots, Records: records, Bytes: bytes}
		var sessions [][]byte
		if len(session) > 0 {
			sessions = [][]byte{session}
		}
		checkRestore(t, sealSessions(t, h, 0, [][]byte{block}, sessions))
	})
}

func checkRestore(t *testing.T, snapshot []byte) {
	f := limited(5000)
	do(t, f, 1, set("mine", "v"))
	before := dump(f)
	if err := restore(f, snapshot); err != nil {
		if got := dump(f); got != before {
			t.Fatalf("refused (%v), but the state is\n%swant\n%s", err, got, before)
		}
		return
	}
	if got, want := f.Mark().Digest, recount(t, f); got != want {
		t.Fatalf("digest %016x, from the records %016x", got, want)
	}
	if got, want := dump(restored(t, persist(t, takeSnapshot(t, f)))), dump(f); got != want {
		t.Fatalf("restored again:\n%swant:\n%s", got, want)
	}
}
