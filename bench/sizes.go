package bench

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/ringraft/ringraft/op"
)

const (
	maxRanges = 64        // of a distribution of sizes
	maxWeight = 1_000_000 // of one of them
	slack     = 4096      // bytes by which values may differ in where they begin
)

// Sizes is how long a load's values are, in bytes: ranges, each with a weight.
type Sizes struct {
	text    string
	ranges  []sizeRange
	longest int
}

// sizeRange is a range of lengths, both ends included. below is the sum of the weights up to and
// with its own.
type sizeRange struct{ low, high, below int }

// ParseSizes reads a length, a range of lengths that are as likely, or a list of
// either with weights: 128, 64-1024, 100:9,4096-8192:1.
func ParseSizes(text string) (Sizes, error) {
	s := Sizes{text: text}
	parts := strings.Split(text, ",")
	if len(parts) > maxRanges {
		return Sizes{}, fmt.Errorf("has %d parts; the limit is %d", len(parts), maxRanges)
	}
	sum := 0
	for _, part := range parts {
		r, weight, err := parseRange(strings.TrimSpace(part))
		if err != nil {
			return Sizes{}, err
		}
		sum += weight
		r.below = sum
		s.ranges = append(s.ranges, r)
		s.longest = max(s.longest, r.high)
	}
	return s, nil
}

func parseRange(text string) (r sizeRange, weight int, err error) {
	lengths, weightText, weighted := strings.Cut(text, ":")
	low, high, ranged := strings.Cut(lengths, "-")
	if !ranged {
		high = low
	}
	weight = 1
	if weighted {
		weight, err = strconv.Atoi(weightText)
		if err != nil || weight < 1 || weight > maxWeight {
			return r, 0, fmt.Errorf("has the weight %q; it is a number between 1 and %d", weightText, maxWeight)
		}
	}
	if r.low, err = parseLength(low); err != nil {
		return r, 0, err
	}
	if r.high, err = parseLength(high); err != nil {
		return r, 0, err
	}
	if r.high < r.low {
		return r, 0, fmt.Errorf("has the range %q, which ends before it begins", lengths)
	}
	return r, weight, nil
}

func parseLength(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > op.MaxValueLimit {
		return 0, fmt.Errorf("has the length %q; it is a number between 0 and %d, a range as 64-1024, or a list with weights as 100:9,4096:1",
			text, op.MaxValueLimit)
	}
	return n, nil
}

// String returns the text that was parsed.
func (s *Sizes) String() string { return s.text }

func (s *Sizes) draw(random *rand.Rand) int {
	r := s.ranges[0]
	if len(s.ranges) > 1 {
		at := random.IntN(s.ranges[len(s.ranges)-1].below)
		for i := 0; at >= r.below; i++ {
			r = s.ranges[i]
		}
	}
	if r.low == r.high {
		return r.low
	}
	return r.low + random.IntN(r.high-r.low+1)
}

// noise returns bytes of which every value of s is a part: values of different
// requests differ, and none is made for a request.
func (s *Sizes) noise() []byte {
	b := make([]byte, s.longest+slack)
	source := rand.NewChaCha8([32]byte{})
	_, _ = source.Read(b) // it never fails
	return b
}
