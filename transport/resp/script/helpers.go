package script

import (
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// maxChain is how many tables a metatable may lead through.
const maxChain = 100

// join is the operator .. with all its operands.
func join(c call) int {
	args := c.args(1)
	size := 0
	for _, v := range args {
		if !lua.LVCanConvToString(v) {
			return c.push(c.joinPairs(args))
		}
		size += len(c.display(v))
	}
	c.room(size)
	var b strings.Builder
	b.Grow(size)
	for _, v := range args {
		b.WriteString(c.display(v))
	}
	return c.push(lua.LString(b.String()))
}

// joinPairs joins from the right, with the operands' own functions where they have some.
func (c call) joinPairs(args []lua.LValue) lua.LValue {
	right := args[len(args)-1]
	for i := len(args) - 2; i >= 0; i-- {
		left := args[i]
		if lua.LVCanConvToString(left) && lua.LVCanConvToString(right) {
			a, b := c.display(left), c.display(right)
			c.room(len(a) + len(b) + stringCost)
			right = lua.LString(a + b)
			continue
		}
		f := c.L.GetMetaField(left, "__concat")
		if f == lua.LNil {
			f = c.L.GetMetaField(right, "__concat")
		}
		if f == lua.LNil {
			bad := left
			if lua.LVCanConvToString(left) {
				bad = right
			}
			c.fail("attempt to concatenate a %s value", bad.Type())
		}
		right = c.invoke(f, left, right)
	}
	return right
}

// store is t[k] = v.
func store(c call) int {
	key, value := c.L.Get(2), c.L.Get(3)
	target := c.L.Get(1)
	for range maxChain {
		t, isTable := target.(*lua.LTable)
		next := c.L.GetMetaField(target, "__newindex")
		switch {
		case isTable && c.fixed[t]:
			c.fail(errReadOnlyTable)
		case isTable && (next == lua.LNil || t.RawGet(key) != lua.LNil):
			c.put(t, key, value)
			return 0
		case next == lua.LNil:
			c.fail("attempt to index a %s value", target.Type())
		case next.Type() == lua.LTFunction:
			c.invoke(next, target, key, value)
			return 0
		}
		target = next
	}
	c.fail("loop in settable")
	return 0
}

func makeTable(c call) int { return c.push(c.newTable(0, 0)) }

func reserve(c call) int {
	c.demand(c.int(1))
	return c.push(lua.LTrue)
}

// index asks for the list that a constructor makes up to a number.
func index(c call) int {
	if i, ok := isIndex(c.L.Get(1)); ok {
		c.demand(i * gapCost)
	}
	return c.push(c.L.Get(1))
}

// spreadOut asks for the items that end a constructor.
func spreadOut(c call) int {
	c.demand(c.L.GetTop() * itemCost)
	return c.L.GetTop()
}

// bound makes a number of what bounds a loop.
func bound(c call) int {
	switch v := c.L.Get(1).(type) {
	case lua.LNumber:
		return c.push(v)
	case lua.LString:
		if n, ok := parseNumber(string(v)); ok {
			return c.pushNumber(n)
		}
	}
	c.fail("'for' %s must be a number", c.str(2))
	return 0
}
