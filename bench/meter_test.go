package bench

import (
	"testing"
	"time"

	"github.com/ringraft/ringraft/internal/bubble"
	"github.com/ringraft/ringraft/op"
)

func nowhere([]byte) int { return 0 }

// Latencies from 1 to 100 ms, a hundred callers' one each, over shards and cuts.
func TestMeterKeepsEveryLatency(t *testing.T) {
	t.Parallel()
	m := newMeter(1)
	now := time.Duration(0)
	for i := 1; i <= 100; i++ {
		now += time.Second
		m.record(i, now, []Request{{start: int64(now) - int64(i)*int64(time.Millisecond)}}, nowhere)
		if i%10 == 0 {
			m.cut(now)
		}
	}
	m.end(now)
	r := m.result()
	for name, c := range map[string]struct{ got, want float64 }{
		"p50": {r.P50, 50}, "p99": {r.P99, 99}, "p99.9": {r.P999, 100}, "max": {r.Max, 100}, "gap": {r.MaxGap, 1000},
	} {
		if c.got < c.want*0.999 || c.got > c.want*1.001 {
			t.Errorf("%s = %v ms, want %v", name, c.got, c.want)
		}
	}
	if r.OK != 100 || r.OpsPerS != 1 || len(r.Series) != 10 || r.Series[9].P50 < 94 || r.Series[9].P50 > 96 {
		t.Errorf("%d answered, %v per second, series %+v", r.OK, r.OpsPerS, r.Series)
	}
}

func TestMeterBoundsLatencies(t *testing.T) {
	t.Parallel()
	m := newMeter(1)
	m.record(0, time.Hour, []Request{{start: 0}, {start: int64(2 * time.Hour)}}, nowhere)
	m.end(time.Hour)
	if r := m.result(); r.OK != 2 || r.Max < 59_900 || r.Max > 60_100 {
		t.Errorf("%d answered, max %v ms; want 2, a minute", r.OK, r.Max)
	}
}

func TestMeterTellsHowLongNothingWasAnswered(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		m := newMeter(1)
		time.Sleep(3 * time.Second)
		m.record(0, m.elapsed(), []Request{{}}, nowhere)
		time.Sleep(2 * time.Second)
		m.record(0, m.elapsed(), []Request{{Err: op.Unavailable("busy")}}, nowhere)
		if still := m.stillFor(); still != 2*time.Second {
			t.Errorf("still for %v, want 2s", still)
		}
	})
}

func BenchmarkMeter(b *testing.B) {
	m := newMeter(1)
	batch := make([]Request, 1)
	b.ReportAllocs()
	for b.Loop() {
		batch[0].start = 0
		m.record(1, 300*time.Microsecond, batch, nowhere)
	}
}
