package script

import (
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// bytesPerStep is how many bytes are searched or copied in the time of an instruction.
const bytesPerStep = 64

func stringLibrary() map[string]builtin {
	return map[string]builtin{
		"byte":    stringByte,
		"char":    stringChar,
		"find":    stringFind,
		"format":  stringFormat,
		"gmatch":  stringGmatch,
		"gsub":    stringGsub,
		"len":     func(c call) int { return c.pushNumber(float64(len(c.str(1)))) },
		"lower":   func(c call) int { return c.mapped(func(b byte) byte { return shifted(b, 'A', 'Z') }) },
		"match":   stringMatch,
		"rep":     stringRep,
		"reverse": stringReverse,
		"sub":     stringSub,
		"upper":   func(c call) int { return c.mapped(func(b byte) byte { return shifted(b, 'a', 'z') }) },
	}
}

// place returns the offset of the n-th argument, a position from 1 on, or from the end if
// it is negative.
func (c call) place(n, otherwise, length int) int {
	i := c.intOr(n, otherwise)
	if i < 0 {
		i = max(length+i+1, 0)
	}
	return i
}

func stringByte(c call) int {
	s := c.str(1)
	from := c.place(2, 1, len(s))
	to := c.place(3, from, len(s))
	from, to = max(from, 1), min(to, len(s))
	if from > to {
		return 0
	}
	if to-from >= maxResults {
		c.fail("string slice too long")
	}
	for i := from; i <= to; i++ {
		c.push(lua.LNumber(s[i-1]))
	}
	return to - from + 1
}

func stringChar(c call) int {
	b := make([]byte, c.L.GetTop())
	for i := range b {
		n := c.int(i + 1)
		if n < 0 || n > 255 {
			c.badArg(i+1, "invalid value")
		}
		b[i] = byte(n)
	}
	return c.pushText(string(b))
}

// shifted changes the case of a letter between first and last.
func shifted(b, first, last byte) byte {
	if first <= b && b <= last {
		return b ^ ('a' - 'A')
	}
	return b
}

func (c call) mapped(f func(byte) byte) int {
	s := c.str(1)
	c.room(len(s))
	b := []byte(s)
	for i := range b {
		b[i] = f(b[i])
	}
	return c.pushText(string(b))
}

func stringRep(c call) int {
	s, n := c.str(1), c.int(2)
	if n <= 0 || s == "" {
		return c.push(lua.LString(""))
	}
	if n > maxMemory/len(s) {
		n = maxMemory / len(s) // more than there is
	}
	c.room(n*len(s) + stringCost)
	return c.push(lua.LString(strings.Repeat(s, n)))
}

func stringReverse(c call) int {
	s := c.str(1)
	c.room(len(s))
	b := make([]byte, len(s))
	for i := range b {
		b[len(s)-1-i] = s[i]
	}
	return c.pushText(string(b))
}

// stringSub shares the bytes of the string that it is part of.
func stringSub(c call) int {
	s := c.str(1)
	c.int(2)
	from := max(c.place(2, 1, len(s)), 1)
	to := min(c.place(3, -1, len(s)), len(s))
	c.demand(stringCost)
	if from > to {
		return c.push(lua.LString(""))
	}
	return c.push(lua.LString(s[from-1 : to]))
}

// stringFind returns where a pattern, or a plain text, stands, and what it captures.
func stringFind(c call) int {
	s, pattern := c.str(1), c.str(2)
	from := max(c.place(3, 1, len(s)), 1) - 1
	if from > len(s) {
		from = len(s)
	}
	if c.has(4) && lua.LVAsBool(c.L.Get(4)) || !strings.ContainsAny(pattern, "^$*+?.([%-") {
		c.work((len(s) - from) / bytesPerStep)
		i := strings.Index(s[from:], pattern)
		if i < 0 {
			return c.push(lua.LNil)
		}
		return c.push(lua.LNumber(from+i+1), lua.LNumber(from+i+len(pattern)))
	}
	m := newMatcher(c, s, pattern)
	start, end := m.find(from)
	if start < 0 {
		return c.push(lua.LNil)
	}
	return c.push(lua.LNumber(start+1), lua.LNumber(end)) + c.push(m.captured(start, end, false)...)
}

func stringMatch(c call) int {
	s, pattern := c.str(1), c.str(2)
	m := newMatcher(c, s, pattern)
	start, end := m.find(min(max(c.place(3, 1, len(s)), 1)-1, len(s)))
	if start < 0 {
		return c.push(lua.LNil)
	}
	return c.push(m.captured(start, end, true)...)
}

// stringGmatch returns a function that goes from match to match. An anchor means nothing
// in its pattern.
func stringGmatch(c call) int {
	s, pattern := c.str(1), c.str(2)
	c.demand(functionCost)
	at := 0
	return c.push(c.L.NewFunction(func(L *lua.LState) int {
		c := call{c.sandbox, L, "gmatch"}
		m := newMatcher(c, s, pattern)
		m.anchored, m.first = false, 0
		start, end := m.find(at)
		if start < 0 {
			at = len(s) + 1
			return c.push(lua.LNil)
		}
		if at = end; end == start {
			at++
		}
		return c.push(m.captured(start, end, true)...)
	}))
}

// stringGsub replaces matches by a text, by what a table has, or by what a function returns.
func stringGsub(c call) int {
	s, pattern := c.str(1), c.str(2)
	by := c.L.Get(3)
	switch by.Type() {
	case lua.LTString, lua.LTNumber, lua.LTTable, lua.LTFunction:
	default:
		c.badArg(3, "string/function/table expected")
	}
	most := c.intOr(4, len(s)+1)
	m := newMatcher(c, s, pattern)
	var b []byte
	add := func(part string) {
		if len(b)+len(part) > cap(b) {
			c.room(2 * (len(b) + len(part)))
		}
		b = append(b, part...)
	}
	n, at := 0, 0
	for n < most {
		m.level = 0
		end := m.match(at, m.first)
		if end >= 0 {
			n++
			add(c.replacement(m, by, at, end))
		}
		switch {
		case end > at:
			at = end
		case at < len(s):
			add(s[at : at+1])
			at++
		default:
			at = len(s) + 1
		}
		if at > len(s) || m.anchored {
			break
		}
	}
	if at < len(s) {
		add(s[at:])
	}
	return c.pushText(string(b)) + c.push(lua.LNumber(n))
}

func (c call) replacement(m *matcher, by lua.LValue, start, end int) string {
	var v lua.LValue
	switch by := by.(type) {
	case *lua.LTable:
		v = c.L.GetTable(by, m.captured(start, end, true)[0])
	case *lua.LFunction:
		v = c.invoke(by, m.captured(start, end, true)...)
	default:
		return c.expand(m, c.display(by), start, end)
	}
	switch {
	case lua.LVIsFalse(v):
		return m.src[start:end]
	case !lua.LVCanConvToString(v):
		c.fail("invalid replacement value (a %s)", v.Type())
	}
	return c.display(v)
}

// expand replaces %0 to %9 in the text of a replacement.
func (c call) expand(m *matcher, text string, start, end int) string {
	if !strings.Contains(text, "%") {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		part := text[i : i+1]
		if text[i] == '%' && i+1 < len(text) {
			i++
			switch d := text[i]; {
			case d == '0':
				part = m.src[start:end]
			case '1' <= d && d <= '9':
				part = c.display(m.capture(int(d-'1'), start, end))
			default:
				part = text[i : i+1]
			}
		}
		c.room(2 * len(part))
		b.WriteString(part)
	}
	return b.String()
}
