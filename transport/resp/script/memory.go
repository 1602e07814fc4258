package script

import (
	"math"

	lua "github.com/yuin/gopher-lua"
)

// What things cost, in bytes: upper bounds of what the machine allocates for them, all
// copies included that it makes while a table grows.
const (
	stringCost   = 48   // beside the bytes
	tableCost    = 1024 // one that has been prepared for its first items
	growthCost   = 2560 // more, for the first key or item of one that was not
	itemCost     = 96   // an item at the end of a list
	gapCost      = 48   // an item that is skipped
	keyCost      = 448  // another key
	functionCost = 256
	upvalueCost  = 96        // a variable that a function takes along
	maxUpvalues  = 255       // of them
	threadCost   = 320 << 10 // with the values that it may keep; given back
)

// demand asks for memory, and ends the run if there is not enough.
func (c call) demand(bytes int) {
	if !c.budget.take(bytes) {
		c.raise(c.budget.over.Error(), 1)
	}
}

// work counts steps, and ends the run if there are too many.
func (c call) work(steps int) {
	if !c.budget.spend(steps) {
		c.raise(c.budget.over.Error(), 1)
	}
}

// text makes a string that did not exist, whose memory is asked for.
func (c call) text(text string) lua.LString {
	c.demand(len(text) + stringCost)
	return lua.LString(text)
}

// newTable makes a table with room for some items and keys.
func (c call) newTable(items, keys int) *lua.LTable {
	c.demand(tableCost + items*itemCost + keys*keyCost)
	return c.L.CreateTable(max(items, 1), max(keys, 1))
}

// isIndex reports whether the machine keeps a key in the list of a table.
func isIndex(key lua.LValue) (int, bool) {
	n, ok := key.(lua.LNumber)
	if !ok || n < 1 || n >= lua.LNumber(lua.MaxArrayIndex) || float64(n) != math.Trunc(float64(n)) {
		return 0, false
	}
	return int(n), true
}

// put stores into a table past its metatable, and asks for what that makes it grow. The
// list of a table reaches to its greatest index: what is skipped costs too.
func (c call) put(t *lua.LTable, key, value lua.LValue) {
	n, isNumber := key.(lua.LNumber)
	switch {
	case c.fixed[t]:
		c.fail(errReadOnlyTable)
	case key == lua.LNil:
		c.fail("table index is nil")
	case isNumber && n != n:
		c.fail("table index is NaN")
	}
	if t.RawGet(key) == lua.LNil {
		if value == lua.LNil {
			return // to store it would make the list reach there
		}
		c.demand(growth(t, key))
	}
	t.RawSet(key, value)
}

// growth is what another key of a table costs.
func growth(t *lua.LTable, key lua.LValue) int {
	if i, ok := isIndex(key); ok {
		return itemCost + max(i-t.Len()-1, 0)*gapCost
	}
	return keyCost
}

const errReadOnlyTable = "Attempt to modify a readonly table"
