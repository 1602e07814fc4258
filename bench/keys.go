package bench

import (
	"fmt"
	"math"
	"math/rand/v2"
)

const (
	// MaxKeys is the most keys of a load.
	MaxKeys = 100_000_000
	// MaxZipf is the steepest distribution of keys.
	MaxZipf = 5.0
)

// Keys is how a load chooses among its keys, 0 to n-1. With an exponent s over 0 the
// k-th key, from 1, is chosen with a probability in proportion to 1/k^s, Zipf's law:
// 0.99 is the habit of cache benchmarks. With 0 all are as likely.
//
// Samples are drawn by rejection-inversion (W. Hörmann, G. Derflinger, "Rejection-
// inversion to generate variates from monotone discrete distributions", 1996): no table,
// so that a hundred million keys cost no more than ten.
type Keys struct {
	n        int
	exponent float64

	// The area under x^-s, from the left end of the first key's bar to the right end of
	// the last one's, and how far right of its middle a sample is surely under its bar.
	from, to float64
	sure     float64
}

// NewKeys returns the distribution over n keys with Zipf's exponent.
func NewKeys(n int, exponent float64) (Keys, error) {
	switch {
	case n < 1 || n > MaxKeys:
		return Keys{}, fmt.Errorf("there are %d keys; it must lie between 1 and %d", n, MaxKeys)
	case math.IsNaN(exponent) || exponent < 0 || exponent > MaxZipf:
		return Keys{}, fmt.Errorf("the exponent is %v; it must lie between 0 and %v", exponent, MaxZipf)
	}
	k := Keys{n: n, exponent: exponent}
	k.from = k.area(1.5) - 1 // the first bar has height 1
	k.to = k.area(float64(n) + 0.5)
	k.sure = 2 - k.inverse(k.area(2.5)-k.height(2))
	return k, nil
}

// Len returns the number of keys.
func (k *Keys) Len() int { return k.n }

// draw returns the number of a key.
func (k *Keys) draw(random *rand.Rand) int {
	if k.exponent == 0 {
		return random.IntN(k.n)
	}
	for {
		u := k.to + random.Float64()*(k.from-k.to)
		x := k.inverse(u)
		bar := min(max(math.Floor(x+0.5), 1), float64(k.n))
		if bar-x <= k.sure || u >= k.area(bar+0.5)-k.height(bar) {
			return int(bar) - 1
		}
	}
}

// height is x^-s.
func (k *Keys) height(x float64) float64 { return math.Exp(-k.exponent * math.Log(x)) }

// area is the integral of height from 1 to x: (x^(1-s) - 1) / (1-s), or log x for s = 1.
func (k *Keys) area(x float64) float64 {
	log := math.Log(x)
	return log * overX(math.Expm1, (1-k.exponent)*log)
}

// inverse is the x that has this area.
func (k *Keys) inverse(area float64) float64 {
	t := max((1-k.exponent)*area, -1) // by rounding it can be less
	return math.Exp(area * overX(math.Log1p, t))
}

// overX is f(x)/x of an f with the slope 1 at 0.
func overX(f func(float64) float64, x float64) float64 {
	if math.Abs(x) < 1e-8 {
		return 1 // up to less than 1e-8
	}
	return f(x) / x
}
