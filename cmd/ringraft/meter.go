package main

import (
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/ringraft/ringraft/op"
)

const (
	meterShards   = 64
	maxLatency    = int64(time.Minute / time.Microsecond) // µs; a longer one counts as this
	latencyDigits = 3
)

// benchResult is what bench prints.
type benchResult struct {
	OpsPerS float64 `json:"ops_per_s"`
	P50     float64 `json:"p50_ms"`
	P99     float64 `json:"p99_ms"`
	P999    float64 `json:"p999_ms"`
	MaxGap  float64 `json:"max_gap_ms"` // longest time without an answer
	OK      int64   `json:"ok"`
	Errors  int64   `json:"errors"`
	Unknown int64   `json:"unknown"` // outcomes

	firstError error
}

// meter measures requests from its birth until end is called or its limit is over.
// What comes later does not count. Callers are spread over shards.
type meter struct {
	start   time.Time
	limit   time.Duration
	lastAck atomic.Int64 // ns from start; the last answer's time
	maxGap  atomic.Int64 // ns between two answers
	ended   atomic.Int64 // ns from start; 0: not yet
	failure atomic.Pointer[error]
	shards  [meterShards]meterShard
}

type meterShard struct {
	mu              sync.Mutex
	latencies       *hdrhistogram.Histogram // µs
	errors, unknown int64
}

func newMeter(limit time.Duration) *meter {
	m := &meter{start: time.Now(), limit: limit}
	for i := range m.shards {
		m.shards[i].latencies = hdrhistogram.New(1, maxLatency, latencyDigits)
	}
	return m
}

func (m *meter) elapsed() time.Duration { return time.Since(m.start) }

// silence returns how long nothing has been answered.
func (m *meter) silence() time.Duration { return m.elapsed() - time.Duration(m.lastAck.Load()) }

// record counts a request of caller that began at start and has just ended.
func (m *meter) record(caller int, start time.Duration, err error) {
	now := m.elapsed()
	if now > m.limit || m.ended.Load() != 0 {
		return
	}
	if err == nil {
		m.acknowledge(now)
	} else {
		m.failure.CompareAndSwap(nil, &err)
	}
	s := &m.shards[caller%meterShards]
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err == nil:
		_ = s.latencies.RecordValue(min((now - start).Microseconds(), maxLatency)) // in range
	case errors.Is(err, op.ErrUnknownOutcome):
		s.unknown++
	default:
		s.errors++
	}
}

// acknowledge notes an answer and the gap before it.
func (m *meter) acknowledge(now time.Duration) {
	gap := int64(now) - m.lastAck.Swap(int64(now))
	for {
		longest := m.maxGap.Load()
		if gap <= longest || m.maxGap.CompareAndSwap(longest, gap) {
			return
		}
	}
}

// end ends the measurement: the time since the last answer is the last gap.
func (m *meter) end() {
	now := min(m.elapsed(), m.limit)
	m.ended.Store(int64(now))
	m.acknowledge(now)
}

// result sums up what was measured. Call it after end.
func (m *meter) result() benchResult {
	all := hdrhistogram.New(1, maxLatency, latencyDigits)
	var r benchResult
	for i := range m.shards {
		s := &m.shards[i]
		s.mu.Lock()
		all.Merge(s.latencies)
		r.Errors += s.errors
		r.Unknown += s.unknown
		s.mu.Unlock()
	}
	r.OK = all.TotalCount()
	r.OpsPerS = rounded(float64(r.OK) / time.Duration(m.ended.Load()).Seconds())
	r.P50 = rounded(float64(all.ValueAtQuantile(50)) / 1000)
	r.P99 = rounded(float64(all.ValueAtQuantile(99)) / 1000)
	r.P999 = rounded(float64(all.ValueAtQuantile(99.9)) / 1000)
	r.MaxGap = rounded(float64(m.maxGap.Load()) / float64(time.Millisecond))
	if err := m.failure.Load(); err != nil {
		r.firstError = *err
	}
	return r
}

// rounded keeps three digits after the point.
func rounded(x float64) float64 { return math.Round(x*1000) / 1000 }
