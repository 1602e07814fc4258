package script

import (
	"fmt"
	"math"

	lua "github.com/yuin/gopher-lua"
)

// A list with holes is written with nulls in them, unless it is sparse: its end is beyond
// sparseFrom and more than sparseRatio times its items.
const (
	sparseFrom  = 10
	sparseRatio = 2
)

func jsonLibrary() map[string]builtin {
	return map[string]builtin{"encode": jsonEncode, "decode": jsonDecode}
}

func jsonEncode(c call) int {
	if c.L.GetTop() != 1 {
		c.badArg(1, "expected 1 argument")
	}
	e := encoder{c: c}
	e.value(c.L.Get(1), 0)
	return c.pushText(string(e.b))
}

// encoder writes JSON.
type encoder struct {
	c call
	b []byte
}

func (e *encoder) add(text string) {
	if len(e.b)+len(text) > cap(e.b) {
		e.c.room(2 * (len(e.b) + len(text)))
	}
	e.b = append(e.b, text...)
}

func (e *encoder) value(v lua.LValue, depth int) {
	e.c.work(1)
	switch v := v.(type) {
	case lua.LString:
		e.text(string(v))
	case lua.LNumber:
		e.number(float64(v))
	case lua.LBool:
		e.add(v.String())
	case *lua.LTable:
		if depth++; depth > maxNested {
			e.c.fail("Cannot serialise, excessive nesting (%d)", depth)
		}
		if n := e.listLength(v); n > 0 {
			e.list(v, n, depth)
		} else {
			e.object(v, depth)
		}
	default:
		if v != lua.LNil && v != e.c.null {
			e.c.fail("Cannot serialise %s: type not supported", v.Type())
		}
		e.add("null")
	}
}

func (e *encoder) number(f float64) {
	if math.IsInf(f, 0) || math.IsNaN(f) {
		e.c.fail("Cannot serialise number: must not be NaN or Inf")
	}
	e.add(formatNumber(f))
}

// listLength returns the greatest index of a table that has no other keys, or 0.
func (e *encoder) listLength(t *lua.LTable) int {
	most, items := 0.0, 0
	for key, _ := t.Next(lua.LNil); key != lua.LNil; key, _ = t.Next(key) {
		e.c.work(1)
		n, ok := key.(lua.LNumber)
		if !ok || n < 1 || float64(n) != math.Trunc(float64(n)) {
			return 0
		}
		most = max(most, float64(n))
		items++
	}
	if most > sparseFrom && most > float64(items*sparseRatio) {
		e.c.fail("Cannot serialise table: excessively sparse array")
	}
	return int(most)
}

func (e *encoder) list(t *lua.LTable, n, depth int) {
	e.add("[")
	for i := 1; i <= n; i++ {
		if i > 1 {
			e.add(",")
		}
		e.value(t.RawGet(lua.LNumber(i)), depth)
	}
	e.add("]")
}

func (e *encoder) object(t *lua.LTable, depth int) {
	e.add("{")
	first := true
	for key, v := t.Next(lua.LNil); key != lua.LNil; key, v = t.Next(key) {
		if !first {
			e.add(",")
		}
		first = false
		switch key := key.(type) {
		case lua.LString:
			e.text(string(key))
		case lua.LNumber:
			e.add(`"`)
			e.number(float64(key))
			e.add(`"`)
		default:
			e.c.fail("Cannot serialise %s: table key must be a number or string", key.Type())
		}
		e.add(":")
		e.value(v, depth)
	}
	e.add("}")
}

func (e *encoder) text(s string) {
	e.add(`"`)
	from := 0
	for i := range len(s) {
		if escape := escapeOf(s[i]); escape != "" {
			e.add(s[from:i])
			e.add(escape)
			from = i + 1
		}
	}
	e.add(s[from:])
	e.add(`"`)
}

// escapeOf returns how a byte is written, nothing if as it is.
func escapeOf(b byte) string {
	switch b {
	case '"', '\\', '/':
		return `\` + string(rune(b))
	case '\b':
		return `\b`
	case '\f':
		return `\f`
	case '\n':
		return `\n`
	case '\r':
		return `\r`
	case '\t':
		return `\t`
	}
	if b < ' ' || b == 127 {
		return fmt.Sprintf(`\u%04x`, b)
	}
	return ""
}
