package httpapi

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ringraft/ringraft/internal/fakenode"
	"github.com/ringraft/ringraft/op"
)

// wantReplay fails the test unless again is first's answer, told to be a replay.
func wantReplay(t *testing.T, first, again reply) {
	t.Helper()
	if again.header.Get(replayedHeader) != "true" || first.header.Get(replayedHeader) != "" {
		t.Errorf("replayed %q, then %q", first.header.Get(replayedHeader), again.header.Get(replayedHeader))
	}
	if again.status != first.status || again.body != first.body {
		t.Errorf("%d %s, then %d %s", first.status, first.body, again.status, again.body)
	}
	for _, name := range []string{"ETag", "Content-Type", "Content-Length"} {
		if again.header.Get(name) != first.header.Get(name) {
			t.Errorf("%s: %q, then %q", name, first.header.Get(name), again.header.Get(name))
		}
	}
}

// write is a request that changes something.
type write struct {
	method, target, body string
	headers              []string
}

func (w write) send(c *connection, headers ...string) reply {
	c.front.t.Helper()
	return c.send(w.method, w.target, w.body, append(headers, w.headers...)...)
}

func manyPairs(n int) string {
	var pairs []string
	for i := range n {
		pairs = append(pairs, fmt.Sprintf(`{"key":"many%d","value":"v"}`, i))
	}
	return `{"items":[` + strings.Join(pairs, ",") + `]}`
}

func TestRepeatGetsTheFirstAnswer(t *testing.T) {
	t.Parallel()
	for name, w := range map[string]write{
		"POST":               {"POST", "/new", `{"value":"v"}`, nil},
		"POST over a value":  {"POST", "/k", `{"value":"w"}`, nil},
		"PUT":                {"PUT", "/k", "w", []string{"Content-Type: text/html"}},
		"create only":        {"POST", "/new", `{"value":"v"}`, []string{"If-None-Match: *"}},
		"under a list":       {"POST", "/k", `{"value":"w"}`, []string{`If-Match: "1", "99"`}},
		"unless one of":      {"POST", "/k", `{"value":"w"}`, []string{`If-None-Match: "98", "99"`}},
		"DELETE":             {"DELETE", "/k", "", nil},
		"DELETE of nothing":  {"DELETE", "/new", "", nil},
		"a counter":          {"POST", "/-/counters/n", `{"delta":5}`, nil},
		"a counter if new":   {"POST", "/-/counters/n", `{"delta":5}`, []string{"If-None-Match: *"}},
		"many":               {"POST", "/-/set", manyPairs(40), nil},
		"many deleted":       {"POST", "/-/delete", `{"keys":["k","a","b","c","d","e","f"]}`, nil},
		"one of many":        {"POST", "/-/set", manyPairs(1), nil},
		"a transaction":      {"POST", "/-/transactions", `{"if":[{"key":"{k}x","absent":true}],"then":[{"set":{"key":"{k}x","value":"v"}},{"add":{"key":"{k}n"}}]}`, nil},
		"its else":           {"POST", "/-/transactions", `{"if":[{"key":"{k}x","present":true}],"else":[{"set":{"key":"{k}x","value":"v"}}]}`, nil},
		"a wide transaction": {"POST", "/-/transactions", `{"if":[{"key":"k","version":1},{"key":"a1","absent":true}],"then":[{"set":{"key":"a1","value":"v"}},{"add":{"key":"a2"}},{"get":{"key":"k"}},{"delete":{"key":"k"}},{"add":{"key":"a3"}}]}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := startFront(t, Config{})
			f.put("k", "v", 0)
			c := f.dial()
			first := w.send(c, "Idempotency-Key: key-1")
			if first.status >= 300 && first.status != 404 {
				t.Fatalf("%+v", first)
			}
			f.put("k", "changed since", 0)
			for _, spelling := range []string{"key-1", `"key-1"`, " key-1 "} {
				wantReplay(t, first, w.send(c, "Idempotency-Key: "+spelling))
			}
			if v, _ := f.value("k"); v != "changed since" {
				t.Errorf("a repeat did it again: the key holds %q", v)
			}
			f.cluster.Advance(25 * time.Hour)
			if r := w.send(c, "Idempotency-Key: key-1"); r.header.Get(replayedHeader) != "" {
				t.Errorf("after 25 hours still a replay: %+v", r)
			}
			if left := len(f.server.flights.marks); left != 0 {
				t.Errorf("%d requests are still under way", left)
			}
		})
	}
}

func TestKeyStandsForOneRequest(t *testing.T) {
	t.Parallel()
	f := startFront(t, Config{})
	c := f.dial()
	const key = "Idempotency-Key: k1"
	base := write{"POST", "/acct1", `{"value":"10"}`, nil}
	first := base.send(c, key)
	tag := first.header.Get("ETag")
	for name, w := range map[string]write{
		"body":         {"POST", "/acct1", `{"value":"11"}`, nil},
		"path":         {"POST", "/acct2", `{"value":"10"}`, nil},
		"method":       {"PUT", "/acct1", `{"value":"10"}`, nil},
		"delete":       {"DELETE", "/acct1", "", nil},
		"condition":    {"POST", "/acct1", `{"value":"10"}`, []string{"If-Match: " + tag}},
		"no condition": {"POST", "/acct1", `{"value":"10"}`, []string{`If-None-Match: "9"`}},
		"ttl":          {"POST", "/acct1", `{"value":"10","ttl":"1h"}`, nil},
		"batch":        {"POST", "/-/set", `{"items":[{"key":"acct1","value":"10"}]}`, nil},
	} {
		w.send(c, key).wantProblem(t, 422, "key-reused")
		if v, _ := f.value("acct1"); v != "10" {
			t.Errorf("another %s: the key holds %q", name, v)
		}
	}
	if _, found := f.value("acct2"); found {
		t.Error("another path was written")
	}
	wantReplay(t, first, base.send(c, key))
	if r := base.send(c, "Idempotency-Key: k2"); r.status != 200 {
		t.Errorf("another key: %+v", r)
	}
	c.send("GET", "/acct1", "", key).want(t, 200, `{"value":"10"}`)
	c.send("GET", "/-/scan", "").want(t, 200, `{"items":[{"key":"acct1","version":`+strings.Trim(c.send("HEAD", "/acct1", "").header.Get("ETag"), `"`)+`}]}`)
}

// TestKeyStandsOn after answers that are failures, but not passing ones.
func TestKeyStandsOn(t *testing.T) {
	t.Parallel()
	f := startFront(t, Config{RequestTimeout: 50 * time.Millisecond})
	c := f.dial()
	c.send("PUT", "/page", "v", "Content-Type: text/html", "Idempotency-Key: media")
	c.send("PUT", "/page", "v", "Content-Type: text/plain", "Idempotency-Key: media").wantProblem(t, 422, "key-reused")
	c.send("DELETE", "/missing", "", "Idempotency-Key: delete").wantProblem(t, 404, "not-found")
	c.send("PUT", "/k", "v", "Idempotency-Key: delete").wantProblem(t, 422, "key-reused")
	f.cluster.Intercept(func(_ string, req op.Request) *fakenode.Fault {
		if _, once := req.Op.(op.Once); once {
			return &fakenode.Fault{Err: op.UnknownOutcome("lost")}
		}
		return nil
	})
	c.send("PUT", "/k", "v", "Idempotency-Key: unknown").wantProblem(t, 504, "unknown-outcome")
	f.cluster.Intercept(nil)
	c.send("PUT", "/k", "w", "Idempotency-Key: unknown").wantProblem(t, 422, "key-reused")
	if r := c.send("PUT", "/k", "v", "Idempotency-Key: unknown"); r.status != 201 {
		t.Errorf("%+v", r)
	}
}

func TestIdempotencyHeadersThatAreRefused(t *testing.T) {
	t.Parallel()
	f := startFront(t, Config{})
	c := f.dial()
	for _, header := range []string{
		"Idempotency-Key:", `Idempotency-Key: ""`, `Idempotency-Key: "a`, "Idempotency-Key: a, b", "Idempotency-Key: a b", "Idempotency-Key: \xc3\xa4",
		"Idempotency-Key: " + strings.Repeat("x", maxIdempotencyKey+1), "Idempotency-Key: a\r\nIdempotency-Key: a",
		"Idempotency-Key: a\r\nIdempotency-Expires: 1ms", "Idempotency-Key: a\r\nIdempotency-Expires: 200h", "Idempotency-Key: a\r\nIdempotency-Expires: 60",
	} {
		c.send("POST", "/k", `{"value":"v"}`, header).wantProblem(t, 400, "malformed")
	}
	if _, found := f.value("k"); found {
		t.Error("something was written")
	}
}

func TestIdempotencyExpires(t *testing.T) {
	t.Parallel()
	f := startFront(t, Config{})
	c := f.dial()
	w := write{"POST", "/-/counters/n", `{}`, nil}
	first := w.send(c, "Idempotency-Key: a", "Idempotency-Expires: 10s")
	f.cluster.Advance(9 * time.Second)
	wantReplay(t, first, w.send(c, "Idempotency-Key: a", "Idempotency-Expires: 1h"))
	f.cluster.Advance(2 * time.Second)
	w.send(c, "Idempotency-Key: a").want(t, 200, `{"number":2,"version":`+strings.Trim(c.send("HEAD", "/n", "").header.Get("ETag"), `"`)+`}`)
}

// TestPassingFailuresAreNotRemembered: what did nothing is judged anew, and its key can
// stand for another request.
func TestPassingFailuresAreNotRemembered(t *testing.T) {
	t.Parallel()
	f := startFront(t, Config{MaxBody: 100})
	c := f.dial()
	const key = "Idempotency-Key: r"
	c.send("POST", "/k", `{"value":"v"}`, key, "If-Match: *").wantProblem(t, 412, "precondition")
	c.send("POST", "/k", strings.Repeat(" ", 101), key).wantProblem(t, 413, "too-large")
	c.send("POST", "/k", `{"value":1}`, key).wantProblem(t, 422, "invalid")
	down := true
	f.cluster.Intercept(func(_ string, req op.Request) *fakenode.Fault {
		if _, once := req.Op.(op.Once); once && down {
			return &fakenode.Fault{Err: op.Unavailable("no leader")}
		}
		return nil
	})
	c.send("POST", "/k", `{"value":"v"}`, key).wantProblem(t, 503, "unavailable")
	down = false
	r := c.send("POST", "/k", `{"value":"v"}`, key)
	if r.status != 201 || r.header.Get(replayedHeader) != "" {
		t.Errorf("%+v", r)
	}
	c.send("POST", "/k", `{"value":"w"}`, key).wantProblem(t, 422, "key-reused")
}

// TestLostAnswerIsFoundAgain: the cluster does it, and does not answer.
func TestLostAnswerIsFoundAgain(t *testing.T) {
	t.Parallel()
	for name, w := range map[string]write{
		"in one group": {"POST", "/-/counters/n", `{}`, nil},
		"in several":   {"POST", "/-/transactions", `{"then":[{"add":{"key":"n"}},{"add":{"key":"a1"}},{"add":{"key":"a2"}},{"add":{"key":"a3"}},{"add":{"key":"a4"}}]}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := startFront(t, Config{})
			writes := func(req op.Request) bool {
				o, isTxn := req.Op.(op.Txn)
				_, once := req.Op.(op.Once)
				return once || isTxn && o.Spans()
			}
			lost := 0
			f.cluster.Intercept(func(_ string, req op.Request) *fakenode.Fault {
				if writes(req) && lost == 0 {
					lost++
					return &fakenode.Fault{Mute: true}
				}
				return nil
			})
			g := serveFront(t, f.cluster, Config{Node: &impatientNode{Node: f.cluster, chosen: writes}})
			c := g.dial()
			first := w.send(c, "Idempotency-Key: a")
			if first.status != 200 || first.header.Get(replayedHeader) != "" || lost != 1 {
				t.Errorf("%+v after %d lost answers", first, lost)
			}
			if v, _ := f.value("n"); v != "1" {
				t.Errorf("the counter is %q", v)
			}
			again := w.send(c, "Idempotency-Key: a")
			if again.status != 200 || again.header.Get(replayedHeader) != "true" || again.body != first.body {
				t.Errorf("%+v, then %+v", first, again)
			}
			if v, _ := f.value("n"); v != "1" {
				t.Errorf("the counter is %q", v)
			}
		})
	}
}

// TestSameKeyAtOnce holds one request up, and sends others of its key.
func TestSameKeyAtOnce(t *testing.T) {
	t.Parallel()
	f := startFront(t, Config{})
	under, release := make(chan struct{}), make(chan struct{})
	var hold sync.Once
	g := serveFront(t, f.cluster, Config{Node: &slippingNode{Node: f.cluster, slip: func() { hold.Do(func() { close(under); <-release }) }}})
	answered := make(chan reply, 1)
	c := g.dial()
	go func() { answered <- c.send("POST", "/-/counters/n", `{}`, "Idempotency-Key: a") }()
	<-under
	r := g.send("POST", "/-/counters/n", `{}`, "Idempotency-Key: a").wantProblem(t, 409, "in-flight")
	if r.header.Get("Retry-After") == "" {
		t.Error("without Retry-After")
	}
	g.send("POST", "/-/counters/n", `{"delta":2}`, "Idempotency-Key: a").wantProblem(t, 422, "key-reused")
	close(release)
	wantReplay(t, <-answered, g.send("POST", "/-/counters/n", `{}`, "Idempotency-Key: a"))

	// At several nodes at once, one does it.
	other := serveFront(t, f.cluster, Config{})
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			front := []*front{f, g, other}[i%3]
			if r := front.send("POST", "/-/counters/m", `{}`, "Idempotency-Key: b"); r.status != 200 && r.status != 409 {
				t.Errorf("%+v", r)
			}
		})
	}
	wg.Wait()
	if v, _ := f.value("m"); v != "1" {
		t.Errorf("the counter is %q, want 1", v)
	}
}

// FuzzParseIdempotencyKey: a key is the same with quotes and without, and has no
// character that a header could not carry.
func FuzzParseIdempotencyKey(f *testing.F) {
	for _, seed := range []string{"a", `"a"`, `""`, `"`, `a"b`, "a\nb", strings.Repeat("x", 256), "é"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		key, ok := parseIdempotencyKey([]string{text})
		if !ok {
			return
		}
		if key == "" || len(key) > maxIdempotencyKey || strings.ContainsAny(key, "\r\n\" ") {
			t.Fatalf("%q is the key %q", text, key)
		}
		for _, spelling := range []string{key, `"` + key + `"`} {
			if again, ok := parseIdempotencyKey([]string{spelling}); !ok || again != key {
				t.Fatalf("%q is the key %q, and %q another", text, key, spelling)
			}
		}
	})
}
