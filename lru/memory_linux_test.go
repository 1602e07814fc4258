package lru

import (
	"flag"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// manyItems is how many items the benchmark FiveMillion has.
var manyItems = flag.Int("items", 5_000_000, "`NUMBER` of items of BenchmarkFiveMillion")

// manyKey writes key i, of 16 bytes, into buf, and returns the slot of a group that has a
// quarter of all.
func manyKey(buf []byte, i int) (slot uint16, key []byte) {
	h := uint64(i) * 0x9e3779b97f4a7c15
	return uint16(h >> 54), fmt.Appendf(buf[:0], "key:%012d", i)
}

// BenchmarkFiveMillion fills a cache with items of 152 bytes of key and value, then makes
// as many updates, and tells what that takes. Run it with -benchtime 1x. Bytes are those
// of the heap's spans beyond keys and values; the time of a put is its thread's CPU time,
// so that it does not depend on what else the machine does. No collection runs meanwhile:
// the put that starts one helps to sweep, whatever it is that fills the heap.
func BenchmarkFiveMillion(b *testing.B) {
	for b.Loop() {
		before := heapInUse()
		c := New()
		reportPuts(b, c, "insert")
		b.ReportMetric(float64(heapInUse()-before)/float64(*manyItems)-152, "B-over/item")
		reportPuts(b, c, "update")
		f := c.Footprint()
		b.ReportMetric(float64(f.Held)/float64(f.Used), "held/used")
		b.ReportMetric(1e3*collection(), "ms-of-CPU/collection")
		runtime.KeepAlive(c)
	}
}

// reportPuts puts all items and reports the mean and the worst time of a put.
func reportPuts(b *testing.B, c *Cache, what string) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	value, buf := make([]byte, 136), make([]byte, 0, 16)
	var worst, sum, slow int64
	for i := range *manyItems {
		slot, key := manyKey(buf, i)
		start := cpuNanos(unix.CLOCK_THREAD_CPUTIME_ID)
		c.Put(slot, key, Item{Value: value, Version: uint64(i)})
		took := cpuNanos(unix.CLOCK_THREAD_CPUTIME_ID) - start
		sum += took
		worst = max(worst, took)
		if took > 1e6 {
			slow++
		}
	}
	b.ReportMetric(float64(sum)/float64(*manyItems), "ns/"+what)
	b.ReportMetric(float64(worst)/1e3, "µs-worst-"+what)
	b.ReportMetric(float64(slow), "over-1ms-"+what)
}

// heapInUse returns the bytes of all spans that hold live objects.
func heapInUse() int64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapInuse)
}

// collection returns the seconds of CPU of a full collection with its sweep, the median of
// seven.
func collection() float64 {
	var took [7]float64
	for i := range took {
		start := cpuNanos(unix.CLOCK_PROCESS_CPUTIME_ID)
		runtime.GC()
		took[i] = float64(cpuNanos(unix.CLOCK_PROCESS_CPUTIME_ID)-start) / 1e9
	}
	slices.Sort(took[:])
	return took[len(took)/2]
}
