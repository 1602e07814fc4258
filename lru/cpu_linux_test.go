package lru

import (
	"testing"

	"golang.org/x/sys/unix"
)

// reportCPU reports the CPU time of a benchmark's loop per iteration, which a busy machine
// disturbs less than wall time. Call it before the loop, and what it returns behind.
func reportCPU(b *testing.B) func() {
	start := cpuNanos(unix.CLOCK_PROCESS_CPUTIME_ID)
	return func() {
		b.ReportMetric(float64(cpuNanos(unix.CLOCK_PROCESS_CPUTIME_ID)-start)/float64(b.N), "cpu-ns/op")
	}
}

// cpuNanos returns the CPU time so far of the thread or process that the clock is of.
func cpuNanos(clock int32) int64 {
	var at unix.Timespec
	if err := unix.ClockGettime(clock, &at); err != nil {
		panic(err)
	}
	return at.Nano()
}
