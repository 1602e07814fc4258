package script

import (
	"strings"

	lua "github.com/yuin/gopher-lua"
)

const (
	// maxCaptures bounds the captures of a pattern, maxDepth how deep its parts are tried
	// in each other.
	maxCaptures = 32
	maxDepth    = 200
)

// The lengths of captures that are none yet.
const (
	openCapture     = -1 // its end has not come
	positionCapture = -2 // it is a position and no text
)

// matcher tries a pattern of Lua on a text. Each try of an item is a step of the run, so
// that no pattern takes long.
type matcher struct {
	c        call
	src, pat string
	anchored bool
	first    int // where the pattern begins, behind the anchor
	level    int // captures begun
	captures [maxCaptures]struct{ start, len int }
	depth    int
}

func newMatcher(c call, src, pat string) *matcher {
	m := &matcher{c: c, src: src, pat: pat, anchored: strings.HasPrefix(pat, "^")}
	if m.anchored {
		m.first = 1
	}
	return m
}

// find returns where the first match from an offset on begins and ends, -1 for none.
func (m *matcher) find(from int) (start, end int) {
	for at := from; at <= len(m.src); at++ {
		m.level = 0
		if end := m.match(at, m.first); end >= 0 {
			return at, end
		}
		if m.anchored {
			break
		}
	}
	return -1, -1
}

// match returns where the pattern from p on ends if it matches the text from s on, or -1.
func (m *matcher) match(s, p int) int {
	if m.depth++; m.depth > maxDepth {
		m.c.fail("pattern too complex")
	}
	defer func() { m.depth-- }()
	for p < len(m.pat) {
		m.c.work(1)
		switch m.pat[p] {
		case '(':
			return m.open(s, p+1)
		case ')':
			return m.close(s, p+1)
		case '$':
			if p+1 == len(m.pat) {
				if s == len(m.src) {
					return s
				}
				return -1
			}
		case '%':
			if p+1 < len(m.pat) {
				if next, after, special := m.special(s, p+1); special {
					if next < 0 {
						return -1
					}
					s, p = next, after
					continue
				}
			}
		}
		end := m.itemEnd(p)
		switch m.suffix(end) {
		case '?':
			if m.one(s, p, end) {
				if e := m.match(s+1, end+1); e >= 0 {
					return e
				}
			}
			p = end + 1
		case '*':
			return m.longest(s, p, end)
		case '+':
			if !m.one(s, p, end) {
				return -1
			}
			return m.longest(s+1, p, end)
		case '-':
			return m.shortest(s, p, end)
		default:
			if !m.one(s, p, end) {
				return -1
			}
			s, p = s+1, end
		}
	}
	return s
}

func (m *matcher) suffix(p int) byte {
	if p < len(m.pat) {
		return m.pat[p]
	}
	return 0
}

// longest matches an item as often as it goes, then less often.
func (m *matcher) longest(s, p, end int) int {
	n := 0
	for m.one(s+n, p, end) {
		n++
	}
	for ; n >= 0; n-- {
		if e := m.match(s+n, end+1); e >= 0 {
			return e
		}
	}
	return -1
}

// shortest matches an item as seldom as it goes.
func (m *matcher) shortest(s, p, end int) int {
	for {
		if e := m.match(s, end+1); e >= 0 {
			return e
		}
		if !m.one(s, p, end) {
			return -1
		}
		s++
	}
}

// special matches what is no item of one byte: %b(), %f[] and %1. Other escapes are items.
func (m *matcher) special(s, p int) (next, after int, special bool) {
	switch ch := m.pat[p]; {
	case ch == 'b':
		return m.balanced(s, p+1), p + 3, true
	case ch == 'f':
		p++
		if m.suffix(p) != '[' {
			m.c.fail("missing '[' after '%%f' in pattern")
		}
		end := m.itemEnd(p)
		before, here := byte(0), byte(0)
		if s > 0 {
			before = m.src[s-1]
		}
		if s < len(m.src) {
			here = m.src[s]
		}
		if m.inSet(before, p, end) || !m.inSet(here, p, end) {
			return -1, end, true
		}
		return s, end, true
	case '0' <= ch && ch <= '9':
		return m.again(s, int(ch)-'1'), p + 1, true
	}
	return 0, 0, false
}

// balanced matches from an opening byte to the closing one that belongs to it.
func (m *matcher) balanced(s, p int) int {
	if p+1 >= len(m.pat) {
		m.c.fail("unbalanced pattern")
	}
	if s >= len(m.src) || m.src[s] != m.pat[p] {
		return -1
	}
	open, shut, deep := m.pat[p], m.pat[p+1], 1
	for i := s + 1; i < len(m.src); i++ {
		m.c.work(1)
		switch m.src[i] {
		case shut:
			if deep--; deep == 0 {
				return i + 1
			}
		case open:
			deep++
		}
	}
	return -1
}

// again matches what the n-th capture has matched.
func (m *matcher) again(s, n int) int {
	if n < 0 || n >= m.level || m.captures[n].len == openCapture {
		m.c.fail("invalid capture index")
	}
	text := m.src[m.captures[n].start:][:max(m.captures[n].len, 0)]
	m.c.work(len(text) / bytesPerStep)
	if !strings.HasPrefix(m.src[s:], text) {
		return -1
	}
	return s + len(text)
}

func (m *matcher) open(s, p int) int {
	if m.level == maxCaptures {
		m.c.fail("too many captures")
	}
	length := openCapture
	if m.suffix(p) == ')' {
		length, p = positionCapture, p+1
	}
	m.captures[m.level].start, m.captures[m.level].len = s, length
	m.level++
	end := m.match(s, p)
	if end < 0 {
		m.level--
	}
	return end
}

func (m *matcher) close(s, p int) int {
	n := m.level - 1
	for ; n >= 0 && m.captures[n].len != openCapture; n-- {
	}
	if n < 0 {
		m.c.fail("invalid pattern capture")
	}
	m.captures[n].len = s - m.captures[n].start
	end := m.match(s, p)
	if end < 0 {
		m.captures[n].len = openCapture
	}
	return end
}

// itemEnd returns where the item of one byte ends that begins at p.
func (m *matcher) itemEnd(p int) int {
	switch m.pat[p] {
	case '%':
		if p+1 == len(m.pat) {
			m.c.fail("malformed pattern (ends with '%%')")
		}
		return p + 2
	case '[':
		p++
		if m.suffix(p) == '^' {
			p++
		}
		for first := true; first || m.suffix(p) != ']'; first = false {
			if p < len(m.pat) && m.pat[p] == '%' {
				p++
			}
			if p++; p >= len(m.pat) {
				m.c.fail("malformed pattern (missing ']')")
			}
		}
	}
	return p + 1
}

// one reports whether the byte at s is one of the item from p to end.
func (m *matcher) one(s, p, end int) bool {
	if s >= len(m.src) {
		return false
	}
	m.c.work(1 + (end-p)/bytesPerStep)
	switch m.pat[p] {
	case '.':
		return true
	case '%':
		return inClass(m.src[s], m.pat[p+1])
	case '[':
		return m.inSet(m.src[s], p, end)
	}
	return m.src[s] == m.pat[p]
}

// inSet reports whether a byte is one of the set from p to end, with its brackets.
func (m *matcher) inSet(b byte, p, end int) bool {
	p++
	within := true
	if m.pat[p] == '^' {
		within, p = false, p+1
	}
	for end--; p < end; p++ {
		switch {
		case m.pat[p] == '%' && p+1 < end:
			if p++; inClass(b, m.pat[p]) {
				return within
			}
		case p+2 < end && m.pat[p+1] == '-':
			if m.pat[p] <= b && b <= m.pat[p+2] {
				return within
			}
			p += 2
		case m.pat[p] == b:
			return within
		}
	}
	return !within
}

// inClass reports whether a byte is of the class of a letter, a capital one being all
// others. Another byte stands for itself.
func inClass(b, class byte) bool {
	letter := 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z'
	digit := '0' <= b && b <= '9'
	graphic := '!' <= b && b <= '~'
	var in bool
	switch class | ('a' - 'A') {
	case 'a':
		in = letter
	case 'd':
		in = digit
	case 'l':
		in = 'a' <= b && b <= 'z'
	case 'u':
		in = 'A' <= b && b <= 'Z'
	case 's':
		in = b == ' ' || '\t' <= b && b <= '\r'
	case 'c':
		in = b < ' ' || b == 127
	case 'p':
		in = graphic && !letter && !digit
	case 'w':
		in = letter || digit
	case 'x':
		in = digit || 'a' <= b|0x20 && b|0x20 <= 'f'
	case 'z':
		in = b == 0
	default:
		return b == class
	}
	if !('a' <= class && class <= 'z' || 'A' <= class && class <= 'Z') {
		return b == class
	}
	return in == (class >= 'a')
}

// capture returns the n-th capture of a match, the whole match if there is none.
func (m *matcher) capture(n, start, end int) lua.LValue {
	if n >= m.level {
		if n > 0 {
			m.c.fail("invalid capture index")
		}
		return lua.LString(m.src[start:end])
	}
	switch at := m.captures[n]; at.len {
	case openCapture:
		m.c.fail("unfinished capture")
	case positionCapture:
		return lua.LNumber(at.start + 1)
	default:
		return lua.LString(m.src[at.start:][:at.len])
	}
	return lua.LNil
}

// captured returns all captures, and the whole match if there are none and it is wanted.
func (m *matcher) captured(start, end int, whole bool) (list []lua.LValue) {
	n := m.level
	if n == 0 && whole {
		n = 1
	}
	m.c.demand(n * stringCost)
	for i := range n {
		list = append(list, m.capture(i, start, end))
	}
	return list
}
