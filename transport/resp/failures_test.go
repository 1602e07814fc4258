package resp

import (
	"io"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ringraft/ringraft/op"
)

// TestEachCommandHasOneAnswer in a pipeline, whatever becomes of it.
func TestEachCommandHasOneAnswer(t *testing.T) {
	t.Parallel()
	node := newTestNode(t)
	node.bend = func(req op.Request, _ op.Result) *op.Error {
		if o, ok := req.Op.(op.Txn); ok && string(o.Compares[0].Key) == "leaderless" {
			return op.UnknownOutcome("first line\r\n+OK\r\nsecond line")
		}
		return nil
	}
	c := connect(t, node)
	var sent strings.Builder
	var want []string
	for _, step := range []struct{ command, want string }{
		{bulks("SET", "p", "1"), "+OK"},
		{bulks("INCR"), "-ERR wrong number of arguments for 'incr' command"},
		{bulks("SET", "q", "2"), "+OK"},
		{bulks("LPUSH", "p", "x"), "-ERR unknown command 'LPUSH', with args beginning with: 'p' 'x' "},
		{bulks("SET", "long", strings.Repeat("v", op.DefaultMaxValue+1)), "-ERR value: has " + strconv.Itoa(op.DefaultMaxValue+1) + " bytes; the limit is " + strconv.Itoa(op.DefaultMaxValue) + " (setting max-value-bytes)"},
		{bulks("SET", "word", "abc"), "+OK"},
		{bulks("INCR", "word"), "-ERR value is not an integer or out of range"},
		{bulks("APPEND", "leaderless", "x"), "-UNKNOWN the outcome is not known: first line  +OK  second line"},
		{bulks("SET", "p", "3", "NX", "XX"), "-ERR syntax error"},
		{bulks(strings.Repeat("F\r\n+OK\r\n", 1<<17)), "-ERR unknown command '" + strings.Repeat("F  +OK  ", 16) + "', with args beginning with: "},
		{bulks("EXPIRE", "p", "10", strings.Repeat("x", 1<<20)), "-" + ("ERR Unsupported option " + strings.Repeat("x", maxFailure))[:maxFailure]},
		{bulks("MGET", "p", "q", "long"), "[1 2 nil]"},
		{bulks("PING"), "+PONG"},
	} {
		sent.WriteString(step.command)
		want = append(want, step.want)
	}
	go io.WriteString(c.conn, sent.String())
	for i, want := range want {
		if got := c.read(); got != want {
			t.Errorf("answer %d: %.200q, want %q", i, got, want)
		}
	}
}

// TestATransactionThatIsNotExecutedDoesNothing: its connection ends before EXEC.
func TestATransactionThatIsNotExecutedDoesNothing(t *testing.T) {
	t.Parallel()
	_, addr := startServer(t, ServerConfig{Node: newTestNode(t)})
	c, other := dial(t, addr), dial(t, addr)
	c.want("MULTI", "+OK")
	c.want("SET a 1", "+QUEUED")
	c.conn.Close()
	for strings.Count(other.do("CLIENT LIST"), "\n") > 1 { // the server learns of the end soon
	}
	other.want("GET a", "nil")
}

// TestAnswersAreBounded: what a short command asks for can be long.
func TestAnswersAreBounded(t *testing.T) {
	t.Parallel()
	node := newTestNode(t)
	var reads atomic.Int64
	node.bend = func(req op.Request, _ op.Result) *op.Error {
		if _, ok := req.Op.(op.MGet); ok {
			reads.Add(1)
		}
		return nil
	}
	_, addr := startServer(t, ServerConfig{Node: node, MaxAnswer: 100_000})
	c := dial(t, addr)
	const tooLong = "-ERR the answer would be too long"
	c.want("SET k "+strings.Repeat("v", 1000), "+OK")
	if got := c.do("MGET" + strings.Repeat(" k", 90)); strings.Count(got, "v") != 90_000 {
		t.Errorf("MGET within the limit: %.100s", got)
	}
	c.want("MGET"+strings.Repeat(" k", 110), tooLong)
	reads.Store(0)
	c.want("MGET"+strings.Repeat(" k", 100*op.MaxKeys), tooLong)
	if n := reads.Load(); n > partsTogether {
		t.Errorf("%d reads, want no more than %d to find out", n, partsTogether)
	}
	c.want("MULTI", "+OK")
	c.want("APPEND new x", "+QUEUED")
	for range 200 {
		c.want("GET k", "+QUEUED")
	}
	c.want("EXEC", tooLong)
	c.want("GET new", "nil")
	for i := range 100 {
		c.do("SET " + strings.Repeat("key", 400) + strconv.Itoa(i) + " v")
	}
	c.want("KEYS *", tooLong)
	c.want("PING", "+PONG")
}
