package resp

import (
	"fmt"
	"strings"
	"testing"
)

// TestScanFindsEveryKeyThatStays, whatever the count, with thousands of keys in one slot,
// while others go.
func TestScanFindsEveryKeyThatStays(t *testing.T) {
	t.Parallel()
	c := connect(t, newTestNode(t))
	stays := map[string]bool{}
	var lines []string
	for i := range 3000 {
		for _, key := range []string{fmt.Sprintf("{one}stays%d", i), fmt.Sprintf("stays%d", i/3)} {
			stays[key] = true
			lines = append(lines, "SET "+key+" v")
		}
		lines = append(lines, fmt.Sprintf("SET {one}goes%d v", i))
	}
	for i := 0; i < len(lines); i += 500 {
		c.send(lines[i:min(i+500, len(lines))]...)
		for range min(500, len(lines)-i) {
			c.read()
		}
	}
	gone := 0
	for _, count := range []int{1, 10, 700, 100_000} {
		found := map[string]bool{}
		cursor := "0"
		for first := true; first || cursor != "0"; first = false {
			answer := strings.Fields(strings.NewReplacer("[", "", "]", "").Replace(c.do(fmt.Sprintf("SCAN %s COUNT %d", cursor, count))))
			cursor = answer[0]
			for _, key := range answer[1:] {
				found[key] = true
			}
			c.do(fmt.Sprintf("DEL {one}goes%d", gone))
			gone++
		}
		for key := range stays {
			if !found[key] {
				t.Errorf("COUNT %d: %s was not found", count, key)
			}
		}
	}
}

func TestCursorsThatWereNeverGivenEnd(t *testing.T) {
	t.Parallel()
	c := connect(t, newTestNode(t))
	c.want("SET a v", "+OK")
	for _, cursor := range []string{"1", "18446744073709551615", "9223372036854775807"} {
		for range 100_000 {
			answer := c.do("SCAN " + cursor)
			if cursor, _, _ = strings.Cut(strings.TrimPrefix(answer, "["), " "); cursor == "0" {
				break
			}
		}
		if cursor != "0" {
			t.Errorf("the scan did not end, and is at %s", cursor)
		}
	}
}

func TestPatternsMatchAsThoseOfRedis(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		pattern, s string
		want       bool
	}{
		{"", "", true}, {"", "a", false}, {"*", "", true}, {"**", "abc", true}, {"a*c", "abbbc", true}, {"a*c", "abbb", false},
		{"*a*b*c*", "xxaxxbxxc", true}, {"?", "", false}, {"a?c", "abc", true}, {"[abc]", "b", true}, {"[^abc]", "b", false},
		{"[a-c]x", "bx", true}, {"[c-a]x", "bx", true}, {"[a-c", "b", true}, {`\*`, "*", true}, {`\*`, "a", false}, {`[\]]`, "]", true},
		{"a[b]", "a[b]", false}, {`a\[b\]`, "a[b]", true}, {`a\`, `a\`, true}, {"[", "[", false}, {"[]a", "a", false},
		{"*aaaaaaaaaaaaaaaaaaaaaaaab", strings.Repeat("a", 100_000), false},
	} {
		if got := match([]byte(tc.pattern), []byte(tc.s)); got != tc.want {
			t.Errorf("match(%q, %.20q) = %v, want %v", tc.pattern, tc.s, got, tc.want)
		}
	}
}
