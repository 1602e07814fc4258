package script

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// echo answers the words of a command, or fails if the first is "fail", or ends the run
// if it is "end".
type echo struct{ calls int }

var errEnded = errors.New("the host is gone")

func (e *echo) Call(args [][]byte, _ int) (Value, error) {
	e.calls++
	switch string(args[0]) {
	case "fail":
		return Failure("ERR failed"), nil
	case "end":
		return nil, errEnded
	}
	var words Array
	for _, a := range args {
		words = append(words, string(a))
	}
	return words, nil
}

// run compiles and runs a script.
func run(t testing.TB, p *Pool, text string, in Invocation) (Value, error) {
	t.Helper()
	s, err := Compile(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return p.Run(t.Context(), s, in, &echo{})
}

// TestAnswers has what the comparison with a Redis server, in package integration, has
// not: what the host sees, and answers of other types.
func TestAnswers(t *testing.T) {
	t.Parallel()
	p := NewPool()
	in := Invocation{Keys: [][]byte{[]byte("k")}, Args: [][]byte{[]byte("a"), []byte("b")}}
	for text, want := range map[string]Value{
		`return redis.call("x", 1, 1.5, 1e20, "s", KEYS[1], ARGV[2])`: Array{"x", "1", "1.5", "1e+20", "s", "k", "b"},
		`return {#KEYS, #ARGV}`:                  Array{int64(1), int64(2)},
		`return {1, {2, {ok="z"}}, {err="E y"}}`: Array{int64(1), Array{int64(2), Status("z")}, Failure("E y")},
		`return {map={a=1}}`:                     Map{{"a", int64(1)}},
		`return {set={a=true}}`:                  Set{"a"},
		`return {double=0.5}`:                    Double(0.5),
		`return false`:                           nil,
		`redis.setresp(3) return {true, false}`:  Array{true, false},
		`return redis.pcall("fail")`:             Failure("ERR failed"),
		`return math.random(100)`:                int64(18),
		`return {pcall(redis.call, "fail")}`:     Array{nil, "ERR failed"},
		`goto done do return 1 end ::done::`:     nil,
		"#!lua flags=no-writes\nreturn 7":        int64(7),
		`return tostring(cjson.null)`:            "userdata: (nil)",
		`local t = {} for i = 1, 3 do t[i] = {i} end return cjson.encode(t)`: "[[1],[2],[3]]",
	} {
		if got, err := run(t, p, text, in); err != nil || fmt.Sprintf("%#v", got) != fmt.Sprintf("%#v", want) {
			t.Errorf("%s: %#v, %v; want %#v", text, got, err, want)
		}
	}
}

// TestErrorsNameTheirPlace, in a script of many lines.
func TestErrorsNameTheirPlace(t *testing.T) {
	t.Parallel()
	p := NewPool()
	for text, want := range map[string]string{
		"\n\nlocal x\nreturn x.y":                      "ERR user_script:4: attempt to index ",
		"local function f()\n error('boom')\nend\nf()": "ERR user_script:2: boom ",
		"return\nredis.call('fail')":                   "ERR failed ",
	} {
		got, err := run(t, p, text, Invocation{})
		text, failed := got.(Failure)
		if err != nil || !failed || !strings.HasPrefix(string(text), want) || !strings.HasSuffix(string(text), ".") || !strings.Contains(string(text), ", on @user_script:") {
			t.Errorf("%q, %v; want %q", got, err, want)
		}
	}
}

func TestWhatIsNoScriptIsRefused(t *testing.T) {
	t.Parallel()
	const compiling = "ERR Error compiling script (new function): "
	for text, want := range map[string]string{
		"return 1 +\n":                 compiling + "user_script:2: syntax error near '<eof>'",
		"return x y":                   compiling + "user_script:1: syntax error near 'y'",
		`return "abc`:                  compiling + "user_script:1: unterminated string near '<eof>'",
		"goto nowhere":                 compiling + "user_script:1: no visible label",
		strings.Repeat("x", MaxText+1): compiling + "it has 65537 bytes; the limit is 65536",
		strings.Repeat("(", 20000):     compiling,
		strings.Repeat("do ", 1000) + strings.Repeat("end ", 1000): compiling + "user_script: it has more than 500 levels",
		"return " + strings.Repeat("not ", 10000) + "1":            compiling + "user_script: it has more than 500 levels",
		"return {" + strings.Repeat("1,", maxItems+1) + "}":        compiling + "user_script: a table has more than 20000 items",
		"#!lua name=x\nreturn 1":                                   "ERR Unknown lua shebang option: name=x",
		"#!lua flags=odd\nreturn 1":                                "ERR Unexpected flag in script shebang: odd",
		"#!js\nreturn 1":                                           "ERR Unexpected engine in script shebang: js",
	} {
		if _, err := Compile(text); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%.40q: %v, want %s…", text, err, want)
		}
	}
}

// TestTheHostCanEndARun, which then cannot go on by catching the error.
func TestTheHostCanEndARun(t *testing.T) {
	t.Parallel()
	s, err := Compile(`pcall(redis.call, "end") redis.call("more") return 1`)
	if err != nil {
		t.Fatal(err)
	}
	host := &echo{}
	if _, err := NewPool().Run(t.Context(), s, Invocation{}, host); err != errEnded || host.calls != 1 {
		t.Errorf("%v after %d calls, want %v after one", err, host.calls, errEnded)
	}
}

// TestARunEndsWithItsContext, while it runs and while it waits for a machine.
func TestARunEndsWithItsContext(t *testing.T) {
	t.Parallel()
	p := NewPool()
	s, err := Compile(`while true do end`)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Run(ctx, s, Invocation{}, &echo{}); !errors.Is(err, context.Canceled) {
		t.Errorf("a run whose context has ended: %v", err)
	}
	p.running = make(places)
	if _, err := p.Run(ctx, s, Invocation{}, &echo{}); !errors.Is(err, context.Canceled) {
		t.Errorf("one that waits for its place: %v", err)
	}
}

// TestScriptsShareMemory: what many take together is bounded too, and is given back.
func TestScriptsShareMemory(t *testing.T) {
	t.Parallel()
	p := NewPool()
	p.shared.Store(4 << 20)
	hold, err := Compile(`local s = string.rep("x", 3e6) redis.call("begin") return #s`)
	if err != nil {
		t.Fatal(err)
	}
	first := make(begins)
	done := make(chan error)
	go func() {
		_, err := p.Run(t.Context(), hold, Invocation{}, first)
		done <- err
	}()
	<-first
	if _, err := run(t, p, `return string.rep("x", 3e6)`, Invocation{}); !errors.Is(err, ErrBusy) {
		t.Errorf("a second script: %v, want %v", err, ErrBusy)
	}
	first <- struct{}{}
	if err := <-done; err != nil {
		t.Errorf("the first script: %v", err)
	}
	if _, err := run(t, p, `return #string.rep("x", 3e6)`, Invocation{}); err != nil {
		t.Errorf("a third script: %v", err)
	}
	if left := p.shared.Load(); left != 4<<20 {
		t.Errorf("%d bytes are left, want all", left)
	}
}

// TestScriptsTakeTurns: one that never ends does not hold up another.
func TestScriptsTakeTurns(t *testing.T) {
	t.Parallel()
	p := NewPool()
	p.turns, p.steps = make(places, 1), 1<<60
	endless, err := Compile(`redis.call("begin") while true do end`)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // for a test that fails
	defer cancel()
	var wg sync.WaitGroup
	for range 3 {
		begun := make(begins)
		wg.Go(func() {
			if _, err := p.Run(ctx, endless, Invocation{}, begun); !errors.Is(err, context.Canceled) {
				t.Errorf("the endless one: %v", err)
			}
		})
		<-begun
		begun <- struct{}{}
	}
	for range 10 {
		if answer, err := run(t, p, `return redis.call("x")`, Invocation{}); err != nil {
			t.Errorf("%v, %v", answer, err)
		}
	}
	cancel()
	wg.Wait()
}

// begins tells of a command, and answers once it is told to.
type begins chan struct{}

func (b begins) Call([][]byte, int) (Value, error) {
	b <- struct{}{}
	<-b
	return nil, nil
}

// BenchmarkLock is the script that gives a lock back, on a host that answers at once.
func BenchmarkLock(b *testing.B) {
	s, err := Compile(`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) else return 0 end`)
	if err != nil {
		b.Fatal(err)
	}
	p, in := NewPool(), Invocation{Keys: [][]byte{[]byte("lock")}, Args: [][]byte{[]byte("token")}}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.Run(b.Context(), s, in, constant("token")); err != nil {
			b.Fatal(err)
		}
	}
}

type constant string

func (c constant) Call([][]byte, int) (Value, error) { return string(c), nil }
