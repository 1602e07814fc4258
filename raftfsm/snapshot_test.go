package raftfsm

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hashicorp/raft"
	"pgregory.net/rapid"

	"github.com/ringraft/ringraft/op"
)

// TestReplicasAgree applies one log on three replicas: one reads and gives hints, one
// is restored from a snapshot on the way, one writes snapshots while it applies.
func TestReplicasAgree(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		reading, installed, saving := limited(2000), limited(2000), limited(2000)
		var taken raft.FSMSnapshot // of saving
		var want []byte            // what it must write
		var now int64
		for range rapid.IntRange(1, 60).Draw(t, "entries") {
			e := anyEntry(now, reading.state.sessions.opened).Draw(t, "entry")
			data := e.encode()
			now = max(now, e.time)
			for _, f := range []*FSM{reading, installed, saving} {
				applyEntry(t, f, data)
			}
			switch rapid.IntRange(0, 9).Draw(t, "then") {
			case 0, 1, 2:
				clock := now + rapid.Int64Range(0, 9000).Draw(t, "clock")
				reading.Read(op.MGet{Keys: rapid.SliceOfN(anyKey(), 1, 9).Draw(t, "keys")}, clock, func([]byte) {})
			case 3:
				installed = restored(t, persist(t, takeSnapshot(t, reading)))
			case 4, 5:
				if taken == nil {
					want = persist(t, takeSnapshot(t, reading))
					taken = takeSnapshot(t, saving)
				} else {
					if got, want := dump(restored(t, persist(t, taken))), dump(restored(t, want)); got != want {
						t.Fatalf("snapshot written later:\n%swant:\n%s", got, want)
					}
					taken = nil
				}
			}
			mark := reading.Mark()
			if got := installed.Mark(); got != mark {
				t.Fatalf("installed replica at %+v, want %+v", got, mark)
			}
			if got := saving.Mark(); got != mark {
				t.Fatalf("saving replica at %+v, want %+v", got, mark)
			}
			if got := recount(t, reading); got != mark.Digest {
				t.Fatalf("digest %016x, from the records %016x", mark.Digest, got)
			}
		}
		if got, want := dump(installed), dump(reading); got != want {
			t.Fatalf("installed replica:\n%swant:\n%s", got, want)
		}
	})
}

// TestSnapshotIsOfItsMoment changes every slot while the snapshot is half written.
func TestSnapshotIsOfItsMoment(t *testing.T) {
	t.Parallel()
	f := New(Config{})
	fill(t, f, 400, 1000)
	do(t, f, 0, op.Set{Key: []byte("k7"), Value: []byte("soon"), TTL: 5}, op.Delete{Key: []byte("k8")})
	want := dump(f)

	changes := []func(i int) op.Write{
		func(i int) op.Write { return set(fmt.Sprintf("k%d", i), "new") },
		func(i int) op.Write { return op.Delete{Key: fmt.Appendf(nil, "k%d", i)} },
		func(i int) op.Write { return op.Expire{Key: fmt.Appendf(nil, "k%d", i), TTL: 50} },
		func(i int) op.Write { return set(fmt.Sprintf("new%d", i), "new") },
	}
	writes := 0
	s := sink{onWrite: func() {
		for i := writes % 3; i < 400; i += 3 {
			applyEntry(t, f, entryOf(5, [][]byte{fmt.Appendf(nil, "k%d", i)}, changes[(writes+i)%len(changes)](i)))
		}
		do(t, f, 5, op.Sweep{Limit: 1}, op.Configure{Settings: op.GroupSettings{MaxBytes: 300_000 - int64(writes)}})
		writes++
	}}
	snap := takeSnapshot(t, f)
	if err := snap.Persist(&s); err != nil {
		t.Fatalf("Persist: %v", err)
	}
	for slot, c := range snap.(*snapshot).saved {
		if c != nil {
			t.Errorf("slot %d: %d records are still in memory after they were written", slot, len(c.keys))
		}
	}
	snap.Release()
	if writes < 3 {
		t.Fatalf("the sink was written %d times: too few for changes in between", writes)
	}
	if got := dump(restored(t, s.Bytes())); got != want {
		t.Errorf("a snapshot written while the state changed:\n%swant\n%s", got, want)
	}
	if got, want := f.Mark().Digest, recount(t, f); got != want {
		t.Errorf("digest %016x afterwards, from the records %016x", got, want)
	}
}

// TestPiecesAreOfTheSnapshotsMoment takes a slot of many pieces, between which its records
// change, move, end and are evicted, and others come.
func TestPiecesAreOfTheSnapshotsMoment(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const present, absent = 200, 100 // keys at first
		anyKey := rapid.Custom(func(t *rapid.T) []byte {
			return fmt.Appendf(nil, "{s}%d", rapid.IntRange(0, present+absent-1).Draw(t, "key"))
		})
		f := New(Config{})
		for i := range present {
			ttl := int64(i % 3 * 1000)
			do(t, f, 0, op.Set{Key: fmt.Appendf(nil, "{s}%d", i), Value: bytes.Repeat([]byte{byte(i)}, 500+i), TTL: ttl, Protect: i%5 == 0})
		}
		slot := op.SlotOf([]byte("{s}"))
		want := blockOf(f.state, slot)
		snap := takeSnapshot(t, f).(*snapshot)

		now := int64(0)
		change := func() {
			now += rapid.Int64Range(0, 100).Draw(t, "ms")
			var ops []op.Write
			for range rapid.IntRange(0, 20).Draw(t, "operations") {
				key := anyKey.Draw(t, "key")
				ops = append(ops, rapid.SampledFrom([]op.Write{
					op.Set{Key: key, Value: bytes.Repeat([]byte("n"), rapid.SampledFrom([]int{0, 500, 600, 20_000}).Draw(t, "length"))},
					op.Delete{Key: key},
					op.Expire{Key: key, TTL: 50},
					op.Sweep{Limit: 3},
					op.Configure{Settings: op.GroupSettings{MaxBytes: rapid.Int64Range(60_000, 200_000).Draw(t, "limit"), Epoch: uint64(now)}},
				}).Draw(t, "operation"))
			}
			applyEntry(t, f, entryOf(now, rapid.SliceOfN(anyKey, 0, 9).Draw(t, "touches"), ops...))
		}
		change()
		got, pieces := appendBlockHead(nil, slot, snap.versions[slot]), 0
		for done := false; !done; pieces++ {
			var changed *changes
			if got, changed, done = snap.piece(got, slot); changed != nil {
				got = append(got, changed.records...)
			}
			change()
		}
		if pieces == 1 {
			t.Skip("nothing came between")
		}
		if got, want := records(t, got), records(t, want); !slices.Equal(got, want) {
			t.Fatalf("%d pieces:\n%s\nwant:\n%s", pieces, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		if snap.saved[slot] != nil {
			t.Fatalf("%d changes were kept that come later than the slot was taken", len(snap.saved[slot].keys))
		}
		if got, want := f.Mark().Digest, recount(t, f); got != want {
			t.Fatalf("digest %016x afterwards, from the records %016x", got, want)
		}
	})
}

// records returns what is in a block, by ascending key.
func records(t failer, encoded []byte) []string {
	t.Helper()
	b, err := openBlock(encoded)
	if err != nil {
		t.Fatalf("block: %v", err)
	}
	list := []string{fmt.Sprintf("slot %d version %d", b.slot, b.version)}
	for b.next() {
		list = append(list, fmt.Sprintf("%q v%d d%d p%v s%d %x", b.key, b.item.Version, b.item.Deadline, b.item.Protected, b.item.Stamp, b.item.Value))
	}
	if b.err != nil {
		t.Fatalf("block: %v", b.err)
	}
	slices.Sort(list[1:])
	return list
}

// TestReadersAndSnapshotsRunBesideApply is for the race detector.
func TestReadersAndSnapshotsRunBesideApply(t *testing.T) {
	t.Parallel()
	f := limited(100_000)
	fill(t, f, 300, 200)
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for i := range 300 {
				get(f, fmt.Sprintf("k%d", i), int64(i))
				f.Read(op.Get{Key: fmt.Appendf(nil, "k%d", i)}, int64(i), func([]byte) {})
				f.Read(op.Scan{Cursor: op.ScanCursor(0, nil), Last: op.Slots - 1, Limit: 20}, 0, nil)
				f.Stats()
				f.Mark()
				f.DigestAt(uint64(i))
				f.SweepDue(int64(i))
				f.Old([]byte("k1"))
				f.Time()
			}
		})
	}
	for round := range 5 {
		snap := takeSnapshot(t, f)
		wg.Go(func() {
			if err := snap.Persist(&sink{}); err != nil {
				t.Errorf("Persist: %v", err)
			}
		})
		for i := range 200 {
			do(t, f, int64(i), set(fmt.Sprintf("k%d", i), fmt.Sprint(round)), set(fmt.Sprintf("n%d-%d", round, i), "v"))
		}
		wg.Go(func() { f.Wait(t.Context(), f.Applied()) })
		if round == 4 {
			if err := restore(f, persist(t, takeSnapshot(t, New(Config{})))); err != nil {
				t.Errorf("Restore beside Persist: %v", err)
			}
		}
		wg.Wait()
		snap.Release()
	}
}

func TestReleaseWithoutPersist(t *testing.T) {
	t.Parallel()
	f := New(Config{})
	do(t, f, 0, set("a", "1"))
	snap := takeSnapshot(t, f)
	if _, err := f.Snapshot(); err == nil {
		t.Error("a second snapshot is taken while one is open")
	}
	do(t, f, 0, set("a", "2"))
	snap.Release()
	if f.state.saving != nil {
		t.Error("the state still saves slots for a snapshot that was released")
	}
	next := takeSnapshot(t, f)
	snap.Release()
	do(t, f, 0, set("a", "3"))
	if got := get(restored(t, persist(t, next)), "a", 0); string(got.Value) != "2" {
		t.Errorf("the next snapshot has %q, want 2", got.Value)
	}
}

func TestReleaseAfterARestoreLeavesTheNextSnapshot(t *testing.T) {
	t.Parallel()
	f := New(Config{})
	do(t, f, 0, set("a", "1"))
	first := takeSnapshot(t, f)
	if err := restore(f, persist(t, takeSnapshot(t, New(Config{})))); err != nil {
		t.Fatal(err)
	}
	second := takeSnapshot(t, f)
	do(t, f, 0, set("a", "2"))
	if got := get(restored(t, persist(t, first)), "a", 0); string(got.Value) != "1" {
		t.Errorf("the snapshot from before the restore has %q, want 1", got.Value)
	}
	if got := get(restored(t, persist(t, second)), "a", 0); got.Found {
		t.Errorf("the snapshot from after the restore has %q, want nothing", got.Value)
	}
}

func TestPersistCancelsTheSink(t *testing.T) {
	t.Parallel()
	full := errors.New("disk full")
	tests := []struct {
		behaviour string
		damage    func(f *FSM, s *sink)
		want      string
	}{
		{"when it cannot be written", func(f *FSM, s *sink) { s.fail = full }, "disk full"},
		{"when the digest differs from the records", func(f *FSM, s *sink) { f.state.sum++ }, "digest"},
		{"when a value was changed in place", func(f *FSM, s *sink) {
			it, _ := f.state.cache.Get(op.SlotOf([]byte("a")), []byte("a"))
			it.Value[0]++
		}, "digest"},
		{"when an answer was changed in place", func(f *FSM, s *sink) { f.state.sessions.byID[1].answers.memory[0].short[3]++ }, "digest"},
		{"when a session was lost", func(f *FSM, s *sink) { f.state.sessions.ends = nil }, "sessions"},
		{"when a counter went back", func(f *FSM, s *sink) { f.state.versions[op.SlotOf([]byte("a"))]-- }, "over the slot's counter"},
	}
	for _, test := range tests {
		t.Run(test.behaviour, func(t *testing.T) {
			t.Parallel()
			f := New(Config{})
			do(t, f, 0, set("a", "1"), set("a", "1"), set("b", "1"), op.OpenSession{TTL: op.MinSessionTTL})
			run(t, f, 0, in(1, set("c", "1")))
			var s sink
			test.damage(f, &s)
			err := takeSnapshot(t, f).Persist(&s)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("Persist: %v, want an error with %q", err, test.want)
			}
			if s.cancelled != 1 || s.closed != 0 {
				t.Errorf("sink cancelled %d and closed %d times, want 1 and 0", s.cancelled, s.closed)
			}
		})
	}
}
