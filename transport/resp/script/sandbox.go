package script

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

const (
	// maxCalls is how deep calls go, maxRegisters how many values they keep, 16 B each.
	maxCalls     = 2048
	maxRegisters = 16 << 10
	// maxNested is how deep answers and documents go that a script makes.
	maxNested = 1000
)

// sandbox is a machine with its library, and what the run may take that it is used for.
// Scripts can change nothing of it that the next run sees.
type sandbox struct {
	state   *lua.LState
	global  *lua.LTable
	fixed   map[*lua.LTable]bool // tables that scripts cannot change
	null    *lua.LUserData       // what JSON's null is
	step    *lua.LFunction       // of ipairs
	helpers []*lua.LFunction     // of the rewritten text

	budget budget
	host   Host
	proto  int // of the answers to the script's commands
	random drand48
}

func newSandbox() *sandbox {
	s := &sandbox{
		fixed: map[*lua.LTable]bool{},
		null:  &lua.LUserData{Metatable: lua.LNil},
		state: lua.NewState(lua.Options{
			SkipOpenLibs: true, MinimizeStackMemory: true, CallStackSize: maxCalls,
			RegistrySize: 256, RegistryMaxSize: maxRegisters, RegistryGrowStep: 1024,
		}),
	}
	s.state.SetContext(&s.budget)
	s.step = s.function("ipairs", ipairsStep)
	for i, f := range []builtin{join, store, makeTable, reserve, index, spreadOut, bound} {
		s.helpers = append(s.helpers, s.function(strings.TrimSpace(helperNames()[i]), f))
	}
	s.protectGlobals()
	return s
}

// run carries a script out. The machine is of no further use after an error, also one of
// the script's.
func (s *sandbox) run(b budget, script *Script, in Invocation, host Host) (answer Value, raised error) {
	defer func() {
		if cause := recover(); cause != nil { // the machine's own fault
			answer, raised = nil, fmt.Errorf("the script broke the machine: %v", cause)
			s.budget.end(raised)
		}
		s.budget.pause()
		s.budget.settle()
		s.forget()
	}()
	s.budget, s.host, s.proto = b, host, 2
	s.budget.resume()
	s.random.seed(0)
	s.give("KEYS", in.Keys)
	s.give("ARGV", in.Args)
	L := s.state
	L.Push(L.NewFunctionFromProto(script.proto))
	for _, helper := range s.helpers {
		L.Push(helper)
	}
	if raised = L.PCall(len(s.helpers), 1, nil); raised == nil {
		answer = s.value(L.Get(-1), 0)
		L.SetTop(0)
	}
	return answer, raised
}

// forget drops what belongs to a run.
func (s *sandbox) forget() {
	s.host, s.budget.Context = nil, nil
	s.global.RawSetString("KEYS", lua.LNil)
	s.global.RawSetString("ARGV", lua.LNil)
}

// protectGlobals makes the environment an empty table, behind which stand the globals: so
// every assignment is seen, and every name that is not there.
func (s *sandbox) protectGlobals() {
	L := s.state
	env := L.Env
	s.global = s.library(baseLibrary())
	for _, lib := range []struct {
		name  string
		funcs map[string]builtin
	}{
		{"string", stringLibrary()}, {"table", tableLibrary()}, {"math", mathLibrary()},
		{"bit", bitLibrary()}, {"cjson", jsonLibrary()}, {"redis", redisLibrary()},
	} {
		s.global.RawSetString(lib.name, s.library(lib.funcs))
	}
	s.constants()
	s.global.RawSetString("_G", env)
	s.global.RawSetString("_VERSION", lua.LString(lua.LuaVersion))
	s.global.Metatable = s.library(map[string]builtin{"__index": missing})
	env.Metatable = s.library(map[string]builtin{"__newindex": readOnly})
	env.Metatable.(*lua.LTable).RawSetString("__index", s.global)
	s.fixed[env] = true
	strings := s.library(nil)
	strings.RawSetString("__index", s.global.RawGetString("string"))
	L.SetMetatable(lua.LString(""), strings)
}

func missing(c call) int {
	c.fail("Script attempted to access nonexistent global variable '%s'", c.display(c.L.Get(2)))
	return 0
}

func readOnly(c call) int {
	c.fail(errReadOnlyTable)
	return 0
}

// library makes a table of functions that scripts cannot change.
func (s *sandbox) library(libs ...map[string]builtin) *lua.LTable {
	t := s.state.CreateTable(0, 32)
	for _, lib := range libs {
		for _, name := range slices.Sorted(maps.Keys(lib)) { // the order in which scripts see them
			t.RawSetString(name, s.function(name, lib[name]))
		}
	}
	s.fixed[t] = true
	return t
}

func (s *sandbox) function(name string, f builtin) *lua.LFunction {
	return s.state.NewFunction(func(L *lua.LState) int { return f(call{s, L, name}) })
}

func (s *sandbox) constants() {
	set := func(lib, name string, v lua.LValue) { s.global.RawGetString(lib).(*lua.LTable).RawSetString(name, v) }
	set("math", "pi", lua.LNumber(3.14159265358979323846))
	set("math", "huge", lua.LNumber(infinity))
	set("cjson", "null", s.null)
	for level, name := range []string{"LOG_DEBUG", "LOG_VERBOSE", "LOG_NOTICE", "LOG_WARNING"} {
		set("redis", name, lua.LNumber(level))
	}
	set("redis", "REPL_NONE", lua.LNumber(0))
	set("redis", "REPL_AOF", lua.LNumber(1))
	set("redis", "REPL_SLAVE", lua.LNumber(2))
	set("redis", "REPL_REPLICA", lua.LNumber(2))
	set("redis", "REPL_ALL", lua.LNumber(3))
	set("redis", "REDIS_VERSION", lua.LString(LikeRedis))
	set("redis", "REDIS_VERSION_NUM", lua.LNumber(likeRedisNumber))
}

// LikeRedis is the version of Redis whose behaviour is ours, and likeRedisNumber the same
// as 0xMMmmpp.
const (
	LikeRedis       = "7.0.15"
	likeRedisNumber = 0x07000f
)

// give sets a global to a list of strings, if there is memory for them.
func (s *sandbox) give(name string, list [][]byte) {
	size := tableCost + len(list)*(stringCost+itemCost)
	for _, b := range list {
		size += len(b)
	}
	if !s.budget.take(size) {
		return
	}
	t := s.state.CreateTable(len(list), 1)
	for _, b := range list {
		t.Append(lua.LString(b))
	}
	s.global.RawSetString(name, t)
}

// failureOf says what a script has raised, where.
func failureOf(raised error, sha string) Failure {
	text := raised.Error()
	line := ""
	var e *lua.ApiError
	if errors.As(raised, &e) {
		text = raisedText(e.Object)
		line = lineIn(e.StackTrace)
	}
	text += " script: " + sha
	if line != "" {
		text += ", on @" + chunkName + ":" + line + "."
	}
	return Failure(text)
}

// raisedText is the text of an error: that of a table with an err, or a text of no kind.
func raisedText(object lua.LValue) string {
	if t, ok := object.(*lua.LTable); ok {
		if text, ok := t.RawGetString("err").(lua.LString); ok {
			return string(text)
		}
	}
	return "ERR " + object.String()
}

// lineIn returns the first line of the script in a trace of its calls.
func lineIn(trace string) string {
	_, rest, found := strings.Cut(trace, chunkName+":")
	line, _, _ := strings.Cut(rest, ":")
	if _, err := strconv.Atoi(line); !found || err != nil {
		return ""
	}
	return line
}
