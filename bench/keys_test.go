package bench

import (
	"math"
	"math/rand/v2"
	"testing"
)

// drawn returns how often each key is drawn in so many draws.
func drawn(t *testing.T, n int, exponent float64, draws int) []int {
	t.Helper()
	keys, err := NewKeys(n, exponent)
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	counts := make([]int, n)
	for range draws {
		counts[keys.draw(random)]++
	}
	return counts
}

// The frequencies are compared with Zipf's law itself: chi-squared, of n-1 degrees of
// freedom, lies within six standard deviations of its mean.
func TestKeysFollowZipf(t *testing.T) {
	t.Parallel()
	const draws = 200_000
	for _, n := range []int{1, 2, 10, 1000} {
		for _, exponent := range []float64{0, 0.01, 0.5, 0.99, 1, 1.2, 3, MaxZipf} {
			sum := 0.0
			for k := 1; k <= n; k++ {
				sum += math.Pow(float64(k), -exponent)
			}
			counts, chi, cells, rest, restWant := drawn(t, n, exponent, draws), 0.0, 0, 0.0, 0.0
			for k := 1; k <= n; k++ {
				want := draws * math.Pow(float64(k), -exponent) / sum
				if want < 10 { // too few for the test: the rare ones together
					rest, restWant = rest+float64(counts[k-1]), restWant+want
					continue
				}
				chi += (float64(counts[k-1]) - want) * (float64(counts[k-1]) - want) / want
				cells++
			}
			if restWant > 10 {
				chi += (rest - restWant) * (rest - restWant) / restWant
				cells++
			}
			if freedom := float64(cells - 1); chi > freedom+6*math.Sqrt(2*freedom)+1 {
				t.Errorf("%d keys, exponent %v: chi² = %.1f, want about %v; first %v", n, exponent, chi, freedom, counts[:min(n, 5)])
			}
		}
	}
}

func TestManyKeysNeedNoTable(t *testing.T) {
	t.Parallel()
	keys, err := NewKeys(MaxKeys, 0.99)
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	first, far := 0, 0
	const draws = 100_000
	for range draws {
		switch k := keys.draw(random); {
		case k < 0 || k >= MaxKeys:
			t.Fatalf("key %d of %d", k, MaxKeys)
		case k == 0:
			first++
		case k > MaxKeys/2:
			far++
		}
	}
	// 1/H of the first key, with H = (10^(8·0.01)-1)/0.01 + about 0.58; the upper half has about 3.7 %.
	if share := float64(first) / draws; share < 0.042 || share > 0.056 {
		t.Errorf("the first key has %v of all, want about 0.048", share)
	}
	if share := float64(far) / draws; share < 0.03 || share > 0.05 {
		t.Errorf("the second half has %v of all, want about 0.04", share)
	}
}

func TestKeysOutOfBoundsAreRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		n        int
		exponent float64
	}{{0, 0}, {MaxKeys + 1, 0}, {1, -0.1}, {1, MaxZipf + 0.1}, {1, math.NaN()}, {1, math.Inf(1)}} {
		if _, err := NewKeys(c.n, c.exponent); err == nil {
			t.Errorf("%d keys, exponent %v: no error", c.n, c.exponent)
		}
	}
}

func BenchmarkZipf(b *testing.B) {
	keys, err := NewKeys(100_000, 0.99)
	if err != nil {
		b.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	b.ReportAllocs()
	for b.Loop() {
		keys.draw(random)
	}
}
