package bench

import (
	"math"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Result is what was measured. Latencies and gaps are in ms.
type Result struct {
	OpsPerS float64 `json:"ops_per_s"` // answered
	P50     float64 `json:"p50_ms"`
	P99     float64 `json:"p99_ms"`
	P999    float64 `json:"p999_ms"`
	Max     float64 `json:"max_ms"`
	// MaxGap is the longest time without an answer to any caller; MaxGroupGap that
	// without an answer from the group for which it is longest. They are the same where
	// groups are not told apart.
	MaxGap      float64 `json:"max_gap_ms"`
	MaxGroupGap float64 `json:"max_group_gap_ms"`

	OK      int64 `json:"ok"`
	Errors  int64 `json:"errors"`  // requests that were refused, or read nothing
	Unknown int64 `json:"unknown"` // writes that may have happened
	Unsent  int64 `json:"unsent"`  // of an open loop: given up before they were sent

	Seconds float64     `json:"seconds"` // that the measurement took
	Load    Description `json:"load"`
	Series  []Point     `json:"series"`

	// FirstError is why the first request that failed did.
	FirstError error `json:"-"`
}

// Description says what a load was.
type Description struct {
	Started   time.Time `json:"started"`
	Target    string    `json:"target"` // cluster, wire or resp
	Reads     float64   `json:"reads"`  // share, 0 to 1
	Level     string    `json:"read_level,omitempty"`
	Rate      float64   `json:"rate,omitempty"` // requests/s offered; 0: a closed loop
	Clients   int       `json:"clients"`
	Pipeline  int       `json:"pipeline"`
	Keys      int       `json:"keys"`
	Zipf      float64   `json:"zipf"`       // exponent; 0: all keys alike
	ValueSize string    `json:"value_size"` // as ParseSizes takes it
	TTL       float64   `json:"ttl_s,omitempty"`
	Wait      int       `json:"wait,omitempty"` // replicas that acknowledge a write, of a RESP server
}

// Point is a part of the measurement, up to At, in seconds from its start.
type Point struct {
	At      float64 `json:"at_s"`
	OpsPerS float64 `json:"ops_per_s"`
	P50     float64 `json:"p50_ms"`
	P99     float64 `json:"p99_ms"`
	Failed  int64   `json:"failed"` // requests without an answer
}

func newPoint(at, took time.Duration, c counts, latencies *hdrhistogram.Histogram) Point {
	return Point{
		At:      rounded(at.Seconds()),
		OpsPerS: rounded(float64(c.ok) / took.Seconds()),
		P50:     quantile(latencies, 50),
		P99:     quantile(latencies, 99),
		Failed:  c.errors + c.unknown,
	}
}

// result sums up a measurement that has ended.
func (m *meter) result() Result {
	r := Result{
		P50: quantile(m.all, 50), P99: quantile(m.all, 99), P999: quantile(m.all, 99.9), Max: quantile(m.all, 100),
		MaxGap:  milliseconds(m.silence.longest.Load()),
		OK:      m.counts.ok,
		Errors:  m.counts.errors,
		Unknown: m.counts.unknown,
		Seconds: rounded(m.cutAt.Seconds()),
		Series:  m.series, FirstError: m.firstError(),
	}
	if m.cutAt > 0 {
		r.OpsPerS = rounded(float64(r.OK) / m.cutAt.Seconds())
	}
	r.MaxGroupGap = r.MaxGap
	for i := range m.groups {
		r.MaxGroupGap = max(r.MaxGroupGap, milliseconds(m.groups[i].longest.Load()))
	}
	return r
}

func quantile(h *hdrhistogram.Histogram, percent float64) float64 {
	return rounded(float64(h.ValueAtQuantile(percent)) / 1000)
}

func milliseconds(ns int64) float64 { return rounded(float64(ns) / float64(time.Millisecond)) }

// rounded keeps three digits after the point.
func rounded(x float64) float64 { return math.Round(x*1000) / 1000 }
