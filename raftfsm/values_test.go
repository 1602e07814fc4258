package raftfsm

import (
	"bytes"
	"fmt"
	"sync"
	"testing"

	"github.com/ringraft/ringraft/lru"
	"github.com/ringraft/ringraft/op"
)

// answersOf makes answers of all kinds that hold the value of {s}a, whose slot has other
// records too. The last ones put other in its place.
func answersOf(t *testing.T, f *FSM, other []byte) map[string][]byte {
	t.Helper()
	key := []byte("{s}a")
	answers := map[string][]byte{}
	answers["get"] = f.Read(op.Get{Key: key}, 0, nil).Value
	res, _ := f.ReadWhole(op.Get{Key: key}, 0, nil)
	answers["whole get"] = res.Value
	res, _ = f.ReadInto(make([]byte, 1, 64), op.Get{Key: key}, 0, nil)
	answers["get into memory"] = res.Value
	answers["get of many"] = f.Read(op.MGet{Keys: [][]byte{[]byte("{s}b"), key}}, 0, nil).Items[1].Value
	scan := op.Scan{Cursor: op.ScanCursor(op.SlotOf(key), nil), Last: op.SlotOf(key), Prefix: key, Limit: 10, Values: true}
	answers["scan"] = f.Read(scan, 0, nil).Items[0].Value
	refused := op.Set{Key: key, Value: other, Cond: op.Cond{Kind: op.CondAbsent, Show: true}}
	results := do(t, f, 0, refused, op.Txn{Then: []op.Op{op.Get{Key: key}, op.Set{Key: key, Value: other}, op.Get{Key: key}}})
	answers["refused set"], answers["get in a transaction, before a set"] = results[0].Value, results[1].Results[0].Value
	if got := results[1].Results[2].Value; !bytes.Equal(got, other) {
		t.Fatalf("a get in a transaction, behind a set: %.20q", got)
	}
	return answers
}

// TestAnswersKeepTheirValues: values lie where the next change may write, so an answer
// that is still being sent must have its own.
func TestAnswersKeepTheirValues(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 1, 100, 2000, lru.Lasting, lru.Lasting + 1, 7 << 20} {
		t.Run(fmt.Sprintf("%d bytes", size), func(t *testing.T) {
			t.Parallel()
			f := New(Config{})
			want := bytes.Repeat([]byte{'w'}, size)
			do(t, f, 0, set("{s}b", "b"), op.Set{Key: []byte("{s}a"), Value: want})
			answers := answersOf(t, f, bytes.Repeat([]byte{'o'}, size))
			for round := range byte(3) { // in place, then removed, then elsewhere
				value := bytes.Repeat([]byte{'x' + round}, size)
				do(t, f, 0, op.Set{Key: []byte("{s}a"), Value: value}, op.Set{Key: []byte("{s}c"), Value: value}, op.Delete{Key: []byte("{s}a")})
			}
			for what, got := range answers {
				if !bytes.Equal(got, want) {
					t.Errorf("%s: the answer's value has changed to %.20q", what, got)
				}
			}
		})
	}
}

// TestReadersAndWritersShareNoValue is for the race detector.
func TestReadersAndWritersShareNoValue(t *testing.T) {
	t.Parallel()
	f := New(Config{})
	sizes := []int{10, 3000, lru.Lasting, lru.Lasting + 100}
	write := func(round int) {
		for i, size := range sizes {
			do(t, f, 0, op.Set{Key: fmt.Appendf(nil, "k%d", i), Value: bytes.Repeat([]byte{byte(round)}, size-round%2)})
		}
	}
	write(0)
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for round := range 500 {
				v := f.Read(op.Get{Key: fmt.Appendf(nil, "k%d", round%len(sizes))}, 0, nil).Value
				if len(v) == 0 || bytes.Count(v, v[:1]) != len(v) {
					t.Errorf("round %d: a value of two writes, %d bytes", round, len(v))
				}
			}
		})
	}
	for round := range 300 {
		write(round)
	}
	readers.Wait()
}

// Not parallel: allocations are counted for the whole process.
func TestReadIntoMemoryDoesNotAllocate(t *testing.T) {
	f := New(Config{})
	do(t, f, 0, set("k", "value"))
	var get op.Read = op.Get{Key: []byte("k")}
	memory := make([]byte, 0, 64)
	got := testing.AllocsPerRun(100, func() {
		res, b := f.ReadInto(memory, get, 0, nil)
		if string(res.Value) != "value" || len(b) != len("value") {
			t.Errorf("%q in %q", res.Value, b)
		}
	})
	if got > 0 {
		t.Errorf("%v allocations, want 0", got)
	}
}

func TestStatsTellOfMemory(t *testing.T) {
	t.Parallel()
	const records, size = 5000, 500
	f := New(Config{})
	fill(t, f, records, size)
	if s := f.Stats(); s.MemoryUsed < records*size || s.MemoryHeld < s.MemoryUsed || s.MemoryHeld > 2*s.MemoryUsed {
		t.Errorf("%d bytes used, %d held; want over the %d of the values, and at most twice as many held", s.MemoryUsed, s.MemoryHeld, records*size)
	}
}
