package script

import (
	lua "github.com/yuin/gopher-lua"
)

const (
	// maxResults bounds the values that one call unpacks.
	maxResults = 8000
	// threadSteps is how many instructions take as long as making a thread.
	threadSteps = 64
)

func baseLibrary() map[string]builtin {
	return map[string]builtin{
		"assert":       assert,
		"error":        raiseError,
		"getmetatable": func(c call) int { return c.push(c.L.GetMetatable(c.any(1))) },
		"ipairs":       func(c call) int { return c.push(c.step, c.table(1), lua.LNumber(0)) },
		"next":         next,
		"pairs":        func(c call) int { return c.push(c.global.RawGetString("next"), c.table(1), lua.LNil) },
		"pcall":        pcall,
		"rawequal":     func(c call) int { return c.push(lua.LBool(c.L.RawEqual(c.any(1), c.any(2)))) },
		"rawget":       func(c call) int { return c.push(c.table(1).RawGet(c.any(2))) },
		"rawset":       func(c call) int { c.put(c.own(1), c.any(2), c.any(3)); return c.push(c.L.Get(1)) },
		"select":       selectFrom,
		"setmetatable": setMetatable,
		"tonumber":     toNumber,
		"tostring":     toString,
		"type":         func(c call) int { return c.push(lua.LString(c.any(1).Type().String())) },
		"unpack":       unpack,
		"xpcall":       xpcall,
	}
}

// assert returns its arguments if the first one is true.
func assert(c call) int {
	if !lua.LVAsBool(c.any(1)) {
		text := "assertion failed!"
		if c.has(2) {
			text = c.str(2)
		}
		c.fail("%s", text)
	}
	return c.L.GetTop()
}

// raiseError is error: what it is given is raised, a text with the place of a caller.
func raiseError(c call) int {
	level := max(min(c.intOr(2, 1), maxCalls), 0)
	if text, ok := c.L.Get(1).(lua.LString); ok {
		c.raise(string(text), level)
	}
	c.L.Error(c.L.Get(1), 0)
	return 0
}

func next(c call) int {
	key, value := c.table(1).Next(c.L.Get(2))
	if key == lua.LNil {
		return c.push(lua.LNil)
	}
	return c.push(key, value)
}

func ipairsStep(c call) int {
	i := c.int(2) + 1
	v := c.table(1).RawGetInt(i)
	if v == lua.LNil {
		return c.push(lua.LNil)
	}
	return c.push(lua.LNumber(i), v)
}

// protected calls the function below its arguments, on a thread of its own: where an error
// is raised the machine takes from all functions of the thread the variables that they
// share with others.
func (c call) protected(f lua.LValue, args ...lua.LValue) (results []lua.LValue, err error) {
	c.demand(threadCost)
	c.work(threadSteps)
	defer c.budget.lend(threadCost)
	thread, cancel := c.L.NewThread()
	defer cancel()
	defer thread.Close()
	thread.SetContext(&c.budget)
	thread.Push(f)
	for _, v := range args {
		thread.Push(v)
	}
	if err := thread.PCall(len(args), lua.MultRet, nil); err != nil {
		return nil, err
	}
	for i := 1; i <= thread.GetTop(); i++ {
		results = append(results, thread.Get(i))
	}
	return results, nil
}

// caught is what a script gets of an error: of one that a command made its text.
func caught(err error) lua.LValue {
	e, ok := err.(*lua.ApiError)
	if !ok {
		return lua.LString(err.Error())
	}
	if t, ok := e.Object.(*lua.LTable); ok {
		if text := t.RawGetString("err"); text.Type() == lua.LTString {
			return text
		}
	}
	return e.Object
}

func (c call) args(from int) (list []lua.LValue) {
	for i := from; i <= c.L.GetTop(); i++ {
		list = append(list, c.L.Get(i))
	}
	return list
}

func pcall(c call) int {
	results, err := c.protected(c.any(1), c.args(2)...)
	if err != nil {
		return c.push(lua.LFalse, caught(err))
	}
	return c.push(lua.LTrue) + c.push(results...)
}

// xpcall gives an error to a function, once the one that raised it has ended.
func xpcall(c call) int {
	handler := c.function(2)
	results, err := c.protected(c.any(1))
	if err != nil {
		return c.push(lua.LFalse, c.invoke(handler, caught(err)))
	}
	return c.push(lua.LTrue) + c.push(results...)
}

func selectFrom(c call) int {
	n := c.L.GetTop() - 1
	if c.L.Get(1) == lua.LString("#") {
		return c.pushNumber(float64(n))
	}
	i := c.int(1)
	if i < 0 {
		i = n + i + 1
	}
	if i < 1 {
		c.badArg(1, "index out of range")
	}
	return c.push(c.args(min(i, n+1) + 1)...)
}

func setMetatable(c call) int {
	c.table(1)
	meta, isTable := c.L.Get(2).(*lua.LTable)
	if !isTable && (c.L.GetTop() < 2 || c.L.Get(2) != lua.LNil) {
		c.badArg(2, "nil or table expected")
	}
	t := c.own(1)
	if c.L.GetMetaField(t, "__metatable") != lua.LNil {
		c.fail("cannot change a protected metatable")
	}
	if t.Metatable = lua.LNil; isTable {
		t.Metatable = meta
	}
	return c.push(t)
}

func toNumber(c call) int {
	base := c.intOr(2, 10)
	switch v := c.any(1).(type) {
	case lua.LNumber:
		if base == 10 {
			return c.push(v)
		}
	case lua.LString:
		n, ok := 0.0, false
		switch {
		case base == 10:
			n, ok = parseNumber(string(v))
		case base < 2 || base > 36:
			c.badArg(2, "base out of range")
		default:
			n, ok = parseBased(string(v), base)
		}
		if ok {
			return c.pushNumber(n)
		}
	}
	return c.push(lua.LNil)
}

func toString(c call) int {
	v := c.any(1)
	if f := c.L.GetMetaField(v, "__tostring"); f != lua.LNil {
		return c.push(c.invoke(f, v))
	}
	if v.Type() == lua.LTString {
		return c.push(v)
	}
	return c.pushText(c.display(v))
}

func unpack(c call) int {
	t := c.table(1)
	from := c.intOr(2, 1)
	to := c.intOr(3, t.Len())
	if from > to {
		return 0
	}
	if to-from < 0 || to-from >= maxResults {
		c.fail("too many results to unpack")
	}
	for i := from; i <= to; i++ {
		c.push(t.RawGet(lua.LNumber(i)))
	}
	return to - from + 1
}
