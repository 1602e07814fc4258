package raftfsm

import (
	"bytes"
	"encoding/binary"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/ringraft/ringraft/op"
)

// A part of one of the default four groups with five million records, with as many in
// each slot: about 1,200.
const (
	denseKeys  = 300_000
	denseSlots = 250
)

// keysOfFewSlots returns keys of 16 bytes.
func keysOfFewSlots(n, slots int) [][]byte {
	keys := make([][]byte, 0, n)
	for i := uint64(0); len(keys) < n; i++ {
		key := binary.BigEndian.AppendUint64([]byte("key-0000"), i)
		if int(op.SlotOf(key)) < slots {
			keys = append(keys, key)
		}
	}
	return keys
}

// discard is a sink that keeps nothing.
type discard struct{ io.Writer }

func (discard) ID() string    { return "" }
func (discard) Cancel() error { return nil }
func (discard) Close() error  { return nil }

// BenchmarkApplyBesideSnapshot applies entries of 64 sets of existing keys, each in
// another slot, while snapshots are written one after the other, and tells how long the
// entries took.
func BenchmarkApplyBesideSnapshot(b *testing.B) {
	f := New(Config{Settings: op.GroupSettings{MaxBytes: 1 << 40}})
	keys, value := keysOfFewSlots(denseKeys, denseSlots), bytes.Repeat([]byte{'v'}, 136)
	for batch := range slices.Chunk(keys, 100) {
		do(b, f, 1, setsOf(batch, value)...)
	}
	var entries [][]byte
	for i := range 512 {
		var some [][]byte
		for j := range 64 {
			some = append(some, keys[(64*i+j)*7919%len(keys)])
		}
		entries = append(entries, entryOf(2, nil, setsOf(some, value)...))
	}
	b.ReportAllocs()
	var took []time.Duration
	for b.Loop() {
		snap, written := takeSnapshot(b, f), make(chan error, 1)
		go func() { written <- snap.Persist(discard{io.Discard}) }()
		for done := false; !done; {
			start := time.Now()
			applyEntry(b, f, entries[len(took)%len(entries)])
			took = append(took, time.Since(start))
			select {
			case err := <-written:
				if err != nil {
					b.Fatal(err)
				}
				done = true
			default:
			}
		}
		snap.Release()
	}
	slices.Sort(took)
	for name, at := range map[string]int{"p50-µs": len(took) / 2, "p99-µs": len(took) * 99 / 100, "max-µs": len(took) - 1} {
		b.ReportMetric(float64(took[at].Microseconds()), name)
	}
}

func setsOf(keys [][]byte, value []byte) []op.Write {
	var ops []op.Write
	for _, key := range keys {
		ops = append(ops, op.Set{Key: key, Value: value})
	}
	return ops
}
