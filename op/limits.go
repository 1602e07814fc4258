package op

import "math"

const (
	// MaxKey is the longest key, in bytes. The shortest is one byte.
	MaxKey = 4 << 10
	// MaxValueLimit is the most that the setting max-value-bytes can be raised to.
	MaxValueLimit = 16 << 20
	// DefaultMaxValue is the setting max-value-bytes of a new cluster.
	DefaultMaxValue = 1 << 20
	// DefaultMaxBytes is the setting max-bytes of a new cluster: a group's limit on
	// the logical bytes of its records. MinMaxBytes is the least it can be set to.
	DefaultMaxBytes = 256 << 20
	MinMaxBytes     = 1 << 20
	// MaxKeys is the most keys of one multi-key operation, and of one page of a scan.
	MaxKeys = 1000
	// MaxPayload bounds the keys and values of one operation, and of one result, in
	// bytes: one value and key at their limits, or many smaller ones.
	MaxPayload = MaxValueLimit + MaxKey
	// MaxMessage bounds an encoded request or result, in bytes: the payload, a
	// generous share of bytes around each key, and an error's text.
	MaxMessage = MaxPayload + MaxKeys*64 + 4<<10
	// MaxEntry bounds an entry, in bytes. Every internal frame must hold one.
	MaxEntry = MaxMessage + 1<<20
	// MaxTTL is the longest time to live, in milliseconds: what a time.Duration can
	// hold, about 292 years, so that every front can read back what another set.
	MaxTTL = math.MaxInt64 / 1_000_000
)

// Limits are the bounds that a cluster can change.
type Limits struct {
	MaxValue int // bytes
}

func checkKey(key []byte) *Error {
	if len(key) == 0 {
		return Invalid("key", "is empty; a key has 1 to %d bytes", MaxKey)
	}
	if len(key) > MaxKey {
		return Invalid("key", "has %d bytes; the limit is %d", len(key), MaxKey)
	}
	return nil
}

func checkValue(value []byte, l Limits) *Error {
	if len(value) > l.MaxValue {
		return Invalid("value", "has %d bytes; the limit is %d (setting max-value-bytes)", len(value), l.MaxValue)
	}
	return nil
}

func checkTTL(ttl int64) *Error {
	if ttl < 0 || ttl > MaxTTL {
		return Invalid("ttl", "is %d ms; it must lie between 1 and %d, or be 0 for none", ttl, int64(MaxTTL))
	}
	return nil
}

func checkKeys(keys [][]byte) *Error {
	if len(keys) == 0 || len(keys) > MaxKeys {
		return Invalid("keys", "there are %d; one operation takes 1 to %d", len(keys), MaxKeys)
	}
	for _, k := range keys {
		if err := checkKey(k); err != nil {
			return err
		}
	}
	return nil
}
