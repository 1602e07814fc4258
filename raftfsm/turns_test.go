package raftfsm

import (
	"context"
	"strconv"
	"testing"

	"github.com/ringraft/ringraft/op"
)

const (
	turnsIndex = 2    // of the entry that lets readers in
	turnsLen   = 4096 // its commands, each of which adds one to the counter n
)

// counting returns a state machine before the entry.
func counting(t *testing.T) *FSM {
	f := New(Config{})
	do(t, f, 1, set("n", "0"))
	return f
}

func countUp(f *FSM) []op.Result {
	ops := make([]op.Write, turnsLen)
	for i := range ops {
		ops[i] = incr("n")
	}
	return f.Apply(command(turnsIndex, entryOf(2, nil, ops...))).([]op.Result)
}

// seen is what a reader has seen of the counter.
type seen struct {
	count int64
	index uint64 // that the answer told
}

// look reads the counter in both ways.
func look(t *testing.T, f *FSM) seen {
	t.Helper()
	if !f.mu.TryRLock() {
		t.Fatal("the lock is held where readers are let in")
	}
	f.mu.RUnlock()
	var l Lookups
	var looked seen
	l.Add(f, op.SlotOf([]byte("n")), []byte("n"), nil)
	l.Read(1, func(_ int, res *op.Result) bool {
		looked = seen{numberIn(t, res), res.Index}
		return true
	})
	res := get(f, "n", 1)
	if read := (seen{numberIn(t, &res), res.Index}); read != looked {
		t.Fatalf("a read sees %+v, a lookup %+v", read, looked)
	}
	return looked
}

// TestReadersAreLetIntoAnEntry reads between the turns of a long entry: what is read is of
// the entry's index, the rest is not there before the entry is whole.
func TestReadersAreLetIntoAnEntry(t *testing.T) {
	t.Parallel()
	f, whole := counting(t), counting(t)
	before, snap := f.Mark(), takeSnapshot(t, f)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	turns := 0
	var snapshot []byte
	f.letIn = func() {
		turns++
		if got, want := look(t, f), (seen{int64(turns * turnLen), turnsIndex}); got != want {
			t.Fatalf("turn %d: %+v, want %+v", turns, got, want)
		}
		if f.Applied() != turnsIndex-1 || f.Shown() != turnsIndex || f.Mark() != before {
			t.Fatalf("turn %d: applied %d, shown %d, mark %+v, want %d, %d, %+v", turns, f.Applied(), f.Shown(), f.Mark(), turnsIndex-1, turnsIndex, before)
		}
		if err := f.Wait(ended, turnsIndex); err == nil {
			t.Fatalf("turn %d: who waits for the entry goes on", turns)
		}
		if _, known := f.DigestAt(turnsIndex); known {
			t.Fatalf("turn %d: a digest of half an entry", turns)
		}
		if turns == 7 {
			snapshot = persist(t, snap)
		}
	}
	if got, want := countUp(f), countUp(whole); !sameResults(got, want) || f.Mark() != whole.Mark() || dump(f) != dump(whole) {
		t.Errorf("mark %+v, want that of an entry without readers, %+v, and its results", f.Mark(), whole.Mark())
	}
	if want := turnsLen/turnLen - 1; turns != want {
		t.Errorf("readers were let in %d times, want %d", turns, want)
	}
	if got := restored(t, snapshot).Mark(); got != before {
		t.Errorf("a snapshot written meanwhile has mark %+v, want %+v", got, before)
	}
}

// TestReadersAreLetIntoTouches: an entry of touches alone may be long too.
func TestReadersAreLetIntoTouches(t *testing.T) {
	t.Parallel()
	f, turns := counting(t), 0
	f.letIn = func() { turns++ }
	applyEntry(t, f, entryOf(2, make([][]byte, op.MaxKeys)))
	if want := (op.MaxKeys - 1) / turnLen; turns != want {
		t.Errorf("readers were let in %d times, want %d", turns, want)
	}
}

// TestSessionNeverGoesBack reads from two replicas in turn, at every pair of turns in which
// they may be. A session asks no replica that has not applied the index that it was told.
func TestSessionNeverGoesBack(t *testing.T) {
	t.Parallel()
	var seenThere []seen // at one replica, before, during and after the entry
	there := counting(t)
	visit := func() { seenThere = append(seenThere, look(t, there)) }
	visit()
	there.letIn = visit
	countUp(there)
	visit()

	here, answered := counting(t), 0
	check := func() {
		got := look(t, here)
		for _, before := range seenThere {
			if here.Applied() < before.index {
				continue
			}
			answered++
			if got.count < before.count || got.index < before.index {
				t.Fatalf("%+v after %+v was seen", got, before)
			}
		}
	}
	check()
	here.letIn = check
	countUp(here)
	check()
	// What was seen before the entry is shown always, the rest when the entry is whole.
	if visits := turnsLen/turnLen + 1; len(seenThere) != visits || answered != 2*visits-1 {
		t.Errorf("%d visits, %d answers, want %d, %d", len(seenThere), answered, visits, 2*visits-1)
	}
}

func numberIn(t *testing.T, res *op.Result) int64 {
	t.Helper()
	n, err := strconv.ParseInt(string(res.Value), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
