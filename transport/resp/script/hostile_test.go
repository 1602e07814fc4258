package script

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	lua "github.com/yuin/gopher-lua"
)

// hostile are scripts that would take all time or memory, each with the error by which it
// is to end, or nil if that does not matter.
func hostile() map[string]error {
	return map[string]error{
		`while true do end`:                                         ErrSteps,
		`local function f() return f() end f()`:                     ErrSteps,
		`while true do pcall(error) end`:                            ErrSteps,
		`local f f = function() while true do pcall(f) end end f()`: ErrMemory,
		`local t = setmetatable({}, {}) getmetatable(t).__index = function(t, k) return t[k] end return t.x`: nil,
		`local t = setmetatable({}, {}) getmetatable(t).__index = t return t.x`:                              nil,
		`local t = setmetatable({}, {}) getmetatable(t).__newindex = t t.x = 1`:                              nil,
		`local function f() return 1 + f() end return f()`:                                                   nil,
		`local function f() return pcall(f) end return f()`:                                                  ErrMemory,
		`local function f() return xpcall(f, f) end return f()`:                                              ErrMemory,
		`local t = setmetatable({}, {__tostring = tostring}) return tostring(t)`:                             nil,
		`local t = setmetatable({}, {__call = function(s) return s() end}) return t()`:                       ErrSteps,
		`table.sort({3, 2, 1, 5, 4}, function() while true do end end)`:                                      ErrSteps,

		`local s = "x" while true do s = s .. s end`:                               ErrMemory,
		`local s = "x" while true do s = s .. s .. s .. s .. s .. s .. s .. s end`: ErrMemory,
		`return string.rep("x", 1e10)`:                                             ErrMemory,
		`return ("x"):rep(2^62)`:                                                   ErrMemory,
		`local s = string.rep("x", 1e6) local t = {} for i = 1, 1e4 do t[i] = s end return table.concat(t)`: ErrMemory,
		`local s = string.rep("x", 1e6) local t = {} for i = 1, 1e4 do t[i] = s end return t`:               ErrMemory,
		`local t = {1} for i = 1, 40 do t = {t, t} end return t`:                                            ErrMemory,
		`local t = {1} for i = 1, 40 do t = {t, t} end return cjson.encode(t)`:                              nil,
		`local s = string.rep("x", 1e6) return string.gsub(s, "x", s)`:                                      ErrMemory,
		`local s = string.rep("x", 1e6) return string.gsub(s, "x", string.rep("%0", 1e3))`:                  ErrMemory,
		`local s = string.rep("\0", 1e7) while true do s = string.format("%q", s) end`:                      ErrMemory,
		`local s = string.rep("/", 1e7) while true do s = cjson.encode(s) end`:                              ErrMemory,
		`local s = string.rep("x", 3e7) return s:upper() .. s:reverse()`:                                    ErrMemory,
		`return cjson.decode(string.rep("[", 1e6))`:                                                         nil,
		`return cjson.decode("[" .. string.rep("{},", 1e6) .. "1]")`:                                        ErrMemory,

		`local t = {} for i = 1, 1e9 do t[i] = i end`:                                                  ErrMemory,
		`local t = {} for i = 1, 1e9 do t["k" .. i] = i end`:                                           ErrMemory,
		`local t = {} for i = 1, 1e9 do t[i] = {} end`:                                                 ErrMemory,
		`local t = {} for i = 1, 1e9 do t[i] = {a = i} end`:                                            ErrMemory,
		`local t = {} for i = 1, 1e9 do local e = {i} e.x = 1 t[i] = e end`:                            ErrMemory,
		`local t = {} for i = 1, 1e9 do t[i] = {unpack(t)} end`:                                        nil,
		`local t, u = {}, {} for i = 1, 7000 do u[i] = i end for i = 1, 1e9 do t[i] = {unpack(u)} end`: ErrMemory,
		`local t = {} t[6e7] = 1`:                                                                      ErrMemory,
		`local t = {} rawset(t, 6e7, 1)`:                                                               ErrMemory,
		`local t = {} table.insert(t, 6e7, 1)`:                                                         ErrMemory,
		`return {[6e7] = 1}`:                                                                           ErrMemory,
		`local t = {} for i = 1, 1e9 do t[i] = function() return i end end`:                            ErrMemory,
		`local t = {} for i = 1, 1e9 do local a, b, c, d, e, f, g, h t[i] = function() return a, b, c, d, e, f, g, h end end`:                                ErrMemory,
		`local f for i = 1, 1e9 do local g = f f = function() return g end end`:                                                                              ErrMemory,
		`local function keep(...) return arg end local t, u = {}, {} for i = 1, 7000 do u[i] = i end for i = 1, 1e4 do t[i] = keep(unpack(u)) end return #t`: nil,
		`local t = {} for i = 1, 1e9 do t[i] = ("x"):gmatch("x") end`:                                                                                        ErrMemory,
		`local t = {} for i = 1, 1e9 do t[i] = redis.status_reply("x") end`:                                                                                  ErrMemory,
		`local t = {} for i = 1, 1e9 do t[i] = redis.call("x") end`:                                                                                          ErrMemory,
		`return unpack({}, 1, 1e9)`:                                    nil,
		`return unpack({}, -2^53, 2^53)`:                               nil,
		`return select("#", string.byte(string.rep("x", 1e6), 1, -1))`: nil,
		`local function f(...) return f(1, ...) end f()`:               nil,
		`local function f(n, ...) if n == 0 then return pcall(f, 9e9, ...) end return f(n - 1, n, ...) end return f(1000)`: nil,

		`return string.find(string.rep("a", 1e5), ".-.-.-.-.-b")`:                                                ErrSteps,
		`return string.find(string.rep("a", 1e5), string.rep("a?", 100) .. string.rep("a", 100) .. "b")`:         ErrSteps,
		`return string.match(string.rep("(", 1e6), string.rep("%b()", 20))`:                                      ErrSteps,
		`return string.gsub(string.rep("a", 1e5), "a*b", "")`:                                                    ErrSteps,
		`for _ in string.gmatch(string.rep("a", 1e5), "a*b") do end`:                                             ErrSteps,
		`return string.find("x", string.rep("(", 1e4))`:                                                          nil,
		`return string.find("x", string.rep("a?", 1e4))`:                                                         nil,
		`local s = string.rep("a", 1e6) while true do s:find("b", 1, true) end`:                                  ErrSteps,
		`local s = string.rep("a", 1e6) while true do redis.sha1hex(s) end`:                                      ErrMemory,
		`local t = {} for i = 1, 1e5 do t[i] = i end while true do table.insert(t, 1, 0) table.remove(t, 1) end`: nil,
	}
}

// litters reports whether a script makes the machine drop memory all the time: frames of
// calls, threads.
func litters(text string) bool {
	return strings.Contains(text, "pcall(") || strings.Contains(text, "f() end f()") || strings.Contains(text, "s() end")
}

// TestHostileScriptsEnd in time, with little memory: all that a run allocates, live or not,
// is within what it may ask for and 8 B for each step. It does not run beside other tests.
func TestHostileScriptsEnd(t *testing.T) {
	p := NewPool()
	p.steps, p.memory = 500_000, 8<<20
	for text, want := range hostile() {
		s, err := Compile(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		answer, err := p.Run(t.Context(), s, Invocation{}, &echo{})
		runtime.ReadMemStats(&after)
		if want != nil && !errors.Is(err, want) {
			t.Errorf("%s: %.100v, %v; want %v", text, answer, err, want)
		}
		if used, most := after.TotalAlloc-before.TotalAlloc, uint64(p.memory+8*p.steps+2<<20); used > most && !litters(text) {
			t.Errorf("%s: allocated %d MiB, want %d at most (%v)", text, used>>20, most>>20, err)
		}
	}
}

// TestLimitsAreNotCaught: what ends a run ends all of it.
func TestLimitsAreNotCaught(t *testing.T) {
	t.Parallel()
	p := NewPool()
	p.steps = 100_000
	for text, want := range map[string]error{
		`pcall(function() while true do end end) return 1`:                                                                     ErrSteps,
		`xpcall(function() while true do end end, function() return 1 end) return 1`:                                           ErrSteps,
		`pcall(string.rep, "x", 1e10) return 1`:                                                                                ErrMemory,
		`return pcall(pcall, pcall, string.rep, "x", 1e10)`:                                                                    ErrMemory,
		`return cjson.encode(setmetatable({}, {__index = function() while true do end end})) and pcall(string.rep, "x", 1e10)`: ErrMemory,
	} {
		if answer, err := run(t, p, text, Invocation{}); !errors.Is(err, want) {
			t.Errorf("%s: %v, %v; want %v", text, answer, err, want)
		}
	}
}

// TestARunEndsAtTheSamePlace each time: limits are counted, not measured.
func TestARunEndsAtTheSamePlace(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`for i = 1, 1e9 do redis.call("x") end`,
		`local s = "x" for i = 1, 1e9 do s = s .. i redis.call("x") end`,
	} {
		s, err := Compile(text)
		if err != nil {
			t.Fatal(err)
		}
		p := NewPool()
		p.steps, p.memory = 100_000, 1<<20
		var calls []int
		for range 3 {
			host := &echo{}
			if _, err := p.Run(t.Context(), s, Invocation{}, host); err == nil {
				t.Fatalf("%s ended by itself", text)
			}
			calls = append(calls, host.calls)
		}
		if len(slices.Compact(calls)) != 1 {
			t.Errorf("%s: ended after %v calls", text, calls)
		}
	}
}

// TestARunLeavesNothingToTheNext: whatever a script does, the machine is as before.
func TestARunLeavesNothingToTheNext(t *testing.T) {
	t.Parallel()
	box := newSandbox()
	before := fingerprint(box)
	for _, text := range []string{
		`x = 1`, `_G.x = 1`, `rawset(_G, "x", 1)`, `KEYS = 1`, `string.rep = nil`, `string.x = 1`, `redis.call = nil`, `cjson.null = 1`,
		`rawset(string, "rep", 1)`, `table.insert(string, 1)`, `table.sort(string)`, `table.remove(string)`, `math.pi = 3`,
		`setmetatable(_G, {})`, `setmetatable(string, {})`, `getmetatable("").__index = nil`, `getmetatable(_G).__index = nil`,
		`getmetatable(_G).__newindex = nil`, `setmetatable(getmetatable(_G), {})`, `math.randomseed(1)`, `redis.setresp(3)`,
		`KEYS[1] = 2 ARGV[1] = 3`, `for k, v in pairs(redis) do redis[k] = nil end`, `function string.rep() end`, `string, table = nil, nil`,
		`function string:x() end`, `getmetatable(getmetatable(_G).__index).__index = nil`, `error("x")`, `return {KEYS, ARGV}`,
	} {
		s, err := Compile("local _ = pcall(function() " + text + " end) " + text)
		if err != nil {
			t.Fatal(err)
		}
		in := Invocation{Keys: [][]byte{[]byte("k")}, Args: [][]byte{[]byte("a")}}
		var shared atomic.Int64
		shared.Store(maxTogether)
		b := budget{Context: t.Context(), turns: make(places, 1), steps: maxSteps, memory: maxMemory, shared: &shared}
		_, _ = box.run(b, s, in, &echo{}) // it may fail
		if left := shared.Load(); left != maxTogether {
			t.Errorf("%s has kept %d bytes of what all share", text, maxTogether-left)
		}
		if after := fingerprint(box); after != before {
			t.Errorf("%s changed the machine", text)
			before = after
		}
	}
}

// fingerprint tells all that a script can reach.
func fingerprint(s *sandbox) string {
	var b strings.Builder
	seen := map[*lua.LTable]bool{}
	var walk func(v lua.LValue)
	walk = func(v lua.LValue) {
		fmt.Fprintf(&b, "%s;", v)
		t, ok := v.(*lua.LTable)
		if !ok || seen[t] {
			return
		}
		seen[t] = true
		walk(t.Metatable)
		for key, v := t.Next(lua.LNil); key != lua.LNil; key, v = t.Next(key) {
			fmt.Fprintf(&b, "%s=", key)
			walk(v)
		}
	}
	walk(s.state.Env)
	walk(s.state.GetMetatable(lua.LString("")))
	fmt.Fprint(&b, s.state.GetTop())
	return b.String()
}

// FuzzScript: whatever a text is, it is refused or ends, twice with the same answer, and
// the machine serves the next script.
func FuzzScript(f *testing.F) {
	for text := range hostile() {
		f.Add(text)
	}
	for _, text := range []string{
		`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) else return 0 end`,
		`local t = {1, 2, x = {3}} t[1], t.x[1] = t.x[1], t[1] return cjson.encode(t)`,
		`for k, v in string.gmatch("a=1, b=2", "(%w+)=(%w+)") do return k .. v end`,
		`return string.format("%5d|%-5s|%05.1f|%x|%q", 3, "ab", 2.25, 255, "a\nb")`,
		`local ok, e = pcall(error, {err = "E x"}) return {ok, e, bit.band(5, 3), select(-1, 1, 2)}`,
		"#!lua flags=no-writes\nreturn redis.pcall('fail')",
	} {
		f.Add(text)
	}
	p := NewPool()
	p.steps, p.memory = 20_000, 1<<20
	probe, err := Compile(`return string.rep("ok", 1) .. #KEYS`)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Compile(text)
		if err != nil {
			return
		}
		in := Invocation{Keys: [][]byte{[]byte("k")}, Args: [][]byte{[]byte("a")}}
		first, err1 := p.Run(t.Context(), s, in, &echo{})
		again, err2 := p.Run(t.Context(), s, in, &echo{})
		a, b := fmt.Sprintf("%#v", first), fmt.Sprintf("%#v", again)
		if (a != b || fmt.Sprint(err1) != fmt.Sprint(err2)) && !strings.Contains(a, "0x") {
			t.Errorf("%q: %s, %v, and then %s, %v", text, a, err1, b, err2)
		}
		if err1 != nil && strings.Contains(err1.Error(), "broke the machine") {
			t.Errorf("%q: %v", text, err1)
		}
		if got, err := p.Run(t.Context(), probe, in, &echo{}); got != "ok1" || err != nil {
			t.Errorf("after %q: %v, %v", text, got, err)
		}
	})
}
