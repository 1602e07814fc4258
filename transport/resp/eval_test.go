package resp

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ringraft/ringraft/op"
	"github.com/ringraft/ringraft/transport/resp/script"
)

// The scripts that lock libraries send, with their calls.
const (
	// takeBack gives back a lock that is still the caller's: redis-py, redsync, redislock.
	takeBack = `if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) else return 0 end`
	// extend lets a lock that is the caller's live longer: redsync, redislock.
	extend = `if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("pexpire", KEYS[1], ARGV[2]) else return 0 end`
	// prolong adds to the time that is left: redis-py.
	prolong = `
		local token = redis.call('get', KEYS[1])
		if not token or token ~= ARGV[1] then return 0 end
		local expiration = redis.call('pttl', KEYS[1])
		if not expiration then expiration = 0 end
		if expiration < 0 then return 0 end
		local newttl = ARGV[2]
		if ARGV[3] == "0" then newttl = ARGV[2] + expiration end
		redis.call('pexpire', KEYS[1], newttl)
		return 1`
	// obtain takes several locks or none: redislock.
	obtain = `
		local count = 0
		for i, key in ipairs(KEYS) do
			if redis.call("exists", key) == 1 then return redis.error_reply("BUSY " .. key) end
		end
		for i, key in ipairs(KEYS) do redis.call("set", key, ARGV[1], "px", ARGV[2]) count = count + 1 end
		return count`
	increment = `local n = tonumber(redis.call("get", KEYS[1]) or 0) redis.call("set", KEYS[1], n + 1) return n + 1`
)

// eval sends a script with its keys and arguments and returns the answer.
func (c *testClient) eval(name, text string, args ...string) string {
	c.t.Helper()
	if _, err := c.conn.Write([]byte(bulks(append([]string{name, text}, args...)...))); err != nil {
		c.t.Fatal(err)
	}
	return c.read()
}

func (c *testClient) wantEval(want, text string, args ...string) {
	c.t.Helper()
	if got := c.eval("EVAL", text, args...); !strings.HasPrefix(got, want) || want == "" && got != "" {
		c.t.Errorf("%s %v: %q, want %q", text, args, got, want)
	}
}

func TestLocksOfLibraries(t *testing.T) {
	t.Parallel()
	node := newTestNode(t)
	a, b := keysApart(node)
	c := connect(t, node)
	c.want("SET "+a+" mine NX PX 30000", "+OK")
	c.wantEval(":0", takeBack, "1", a, "other")
	c.wantEval(":0", extend, "1", a, "other", "60000")
	c.wantEval(":1", extend, "1", a, "mine", "60000")
	c.want("TTL "+a, ":60")
	c.wantEval(":1", prolong, "1", a, "mine", "40000", "0")
	c.want("TTL "+a, ":100")
	c.wantEval(":1", prolong, "1", a, "mine", "40000", "1")
	c.want("TTL "+a, ":40")
	c.wantEval("-BUSY "+a, obtain, "2", b, a, "theirs", "1000")
	c.want("EXISTS "+b, ":0")
	c.wantEval(":1", takeBack, "1", a, "mine")
	c.wantEval(":0", takeBack, "1", a, "mine")
	c.wantEval(":0", prolong, "1", a, "mine", "1", "0")
	c.wantEval(":2", obtain, "2", b, a, "theirs", "30000")
	c.want("MGET "+a+" "+b, "[theirs theirs]")
}

// TestScriptsThatCollideLoseNothing: many read, add and write at once, alone and in MULTI,
// on keys of two groups.
func TestScriptsThatCollideLoseNothing(t *testing.T) {
	t.Parallel()
	node := newTestNode(t)
	a, b := keysApart(node)
	_, addr := startServer(t, ServerConfig{Node: node, CommandTimeout: time.Hour})
	const clients, rounds = 32, 4
	const both = `for _, key in ipairs(KEYS) do redis.call("set", key, (redis.call("get", key) or 0) + 1) end`
	var wg sync.WaitGroup
	done := make([]int, clients)
	for i := range clients {
		c := dial(t, addr)
		wg.Go(func() {
			for range rounds {
				for c.eval("EVAL", increment, "1", "n")[0] != ':' { // TRYAGAIN: nothing happened
				}
				if c.eval("EVAL", both, "2", a, b) == "nil" {
					done[i]++
				}
				c.do("MULTI")
				c.eval("EVAL", both, "2", a, b)
				c.do("INCR " + a)
				if c.do("EXEC")[0] == '[' {
					done[i] += 2
				}
			}
		})
	}
	wg.Wait()
	c := dial(t, addr)
	c.want("GET n", strconv.Itoa(clients*rounds))
	sum := 0
	for _, n := range done {
		sum += n
	}
	got := c.do("MGET " + a + " " + b)
	var first, second int
	if _, err := fmt.Sscanf(got, "[%d %d]", &first, &second); err != nil || first != sum || second > first || second < first/2 {
		t.Errorf("after %d additions to the first of two counters they are %s", sum, got)
	}
}

// TestScriptsReadTheLatest, though the replicas here are behind: a script that decides not
// to write has decided by what the leader has.
func TestScriptsReadTheLatest(t *testing.T) {
	t.Parallel()
	node := newTestNode(t)
	connect(t, node).want("SET lock mine", "+OK")
	old := &olderNode{testNode: node}
	_, addr := startServer(t, ServerConfig{Node: old})
	reader := dial(t, addr)
	reader.wantEval("mine", `return redis.call("get", KEYS[1])`, "1", "lock")
	if got := reader.eval("EVAL_RO", `return redis.call("get", KEYS[1])`, "1", "lock"); got != "mine" {
		t.Errorf("EVAL_RO: %q, want mine", got)
	}
	reader.want("MULTI", "+OK")
	reader.wantEval("+QUEUED", takeBack, "1", "lock", "other")
	reader.want("EXEC", "[:0]")
	reader.wantEval(":1", takeBack, "1", "lock", "mine")
	if old.served == 0 {
		t.Error("nothing was read from the replica that is behind")
	}
}

// olderNode has replicas that show nothing at all, but at level Linearizable.
type olderNode struct {
	*testNode
	served int
}

func (n *olderNode) Do(ctx context.Context, req op.Request) op.Result {
	if _, reads := req.Op.(op.Get); reads && req.Level != op.Linearizable {
		n.served++
		return op.Result{}
	}
	return n.testNode.Do(ctx, req)
}

// TestWhatStaysOfAScript: of one that was ended nothing; what one did that failed by itself.
func TestWhatStaysOfAScript(t *testing.T) {
	t.Parallel()
	_, addr := startServer(t, ServerConfig{Node: newTestNode(t), CommandTimeout: time.Hour, MaxAnswer: 1 << 20}) // steps are counted
	c := dial(t, addr)
	const write = `redis.call("set", KEYS[1], "1") `
	c.wantEval("-ERR user_script:1: boom", write+`error("boom")`, "1", "failed")
	c.wantEval("-ERR the script takes too many steps", write+`while true do end`, "1", "endless")
	c.wantEval("-ERR the script needs too much memory", write+`return string.rep("x", 1e10)`, "1", "huge")
	c.wantEval("-ERR the script reads or writes more than 256 keys", write+`for i = 1, 1000 do redis.call("set", i, i) end`, "1", "many")
	c.wantEval("-ERR the script reads or writes more than 256 keys", write+`for i = 1, 1000 do redis.call("exists", i) end`, "1", "many")
	c.wantEval("-ERR transaction: reads and writes more than", write+`for i = 1, 9 do redis.call("setrange", i, 10000000, "x") end`, "1", "long")
	c.wantEval(string("-"+errLongAnswer), write+`return string.rep("x", 2e6)`, "1", "answered")
	c.want("MGET failed endless huge many long answered", "[1 nil nil nil nil nil]")
	c.want("MULTI", "+OK")
	c.want("SET before 1", "+QUEUED")
	c.wantEval("+QUEUED", write+`while true do end`, "1", "within")
	c.want("SET after 1", "+QUEUED")
	c.want("EXEC", "[+OK -ERR the script takes too many steps +OK]")
	c.want("MGET before within after", "[1 nil 1]")
}

// TestAScriptSeesWhatItWrote before anyone else does.
func TestAScriptSeesWhatItWrote(t *testing.T) {
	t.Parallel()
	node := newTestNode(t)
	a, b := keysApart(node)
	writes := 0
	node.bend = func(req op.Request, res op.Result) *op.Error {
		if _, ok := req.Op.(op.Write); ok && res.Err == nil {
			writes++
		}
		return nil
	}
	c := connect(t, node)
	c.wantEval("[5 15 xy :2 nil :0]", `
		redis.call("set", KEYS[1], 5)
		local first = redis.call("get", KEYS[1])
		redis.call("incrby", KEYS[1], 10)
		redis.call("set", KEYS[2], "x") redis.call("append", KEYS[2], "y")
		local out = {first, redis.call("get", KEYS[1]), redis.call("get", KEYS[2]), redis.call("strlen", KEYS[2])}
		redis.call("del", KEYS[2])
		out[5], out[6] = redis.call("get", KEYS[2]), redis.call("exists", KEYS[2])
		return out`, "2", a, b)
	c.want("MGET "+a+" "+b, "[15 nil]")
	if writes != 1 {
		t.Errorf("%d writes were sent, want one", writes)
	}
}

func TestScriptsAreKeptPerNode(t *testing.T) {
	t.Parallel()
	node := newTestNode(t)
	c, other := connect(t, node), connect(t, node)
	sha := c.eval("SCRIPT", "LOAD", "return 1")
	if got := c.eval("EVALSHA", sha, "0"); got != ":1" {
		t.Errorf("EVALSHA: %q", got)
	}
	if got := other.eval("EVALSHA", sha, "0"); !strings.HasPrefix(got, "-NOSCRIPT ") {
		t.Errorf("EVALSHA at another node: %q, want NOSCRIPT", got)
	}
	other.wantEval(":1", "return 1", "0")
	if got := other.eval("EVALSHA", strings.ToUpper(sha), "0"); got != ":1" {
		t.Errorf("EVALSHA after EVAL: %q", got)
	}
	c.want("SCRIPT EXISTS "+sha+" x", "[:1 :0]")
	c.want("SCRIPT FLUSH", "+OK")
	c.want("SCRIPT EXISTS "+sha, "[:0]")
}

// TestScriptsAreBounded in number and bytes; those used last stay.
func TestScriptsAreBounded(t *testing.T) {
	t.Parallel()
	s := newScripts()
	first := script.SHA("return 0")
	for i := range 2 * maxScripts {
		if _, err := s.load(t.Context(), "return "+strconv.Itoa(i)); err != nil {
			t.Fatal(err)
		}
		if s.find(first) == nil {
			t.Fatalf("a script that is used all the time is gone after %d others", i)
		}
	}
	if n := s.used.Len(); n != maxScripts || len(s.bySHA) != n {
		t.Errorf("%d scripts are kept, want %d", n, maxScripts)
	}
	long := "--" + strings.Repeat("x", script.MaxText-16) + "\nreturn "
	for i := range 2 * maxScriptBytes / len(long) {
		if _, err := s.load(t.Context(), long+strconv.Itoa(i)); err != nil {
			t.Fatal(err)
		}
	}
	sum := 0
	for _, e := range s.bySHA {
		sum += e.Value.(*script.Script).Size
	}
	if sum > maxScriptBytes || sum != s.bytes || sum < maxScriptBytes/2 {
		t.Errorf("texts of %d bytes are kept and %d counted, want %d at most", sum, s.bytes, maxScriptBytes)
	}
}

// BenchmarkLock is the script that gives a lock back, from the command to the answer, with
// a node that answers at once.
func BenchmarkLock(b *testing.B) {
	l := newPipes()
	defer l.Close()
	server, err := NewServer(ServerConfig{Listener: l, Node: &atOnce{standIn{value: []byte("mine")}}})
	if err != nil {
		b.Fatal(err)
	}
	c := &conn{server: server, session: newSession(server.cfg.Node), ctx: b.Context()}
	q := query{name: "eval", args: [][]byte{[]byte(takeBack), []byte("1"), []byte("lock"), []byte("mine")}}
	b.ReportAllocs()
	for b.Loop() {
		r := reply{proto: 2}
		if err := c.transact(nil, &r, func(t *attempt, r *reply) error { return stepsEval(t, q, r) }); err != nil || string(r.b) != ":1\r\n" {
			b.Fatalf("%q, %v", r.b, err)
		}
	}
}

type atOnce struct{ standIn }

func (n *atOnce) Do(context.Context, op.Request) op.Result {
	return op.Result{Found: true, Value: n.value, Version: 1}
}
