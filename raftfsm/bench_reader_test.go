package raftfsm

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringraft/ringraft/op"
)

// BenchmarkApplyBesideReader applies entries of 4,096 sets of existing keys while keys are
// read, one after the other, and tells how many and how long that took.
func BenchmarkApplyBesideReader(b *testing.B) {
	f := benchFSM(b, 1)
	entries := make([][]byte, 16)
	for n := range entries {
		var ops []op.Write
		for i := range 4096 {
			ops = append(ops, op.Set{Key: benchKey((4096*n + i) * 7919), Value: make([]byte, benchValue)})
		}
		entries[n] = entryOf(2, nil, ops...)
	}
	var done atomic.Bool
	var wg sync.WaitGroup
	var took []time.Duration
	wg.Go(func() {
		memory := make([]byte, 0, benchValue)
		for !done.Load() {
			start := time.Now()
			f.ReadInto(memory, op.Get{Key: benchKey(len(took) * 7919)}, 1, nil)
			took = append(took, time.Since(start))
		}
	})
	n := 0
	for b.Loop() {
		applyEntry(b, f, entries[n%len(entries)])
		n++
	}
	done.Store(true)
	wg.Wait()
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(4096*n), "ns/set")
	b.ReportMetric(float64(len(took))/b.Elapsed().Seconds(), "reads/s")
	slices.Sort(took)
	for name, at := range map[string]int{"p50-µs": len(took) / 2, "p99.9-µs": len(took) * 999 / 1000, "max-µs": len(took) - 1} {
		b.ReportMetric(float64(took[at].Nanoseconds())/1000, name)
	}
}
