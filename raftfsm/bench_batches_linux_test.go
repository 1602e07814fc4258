package raftfsm

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ringraft/ringraft/op"
)

// BenchmarkApplyBatches applies what a busy group's entries are to three replicas in turn,
// as they lie on one machine: 190 sets of existing keys in any order, by sessions with so
// many writes under way each, at a time of its own.
func BenchmarkApplyBatches(b *testing.B) {
	const sets, start = 190, 1 << 40
	for _, bc := range []struct{ sessions, underWay uint64 }{{8, 32}, {1, 256}} {
		b.Run(fmt.Sprintf("sessions=%d/under-way=%d", bc.sessions, bc.underWay), func(b *testing.B) {
			var fs [3]*FSM
			for i := range fs {
				fs[i] = benchFSM(b, 1)
				do(b, fs[i], start, op.Configure{Settings: op.GroupSettings{MaxBytes: 1 << 30}})
				for range bc.sessions {
					open(b, fs[i], start)
				}
			}
			random := rand.New(rand.NewPCG(1, 2))
			entries := make([][]byte, 512)
			for n := range entries {
				var eb op.EntryBuilder
				for range sets {
					eb.Add(op.Append(make([]byte, wideHead, 256), op.Set{Key: benchKey(random.IntN(benchKeys)), Value: make([]byte, benchValue)}))
				}
				entries[n] = eb.Build(start, nil)
			}
			b.ReportAllocs()
			next, n := uint64(0), 0
			began := cpuNanos(b)
			for b.Loop() {
				entry := entries[n%len(entries)]
				number(entry, sets, &next, bc.sessions, bc.underWay)
				n++
				binary.BigEndian.PutUint64(entry[3:], uint64(start+n)) // its time
				for _, f := range fs {
					if res := applyEntry(b, f, entry)[sets-1]; res.Err != nil {
						b.Fatal(res.Err)
					}
				}
			}
			b.ReportMetric(float64(cpuNanos(b)-began)/float64(len(fs)*sets*n), "cpu-ns/set")
		})
	}
}

// cpuNanos returns the CPU time of the process so far, which a busy machine disturbs less
// than wall time.
func cpuNanos(b *testing.B) int64 {
	var at unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &at); err != nil {
		b.Fatal(err)
	}
	return at.Nano()
}
