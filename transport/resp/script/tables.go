package script

import (
	"sort"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

func tableLibrary() map[string]builtin {
	return map[string]builtin{
		"concat": tableConcat,
		"getn":   func(c call) int { return c.pushNumber(float64(c.table(1).Len())) },
		"insert": tableInsert,
		"maxn":   tableMaxN,
		"remove": tableRemove,
		"sort":   tableSort,
	}
}

func tableConcat(c call) int {
	t := c.table(1)
	sep := ""
	if c.has(2) {
		sep = c.str(2)
	}
	from, to := c.intOr(3, 1), c.intOr(4, t.Len())
	var parts []string
	size := 0
	for i := from; i <= to; i++ {
		v := t.RawGet(lua.LNumber(i))
		if !lua.LVCanConvToString(v) {
			c.fail("invalid value (%s) at index %d in table for 'concat'", v.Type(), i)
		}
		part := c.display(v)
		size += len(part) + len(sep)
		c.room(len(sep) + len(part) + itemCost)
		parts = append(parts, part)
	}
	return c.push(lua.LString(strings.Join(parts, sep)))
}

func tableInsert(c call) int {
	t := c.own(1)
	end := t.Len() + 1
	switch c.L.GetTop() {
	case 2:
		c.put(t, lua.LNumber(end), c.L.Get(2))
	case 3:
		at := c.int(2)
		if at < end && at > 0 && c.L.Get(3) != lua.LNil {
			c.demand(itemCost)
			c.work((end - at) / itemsPerStep)
			t.Insert(at, c.L.Get(3))
		} else {
			c.put(t, lua.LNumber(at), c.L.Get(3))
		}
	default:
		c.fail("wrong number of arguments to 'insert'")
	}
	return 0
}

// itemsPerStep is how many items of a list are moved in the time of an instruction.
const itemsPerStep = 64

func tableRemove(c call) int {
	t := c.own(1)
	n := t.Len()
	at := c.intOr(2, n)
	if n == 0 || at < 1 || at > n {
		return c.push(lua.LNil)
	}
	c.work((n - at) / itemsPerStep)
	v := t.RawGetInt(at)
	if at == n {
		t.RawSetInt(n, lua.LNil)
	} else {
		t.Remove(at)
	}
	return c.push(v)
}

func tableMaxN(c call) int {
	most := 0.0
	t := c.table(1)
	for key, _ := t.Next(lua.LNil); key != lua.LNil; key, _ = t.Next(key) {
		if n, ok := key.(lua.LNumber); ok {
			most = max(most, float64(n))
		}
		c.work(1)
	}
	return c.pushNumber(most)
}

// tableSort sorts a copy, so that the table is whole whatever the order does.
func tableSort(c call) int {
	t := c.own(1)
	n := t.Len()
	c.demand(n * itemCost)
	list := make([]lua.LValue, n)
	for i := range list {
		list[i] = t.RawGetInt(i + 1)
	}
	less := c.less
	if c.has(2) {
		order := c.function(2)
		less = func(a, b lua.LValue) bool { return lua.LVAsBool(c.invoke(order, a, b)) }
	}
	sort.Slice(list, func(i, k int) bool {
		c.work(1)
		return less(list[i], list[k])
	})
	for i, v := range list {
		t.RawSetInt(i+1, v)
	}
	return 0
}

// less is the operator <, whose errors name no place here.
func (c call) less(a, b lua.LValue) bool {
	comparable := a.Type() == b.Type() && (lua.LVCanConvToString(a) || c.L.GetMetaField(a, "__lt") != lua.LNil)
	if !comparable {
		text := "attempt to compare " + a.Type().String() + " with " + b.Type().String()
		if a.Type() == b.Type() {
			text = "attempt to compare two " + a.Type().String() + " values"
		}
		c.raise(text, 0)
	}
	return c.L.LessThan(a, b)
}
