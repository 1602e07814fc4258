package bench

import (
	"math/rand/v2"
	"strings"
	"testing"
)

func TestSizesAreParsed(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		least, most int
		mean        float64
	}{
		"0":                     {0, 0, 0},
		"128":                   {128, 128, 128},
		"64-1024":               {64, 1024, 544},
		"100:9,4096:1":          {100, 4096, 499.6},
		"10,20, 30":             {10, 30, 20},
		"1-3:1,1000-2000:3,7:4": {1, 2000, 566.25},
	} {
		s, err := ParseSizes(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		random := rand.New(rand.NewPCG(1, 2))
		least, most, sum := 1<<30, 0, 0
		const draws = 100_000
		for range draws {
			n := s.draw(random)
			least, most, sum = min(least, n), max(most, n), sum+n
		}
		if mean := float64(sum) / draws; least != want.least || most != want.most || mean < want.mean*0.98 || mean > want.mean*1.02 {
			t.Errorf("%q: from %d to %d, mean %v; want %+v", text, least, most, mean, want)
		}
		if s.String() != text || s.longest != want.most {
			t.Errorf("%q: reads %q, longest %d", text, s.String(), s.longest)
		}
	}
}

func TestBadSizesAreRefused(t *testing.T) {
	t.Parallel()
	for text, message := range map[string]string{
		"": "length", "x": "length", "-1": "length", "1-": "length", "20-10": "ends before it begins", "16777217": "16777216",
		"10:0": "weight", "10:x": "weight", "10:": "weight", "10:1000001": "weight", "10,,20": "length",
		strings.Repeat("1,", 64) + "1": "limit is 64",
	} {
		if _, err := ParseSizes(text); err == nil || !strings.Contains(err.Error(), message) {
			t.Errorf("%q: err = %v, want %q in it", text, err, message)
		}
	}
}

func TestWorkloadMixes(t *testing.T) {
	t.Parallel()
	for _, share := range []float64{0, 0.1, 0.9, 1} {
		work := workload(t, share, 100)
		requests, reads := newDrawer(&work, 3), 0
		var r Request
		for range 10_000 {
			if requests.draw(&r); r.Read {
				reads++
			}
			if r.Read != (r.Value == nil) || len(r.Key) == 0 {
				t.Fatalf("request %+v", r)
			}
		}
		if got := float64(reads) / 10_000; got < share-0.02 || got > share+0.02 {
			t.Errorf("%v of all are reads, want %v", got, share)
		}
	}
}
