package bench

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/ringraft/ringraft/op"
)

const (
	maxShards     = 8
	maxLatency    = int64(time.Minute / time.Microsecond) // µs; a longer one counts as this
	latencyDigits = 3
)

// meter measures requests from its birth on. Callers are spread over shards, which cut
// collects, point by point.
type meter struct {
	start   time.Time
	silence stillness   // of the whole store
	groups  []stillness // of its parts, if there are several
	failure atomic.Pointer[error]
	shards  []meterShard // one for each processor: more would only take more of its cache

	// What was cut; the watcher's.
	all    *hdrhistogram.Histogram // µs
	part   *hdrhistogram.Histogram // µs, since the last cut
	counts counts
	cutAt  time.Duration
	series []Point
}

// counts are requests by their end.
type counts struct{ ok, errors, unknown int64 }

func (c *counts) add(d counts) {
	c.ok += d.ok
	c.errors += d.errors
	c.unknown += d.unknown
}

type meterShard struct {
	mu        sync.Mutex
	latencies *hdrhistogram.Histogram // µs
	counts    counts
}

// stillness finds the longest time between two answers.
type stillness struct {
	last    atomic.Int64 // ns from the start
	longest atomic.Int64 // ns
}

// end notes an answer, or the end of the measurement, and with it the gap before.
func (s *stillness) end(now time.Duration) {
	gap := int64(now) - s.last.Swap(int64(now))
	for {
		longest := s.longest.Load()
		if gap <= longest || s.longest.CompareAndSwap(longest, gap) {
			return
		}
	}
}

func newMeter(groups int) *meter {
	m := &meter{start: time.Now(), all: newHistogram(), part: newHistogram()}
	m.shards = make([]meterShard, min(maxShards, runtime.GOMAXPROCS(0)))
	if groups > 1 {
		m.groups = make([]stillness, groups)
	}
	for i := range m.shards {
		m.shards[i].latencies = newHistogram()
	}
	return m
}

func newHistogram() *hdrhistogram.Histogram { return hdrhistogram.New(1, maxLatency, latencyDigits) }

func (m *meter) elapsed() time.Duration { return time.Since(m.start) }

// stillFor returns how long nothing has been answered.
func (m *meter) stillFor() time.Duration {
	return m.elapsed() - time.Duration(m.silence.last.Load())
}

// record counts requests of a caller that ended now.
func (m *meter) record(caller int, now time.Duration, batch []Request, group func([]byte) int) {
	s := &m.shards[caller%len(m.shards)]
	s.mu.Lock()
	answered := false
	for i := range batch {
		r := &batch[i]
		switch {
		case r.Err == nil:
			answered = true
			s.counts.ok++
			latency := (int64(now) - r.start) / int64(time.Microsecond)
			_ = s.latencies.RecordValue(min(max(latency, 0), maxLatency)) // in range
		case errors.Is(r.Err, op.ErrUnknownOutcome):
			s.counts.unknown++
		default:
			s.counts.errors++
		}
	}
	s.mu.Unlock()
	if answered {
		m.silence.end(now)
	}
	m.recordGroups(now, batch, group)
}

func (m *meter) recordGroups(now time.Duration, batch []Request, group func([]byte) int) {
	for i := range batch {
		switch r := &batch[i]; {
		case r.Err != nil && m.failure.Load() == nil:
			err := r.Err // the request is used again
			m.failure.CompareAndSwap(nil, &err)
		case r.Err != nil:
		case m.groups != nil:
			m.groups[group(r.Key)].end(now)
		}
	}
}

// cut ends a point of the series now: it collects what the shards have.
func (m *meter) cut(now time.Duration) {
	m.part.Reset()
	var c counts
	for i := range m.shards {
		s := &m.shards[i]
		s.mu.Lock()
		if s.counts.ok > 0 {
			m.part.Merge(s.latencies)
			s.latencies.Reset()
		}
		c.add(s.counts)
		s.counts = counts{}
		s.mu.Unlock()
	}
	m.all.Merge(m.part)
	m.counts.add(c)
	if took := now - m.cutAt; took > 0 {
		m.series = append(m.series, newPoint(now, took, c, m.part))
	}
	m.cutAt = now
}

// end ends the measurement: the time since the last answer is the last gap.
func (m *meter) end(now time.Duration) {
	m.cut(now)
	m.silence.end(now)
	for i := range m.groups {
		m.groups[i].end(now)
	}
}

// firstError returns why the first request that failed did.
func (m *meter) firstError() error {
	if err := m.failure.Load(); err != nil {
		return *err
	}
	return nil
}
