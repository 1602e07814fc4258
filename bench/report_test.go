package bench

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

func sampleResult() Result {
	r := Result{
		OpsPerS: 43210.5, P50: 1.5, P99: 7, P999: 9, Max: 12, MaxGap: 20, MaxGroupGap: 40, OK: 1000, Unsent: 77, Seconds: 10,
		Load: Description{
			Started: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC), Target: "cluster", Reads: 0.9, Level: "local", Rate: 50000,
			Clients: 64, Pipeline: 2, Keys: 1000, Zipf: 0.99, ValueSize: "<b>64-128</b>", TTL: 30,
		},
	}
	for i := range 10 {
		r.Series = append(r.Series, Point{At: float64(i + 1), OpsPerS: float64(40000 + i), P50: 1.5, P99: float64(i)})
	}
	return r
}

func page(t *testing.T, r Result) string {
	t.Helper()
	var b strings.Builder
	if err := WriteReport(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestReportDrawsTheSeries(t *testing.T) {
	t.Parallel()
	r := sampleResult()
	html := page(t, r)
	if n := strings.Count(html, "<svg"); n != 2 {
		t.Errorf("%d charts, want throughput and latency", n)
	}
	lines := strings.Split(html, "<polyline")[1:]
	if len(lines) != 3 {
		t.Fatalf("%d lines, want 3", len(lines))
	}
	for i, line := range lines {
		points := strings.Fields(strings.SplitN(strings.SplitN(line, `points="`, 2)[1], `"`, 2)[0])
		if len(points) != len(r.Series) {
			t.Errorf("line %d has %d points, want %d", i, len(points), len(r.Series))
		}
		var x, y, lastX float64
		for _, p := range points {
			if _, err := fmt.Sscanf(p, "%f,%f", &x, &y); err != nil || x <= lastX || x > chartWidth || y < marginTop || y > chartHeight {
				t.Errorf("line %d: point %s", i, p)
			}
			lastX = x
		}
	}
	for _, want := range []string{"43,210", "1.5 / 7 / 9 / 12 ms", "20 / 40 ms", "1000 / 0 / 0 / 77", "50,000 requests/s", "64 × 2", "90 %, local", "Zipf 0.99", "30 s", "2026-11-30 12:00:00 UTC"} {
		if !strings.Contains(html, want) {
			t.Errorf("%q is missing", want)
		}
	}
	if strings.Contains(html, "<script") || strings.Contains(html, "http") || strings.Contains(html, "<b>") {
		t.Error("the page runs, fetches or trusts something")
	}
}

func TestReportShowsFailuresAndStandsWithoutPoints(t *testing.T) {
	t.Parallel()
	r := sampleResult()
	r.Errors, r.Series[3].Failed = 5, 5
	if html := page(t, r); !strings.Contains(html, "Requests without an answer") {
		t.Error("failures are not drawn")
	}
	html := page(t, Result{})
	if strings.Contains(html, "NaN") || strings.Contains(html, "Inf") {
		t.Errorf("an empty result draws %s", html)
	}
}

func TestTicksAreRoundAndReach(t *testing.T) {
	t.Parallel()
	for high, want := range map[float64][]float64{
		0: {0, 0.2, 0.4, 0.6, 0.8, 1}, 1: {0, 0.2, 0.4, 0.6, 0.8, 1}, 7: {0, 2, 4, 6, 8}, 43_210: {0, 10_000, 20_000, 30_000, 40_000, 50_000},
	} {
		got := ticks(high)
		if !slices.EqualFunc(got, want, func(a, b float64) bool { return rounded(a) == b }) {
			t.Errorf("ticks up to %v: %v, want %v", high, got, want)
		}
	}
	for x, want := range map[float64]string{0: "0", 0.25: "0.25", 999: "999", 1000: "1,000", 1234.5: "1,234.5", 1234567.8: "1,234,567"} {
		if got := grouped(x); got != want {
			t.Errorf("%v is written %s, want %s", x, got, want)
		}
	}
}

func TestCompareTellsTiesFromDifferences(t *testing.T) {
	t.Parallel()
	a := Result{OpsPerS: 1000, P50: 1, P99: 10, P999: 20, Max: 100, MaxGap: 5, Unknown: 1, Unsent: 0, Errors: 3}
	b := Result{OpsPerS: 1299, P50: 0.7, P99: 13.1, P999: 16, Max: 131, MaxGap: 5, Unknown: 0, Unsent: 4, Errors: 3}
	want := map[string]Comparison{
		"ops_per_s":        {Ratio: 1.299, Verdict: Same},
		"p50_ms":           {Ratio: 0.7, Verdict: Better},
		"p99_ms":           {Ratio: 1.31, Verdict: Worse},
		"p999_ms":          {Ratio: 0.8, Verdict: Same},
		"max_ms":           {Ratio: 1.31, Verdict: Worse},
		"max_gap_ms":       {Ratio: 1, Verdict: Same},
		"max_group_gap_ms": {Ratio: 0, Verdict: Same},
		"errors":           {Ratio: 1, Verdict: Same},
		"unknown":          {Ratio: 0, Verdict: Better},
		"unsent":           {Ratio: 0, Verdict: Worse},
	}
	list := Compare(a, b)
	for _, c := range list {
		if w := want[c.Figure]; c.Ratio != w.Ratio || c.Verdict != w.Verdict {
			t.Errorf("%s: ratio %v, %s; want %v, %s", c.Figure, c.Ratio, c.Verdict, w.Ratio, w.Verdict)
		}
	}
	if len(list) != len(want) {
		t.Errorf("%d figures, want %d", len(list), len(want))
	}
	if c := Compare(Result{OpsPerS: 100}, Result{OpsPerS: 131})[0]; c.Verdict != Better {
		t.Errorf("more throughput is %s", c.Verdict)
	}
}

func TestResultSurvivesJSON(t *testing.T) {
	t.Parallel()
	r := sampleResult()
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var again Result
	if err := json.Unmarshal(b, &again); err != nil || !reflect.DeepEqual(r, again) {
		t.Errorf("%s is read as %+v, %v", b, again, err)
	}
}
