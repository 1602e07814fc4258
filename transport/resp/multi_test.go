package resp

import (
	"fmt"
	"strconv"
	"sync"
	"testing"

	"github.com/ringraft/ringraft/op"
)

// twoKeys returns keys of different groups.
func keysApart(n *testNode) (a, b string) {
	a = "a"
	for i := 0; ; i++ {
		if b = fmt.Sprintf("b%d", i); n.GroupOf(a) != n.GroupOf(b) {
			return a, b
		}
	}
}

// TestTransactionsThatCollideAllHappen: each reads before it writes.
func TestTransactionsThatCollideAllHappen(t *testing.T) {
	t.Parallel()
	node := newTestNode(t)
	a, b := keysApart(node)
	_, addr := startServer(t, ServerConfig{Node: node})
	const clients, rounds = 4, 20
	var wg sync.WaitGroup
	for range clients {
		c := dial(t, addr)
		wg.Go(func() {
			for range rounds {
				c.do("INCRBYFLOAT float 0.5")
				c.do("MULTI")
				c.do("APPEND " + a + " x")
				c.do("APPEND " + b + " x")
				if got := c.do("EXEC"); got[0] != '[' {
					t.Errorf("EXEC: %s", got)
				}
				for ok := false; !ok; {
					c.do("WATCH watched")
					n, _ := strconv.Atoi(c.do("GET watched")) // nil at first
					c.do("MULTI")
					c.do("SET watched " + strconv.Itoa(n+1))
					ok = c.do("EXEC") != "nil"
				}
			}
		})
	}
	wg.Wait()
	c := dial(t, addr)
	c.want("GET float", strconv.Itoa(clients*rounds/2))
	c.want("STRLEN "+a, ":"+strconv.Itoa(clients*rounds))
	c.want("STRLEN "+b, ":"+strconv.Itoa(clients*rounds))
	c.want("GET watched", strconv.Itoa(clients*rounds))
}

// TestATransactionOfUnknownOutcomeIsAskedFor: the answer is lost, and it happens once.
func TestATransactionOfUnknownOutcomeIsAskedFor(t *testing.T) {
	t.Parallel()
	node := newTestNode(t)
	a, b := keysApart(node)
	lost := 0
	node.bend = func(req op.Request, res op.Result) *op.Error {
		if txn, ok := req.Op.(op.Txn); ok && txn.Spans() && res.Err == nil {
			lost++
			return op.UnknownOutcome("the answer is lost")
		}
		return nil
	}
	c := connect(t, node)
	c.want("MSET "+a+" 1 "+b+" 2", "+OK")
	c.want("RENAME "+a+" "+b, "+OK")
	if lost != 2 {
		t.Errorf("%d answers were lost, want 2", lost)
	}
	c.want("MGET "+a+" "+b, "[nil 1]")
}

// TestAWriteOfUnknownOutcomeSaysSo, with a word on which no client repeats it.
func TestAWriteOfUnknownOutcomeSaysSo(t *testing.T) {
	t.Parallel()
	node := newTestNode(t)
	node.bend = func(req op.Request, res op.Result) *op.Error {
		if _, writes := req.Op.(op.Write); writes && res.Err == nil {
			return op.UnknownOutcome("the answer is lost")
		}
		return nil
	}
	c := connect(t, node)
	c.want("APPEND a x", "-UNKNOWN the outcome is not known: the answer is lost")
	c.want("GET a", "x")
}

// TestATransactionReadsAtOneInstant: both keys change after the first was read.
func TestATransactionReadsAtOneInstant(t *testing.T) {
	t.Parallel()
	node := newTestNode(t)
	a, b := keysApart(node)
	changed := false
	node.bend = func(req op.Request, _ op.Result) *op.Error {
		if o, reads := req.Op.(op.Get); reads && string(o.Key) == a && !changed {
			changed = true
			for _, key := range []string{a, b} {
				node.Do(t.Context(), op.Request{Op: op.Set{Key: []byte(key), Value: []byte("1")}})
			}
		}
		return nil
	}
	c := connect(t, node)
	c.want("MSET "+a+" 0 "+b+" 0", "+OK")
	c.want("MULTI", "+OK")
	c.want("MGET "+a+" "+b, "+QUEUED")
	c.want("EXEC", "[[1 1]]")
}

// TestALostWatchIsAnsweredOnce, also when what was tried has answers already.
func TestALostWatchIsAnsweredOnce(t *testing.T) {
	t.Parallel()
	c := connect(t, newTestNode(t))
	c.want("WATCH a", "+OK")
	c.want("SET a x", "+OK")
	c.want("MULTI", "+OK")
	c.want("APPEND a y", "+QUEUED")
	c.want("EXEC", "nil")
	c.want("GET a", "x")
}

func TestATransactionTooLongIsRefused(t *testing.T) {
	t.Parallel()
	c := connect(t, newTestNode(t))
	c.want("MULTI", "+OK")
	for range maxQueued {
		c.send("PING")
	}
	for range maxQueued {
		if got := c.read(); got != "+QUEUED" {
			t.Fatalf("PING: %q", got)
		}
	}
	c.want("PING", "-ERR the transaction is too long")
	c.want("EXEC", "-EXECABORT Transaction discarded because of previous errors.")
}

// TestAValueChangedInPlaceEndsWhenItDid: a deadline that is known here to a few ms only is
// not written again.
func TestAValueChangedInPlaceEndsWhenItDid(t *testing.T) {
	t.Parallel()
	node := newTestNode(t)
	kept := 0
	node.bend = func(req op.Request, res op.Result) *op.Error {
		txn, ok := req.Op.(op.Txn)
		if !ok || res.Err != nil {
			return nil
		}
		if o := txn.Then[0].(op.Set); o.KeepTTL && o.TTL == 0 {
			kept++
		}
		return nil
	}
	c := connect(t, node)
	c.want("SET a v EX 100", "+OK")
	c.want("APPEND a w", ":2")
	c.want("SETRANGE a 0 x", ":2")
	c.want("TTL a", ":100")
	if kept != 2 {
		t.Errorf("%d of 2 writes keep the deadline", kept)
	}
}

// TestACommandThatIsRefusedDoesNotStopTheOthers, as in Redis, also one that breaks a limit.
func TestACommandThatIsRefusedDoesNotStopTheOthers(t *testing.T) {
	t.Parallel()
	c := connect(t, newTestNode(t))
	c.want("SET word x", "+OK")
	for _, line := range []string{"MULTI", "SET a 1", "SET  v", "INCR word", "SET b 2"} {
		c.do(line)
	}
	c.want("EXEC", "[+OK -ERR key: is empty; a key has 1 to 4096 bytes -ERR value is not an integer or out of range +OK]")
	c.want("MGET a b", "[1 2]")
}
