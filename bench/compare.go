package bench

// Tie is the ratio under which two figures count as the same: a machine that others
// use too gives the same run figures that differ by so much.
const Tie = 1.3

// Verdict is what a ratio says of the second of two results.
type Verdict string

// The verdicts.
const (
	Same   Verdict = "tie"
	Better Verdict = "better"
	Worse  Verdict = "worse"
)

// Comparison is one figure of two results.
type Comparison struct {
	Figure  string  `json:"figure"`
	A       float64 `json:"a"`
	B       float64 `json:"b"`
	Ratio   float64 `json:"ratio"` // B/A; 0 if A is 0
	Verdict Verdict `json:"verdict"`
}

// Compare compares b with a, figure by figure.
func Compare(a, b Result) []Comparison {
	return []Comparison{
		compare("ops_per_s", a.OpsPerS, b.OpsPerS, true),
		compare("p50_ms", a.P50, b.P50, false),
		compare("p99_ms", a.P99, b.P99, false),
		compare("p999_ms", a.P999, b.P999, false),
		compare("max_ms", a.Max, b.Max, false),
		compare("max_gap_ms", a.MaxGap, b.MaxGap, false),
		compare("max_group_gap_ms", a.MaxGroupGap, b.MaxGroupGap, false),
		compare("errors", float64(a.Errors), float64(b.Errors), false),
		compare("unknown", float64(a.Unknown), float64(b.Unknown), false),
		compare("unsent", float64(a.Unsent), float64(b.Unsent), false),
	}
}

func compare(figure string, a, b float64, moreIsBetter bool) Comparison {
	c := Comparison{Figure: figure, A: a, B: b, Verdict: Same}
	if a != 0 {
		c.Ratio = rounded(b / a)
	}
	switch {
	case a == b || max(a, b) < Tie*min(a, b):
	case (b > a) == moreIsBetter:
		c.Verdict = Better
	default:
		c.Verdict = Worse
	}
	return c
}
