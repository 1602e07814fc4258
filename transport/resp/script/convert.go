package script

import (
	lua "github.com/yuin/gopher-lua"
)

// lua is what a script gets of an answer.
func (c call) lua(v Value) lua.LValue {
	switch v := v.(type) {
	case int64:
		return lua.LNumber(v)
	case bool:
		return lua.LBool(v)
	case string:
		return lua.LString(c.text(v))
	case Status:
		return c.field("ok", string(v))
	case Failure:
		return c.field("err", string(v))
	case Array:
		t := c.newTable(len(v), 0)
		for i := range v {
			t.RawSetInt(i+1, c.lua(v[i]))
		}
		return t
	case Map:
		t := c.newTable(0, len(v))
		for _, p := range v {
			t.RawSet(c.lua(p.Key), c.lua(p.Value))
		}
		return c.wrapped("map", t)
	case Set:
		t := c.newTable(0, len(v))
		for _, member := range v {
			t.RawSet(c.lua(member), lua.LTrue)
		}
		return c.wrapped("set", t)
	case Double:
		return c.wrapped("double", lua.LNumber(v))
	}
	if c.proto == 3 {
		return lua.LNil
	}
	return lua.LFalse // so that lists have no holes
}

func (c call) wrapped(name string, v lua.LValue) lua.LValue {
	t := c.newTable(0, 1)
	t.RawSetString(name, v)
	return t
}

// errTooNested is the answer to a script whose answer is.
const errTooNested = Failure("ERR reached lua stack limit")

// value is the answer that a script's result is. It asks for memory again, since one table
// may stand in it many times.
func (s *sandbox) value(v lua.LValue, depth int) Value {
	if !s.budget.take(keyCost) || !s.budget.spend(1) {
		return nil
	}
	switch v := v.(type) {
	case lua.LString:
		s.budget.take(2 * len(v))
		return string(v)
	case lua.LNumber:
		return integer(float64(v))
	case lua.LBool:
		switch {
		case s.proto == 3:
			return bool(v)
		case bool(v):
			return int64(1)
		}
	case *lua.LTable:
		if depth == maxNested {
			return errTooNested
		}
		return s.tableValue(v, depth+1)
	}
	return nil
}

// integer drops the fraction as a processor does, of what is too large all.
func integer(f float64) int64 {
	if f != f || f >= 1<<63 || f < -1<<63 {
		return -1 << 63
	}
	return int64(f)
}

func (s *sandbox) tableValue(t *lua.LTable, depth int) Value {
	if text, ok := t.RawGetString("err").(lua.LString); ok {
		return Failure(text)
	}
	if text, ok := t.RawGetString("ok").(lua.LString); ok {
		return Status(text)
	}
	if n, ok := t.RawGetString("double").(lua.LNumber); ok {
		return Double(n)
	}
	if pairs, ok := t.RawGetString("map").(*lua.LTable); ok {
		return s.mapValue(pairs, depth)
	}
	if members, ok := t.RawGetString("set").(*lua.LTable); ok {
		set := Set{}
		for key, _ := members.Next(lua.LNil); key != lua.LNil && s.budget.over == nil; key, _ = members.Next(key) {
			set = append(set, s.value(key, depth))
		}
		return set
	}
	list := Array{}
	for i := 1; s.budget.over == nil; i++ {
		v := t.RawGet(lua.LNumber(i))
		if v == lua.LNil {
			break
		}
		list = append(list, s.value(v, depth))
	}
	return list
}

func (s *sandbox) mapValue(pairs *lua.LTable, depth int) Map {
	m := Map{}
	for key, v := pairs.Next(lua.LNil); key != lua.LNil && s.budget.over == nil; key, v = pairs.Next(key) {
		m = append(m, Pair{s.value(key, depth), s.value(v, depth)})
	}
	return m
}
