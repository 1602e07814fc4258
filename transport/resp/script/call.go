package script

import (
	"fmt"
	"math"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// builtin is a function of the library. It returns how many results it has pushed.
type builtin func(c call) int

// call is a call of a builtin. Its methods raise an error for arguments of another kind,
// in the words of Lua.
type call struct {
	*sandbox
	L    *lua.LState
	name string
}

// fail raises an error, with its place in the script if a script called.
func (c call) fail(format string, args ...any) { c.raise(fmt.Sprintf(format, args...), 1) }

// raise raises a text with the place of a caller, 1 being the nearest, 0 none.
func (c call) raise(text string, caller int) {
	if place := c.L.Where(caller); caller > 0 && strings.HasPrefix(place, chunkName) {
		text = place + " " + text
	}
	c.L.Error(lua.LString(text), 0)
}

// failAs raises an error as commands do: a table with the text, whose first word says the
// kind.
func (c call) failAs(text string) {
	t := c.newTable(0, 1)
	t.RawSetString("err", lua.LString(text))
	c.L.Error(t, 1)
}

func (c call) badArg(n int, format string, args ...any) {
	c.fail("bad argument #%d to '%s' (%s)", n, c.name, fmt.Sprintf(format, args...))
}

// expected raises an error, since the n-th argument is no want.
func (c call) expected(n int, want string) {
	got := "no value"
	if n <= c.L.GetTop() {
		got = c.L.Get(n).Type().String()
	}
	c.badArg(n, "%s expected, got %s", want, got)
}

func (c call) has(n int) bool { return n <= c.L.GetTop() && c.L.Get(n) != lua.LNil }

func (c call) any(n int) lua.LValue {
	if n > c.L.GetTop() {
		c.badArg(n, "value expected")
	}
	return c.L.Get(n)
}

func (c call) table(n int) *lua.LTable {
	t, ok := c.L.Get(n).(*lua.LTable)
	if !ok {
		c.expected(n, "table")
	}
	return t
}

// own returns a table that the script may change.
func (c call) own(n int) *lua.LTable {
	t := c.table(n)
	if c.fixed[t] {
		c.raise(errReadOnlyTable, 0)
	}
	return t
}

func (c call) function(n int) *lua.LFunction {
	f, ok := c.L.Get(n).(*lua.LFunction)
	if !ok {
		c.expected(n, "function")
	}
	return f
}

func (c call) str(n int) string {
	switch v := c.L.Get(n).(type) {
	case lua.LString:
		return string(v)
	case lua.LNumber:
		return formatNumber(float64(v))
	}
	c.expected(n, "string")
	return ""
}

func (c call) num(n int) float64 {
	switch v := c.L.Get(n).(type) {
	case lua.LNumber:
		return float64(v)
	case lua.LString:
		if f, ok := parseNumber(string(v)); ok {
			return f
		}
	}
	c.expected(n, "number")
	return 0
}

func (c call) int(n int) int { return toInt(c.num(n)) }

func (c call) intOr(n, otherwise int) int {
	if !c.has(n) {
		return otherwise
	}
	return c.int(n)
}

// toInt drops the fraction, and keeps to what an int can be.
func toInt(f float64) int {
	switch {
	case f != f:
		return math.MinInt64
	case f >= math.MaxInt64:
		return math.MaxInt64
	case f <= math.MinInt64:
		return math.MinInt64
	}
	return int(f)
}

// The results of a call.

func (c call) push(values ...lua.LValue) int {
	for _, v := range values {
		c.L.Push(v)
	}
	return len(values)
}

func (c call) pushNumber(f float64) int { return c.push(lua.LNumber(f)) }

// pushText pushes a string that did not exist before.
func (c call) pushText(s string) int {
	return c.push(c.text(s))
}

// room ends the run if there is no memory for a text of so many bytes; pushing it asks for
// as much again, which is the copy.
func (c call) room(bytes int) {
	if bytes > maxMemory {
		c.budget.end(ErrMemory)
	}
	c.demand(bytes)
}

// invoke calls a function and returns its first result.
func (c call) invoke(f lua.LValue, args ...lua.LValue) lua.LValue {
	c.L.Push(f)
	for _, a := range args {
		c.L.Push(a)
	}
	c.L.Call(len(args), 1)
	v := c.L.Get(-1)
	c.L.Pop(1)
	return v
}

// display is what tostring makes of a value without a metatable.
func (c call) display(v lua.LValue) string {
	switch v := v.(type) {
	case lua.LNumber:
		return formatNumber(float64(v))
	case *lua.LUserData:
		if v == c.null {
			return "userdata: (nil)"
		}
	}
	return v.String()
}
