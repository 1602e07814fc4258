package main

import (
	"strings"
	"testing"
	"time"
)

// TestTimesOutOfRangeChangeNothing: what a time cannot hold, or what has no unit, is
// refused before the key is touched.
func TestTimesOutOfRangeChangeNothing(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.put(t, "", "k", "v", "--ttl", "100h")
	for _, ttl := range []string{
		"0", "5", "-1", " ", " 1s", "1d", "0s", "0ms", "-1ms", "-9223372036854775808ns", "1ns", "999us", "1.0005s",
		"9223372036854775s", "10000000000000000s", "18446744073709561s", "9223372036854775807s", "9223372036854775808s",
		"9223372036854775807ms", "9223372036854775807", "9223372036854775807ns", "2562048h", "1e3s", "NaNs",
	} {
		for name, o := range map[string]outcome{
			"set":    s.run(t, "set", "k", "w", "--ttl="+ttl),
			"expire": s.run(t, "expire", "--", "k", ttl),
			"import": s.runWith(t, `{"key":"k","value":"w","ttl":"`+ttl+`"}`+"\n", "import", "-"),
		} {
			code, field := exitUsage, map[string]string{"set": "--ttl", "expire": "TIME", "import": "ttl"}[name]
			if name == "import" {
				code = exitFailed
			}
			if o.code != code || !strings.Contains(o.err, field) {
				t.Errorf("%s with %q: exit code %d, messages %q; want %d and %s named", name, ttl, o.code, o.err, code, field)
			}
		}
	}
	s.run(t, "get", "k").check(t, exitDone, "v", "")
	if left := s.ttlOf(t, "k"); left < 99*time.Hour || left > 100*time.Hour {
		t.Errorf("%v left to live, want nearly 100h", left)
	}
}

// TestTimesKeepTheirUnit: every unit that a time can be given in comes back in
// milliseconds.
func TestTimesKeepTheirUnit(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	for text, want := range map[string]time.Duration{
		"90m": 90 * time.Minute, "5400s": 90 * time.Minute, "5400000ms": 90 * time.Minute, "1h30m0.5s": 90*time.Minute + 500*time.Millisecond,
		"1.5h": 90 * time.Minute, "5400000000us": 90 * time.Minute, "876000h": 876_000 * time.Hour,
		"2562047h47m16.854s": 2562047*time.Hour + 47*time.Minute + 16_854*time.Millisecond,
	} {
		key := "by set " + text
		s.put(t, "", key, "v", "--ttl", text)
		if left := s.ttlOf(t, key); left > want || left < want-time.Minute {
			t.Errorf("set with %s: %v left to live", text, left)
		}
		s.put(t, "", key, "v")
		s.run(t, "ttl", key).check(t, exitDone, "none\n", "")
		s.run(t, "expire", key, text).check(t, exitDone, "", "")
		if left := s.ttlOf(t, key); left > want || left < want-time.Minute {
			t.Errorf("expire with %s: %v left to live", text, left)
		}
		s.run(t, "incr", "n").check(t, exitDone, "1\n", "")
		s.run(t, "expire", "n", text).check(t, exitDone, "", "")
		s.run(t, "incr", "n").check(t, exitDone, "2\n", "")
		if left := s.ttlOf(t, "n"); left > want || left < want-time.Minute {
			t.Errorf("incr of a key with %s: %v left to live, want it kept", text, left)
		}
		s.run(t, "del", "n").check(t, exitDone, "1\n", "")
	}
}

// ttlOf returns how long key has left to live, which must have an end.
func (s *shell) ttlOf(t *testing.T, key string) time.Duration {
	t.Helper()
	var doc struct {
		TTL *int64 `json:"ttl_ms"`
	}
	s.run(t, "ttl", key, "-o", "json").parse(t, &doc)
	if doc.TTL == nil {
		t.Fatalf("%s has no end", key)
	}
	return time.Duration(*doc.TTL) * time.Millisecond
}
