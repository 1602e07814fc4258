package op_test

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/ringraft/ringraft/op"
)

// TestTimesToLiveOutOfRangeAreRefused, by every operation that takes one: none may
// wrap round and end a key at once.
func TestTimesToLiveOutOfRangeAreRefused(t *testing.T) {
	t.Parallel()
	key := []byte("k")
	const century = 100 * 365 * 24 * int64(time.Hour/time.Millisecond)
	now := time.Now().UnixMilli()
	for name, with := range map[string]func(ttl int64) op.Op{
		"set":    func(ttl int64) op.Op { return op.Set{Key: key, TTL: ttl} },
		"mset":   func(ttl int64) op.Op { return op.MSet{Pairs: []op.Pair{{Key: key}}, TTL: ttl} },
		"add":    func(ttl int64) op.Op { return op.Add{Key: key, TTL: ttl} },
		"expire": func(ttl int64) op.Op { return op.Expire{Key: key, TTL: ttl} },
	} {
		for _, ttl := range []int64{
			-1, math.MinInt64, op.MaxTTL + 1, math.MaxInt64 / 1000, math.MaxInt64/1000 + 1, 10_000_000_000_000_000,
			18_446_744_073_709_561, math.MaxInt64 - now - 1, math.MaxInt64 - now, math.MaxInt64 - now + 1, math.MaxInt64,
		} {
			if err := with(ttl).Check(op.Limits{}); err == nil || err.Field != "ttl" || !errors.Is(err, op.ErrRefused) {
				t.Errorf("%s with a ttl of %d ms: %v, want a refusal that names ttl", name, ttl, err)
			}
		}
		for _, ttl := range []int64{0, 1, 999, century, op.MaxTTL} {
			if err := with(ttl).Check(op.Limits{}); err != nil {
				t.Errorf("%s with a ttl of %d ms: %v", name, ttl, err)
			}
		}
	}
}
