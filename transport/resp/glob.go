package resp

import "bytes"

// match reports whether s is of the pattern: * stands for any bytes, ? for one, [a-c^]
// for one of a set, [^a-c] for one outside it, and a backslash takes the next byte as it
// is.
func match(pattern, s []byte) bool {
	var behind, from []byte // what to try once more: the pattern behind the last star, one byte on
	starred := false
	for len(s) > 0 {
		if len(pattern) > 0 && pattern[0] == '*' {
			pattern = pattern[1:]
			behind, from, starred = pattern, s, true
			continue
		}
		if n, ok := matchByte(pattern, s[0]); ok {
			pattern, s = pattern[n:], s[1:]
			continue
		}
		if !starred {
			return false
		}
		from = from[1:]
		pattern, s = behind, from
	}
	return len(bytes.TrimLeft(pattern, "*")) == 0
}

// matchByte matches one byte, and returns the length of what stands for it.
func matchByte(pattern []byte, b byte) (n int, ok bool) {
	switch {
	case len(pattern) == 0:
		return 0, false
	case pattern[0] == '?':
		return 1, true
	case pattern[0] == '[':
		return matchSet(pattern, b)
	case pattern[0] == '\\' && len(pattern) > 1:
		return 2, pattern[1] == b
	}
	return 1, pattern[0] == b
}

// matchSet matches a byte against the set at the start of pattern. One that is not closed
// ends with the pattern.
func matchSet(pattern []byte, b byte) (n int, ok bool) {
	n = 1
	inverse := len(pattern) > n && pattern[n] == '^'
	if inverse {
		n++
	}
	for ; n < len(pattern) && pattern[n] != ']'; n++ {
		low := pattern[n]
		if low == '\\' && n+1 < len(pattern) {
			n++
			ok = ok || pattern[n] == b
			continue
		}
		high := low
		if n+2 < len(pattern) && pattern[n+1] == '-' {
			high = pattern[n+2]
			n += 2
		}
		ok = ok || min(low, high) <= b && b <= max(low, high)
	}
	return min(n+1, len(pattern)), ok != inverse
}

// literalPrefix returns how every match of pattern begins.
func literalPrefix(pattern []byte) []byte {
	if n := bytes.IndexAny(pattern, `*?[\`); n >= 0 {
		return pattern[:n]
	}
	return pattern
}
