package client_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringraft/ringraft/client"
	"github.com/ringraft/ringraft/internal/fakenode"
	"github.com/ringraft/ringraft/op"
)

// overGroups adds one to four counters, which lie in several groups, if a is as given.
func overGroups(a ...client.WriteOption) client.Txn {
	t := client.Txn{Then: []client.Op{client.AddOp("a", 1), client.AddOp("b", 1), client.AddOp("c", 1), client.AddOp("d", 1), client.GetOp("a")}}
	if len(a) > 0 {
		t.If = []client.Compare{client.When("a", a...)}
	}
	return t
}

// counted fails unless all four counters show n.
func counted(t *testing.T, c *client.Client, n string) {
	t.Helper()
	for _, key := range []string{"a", "b", "c", "d"} {
		if v := must[client.Value](t)(c.Get(t.Context(), key, client.At(client.Linearizable))); string(v.Bytes) != n {
			t.Errorf("%s is %q, want %s", key, v.Bytes, n)
		}
	}
}

func TestTransactionOverGroups(t *testing.T) {
	t.Parallel()
	_, c := start(t, fakenode.Config{})
	for i := range int64(2) {
		res := must[client.TxnResult](t)(c.Txn(t.Context(), overGroups()))
		if !res.Met || len(res.Results) != 5 || res.Results[3].Number != i+1 || res.Results[1].Found != (i > 0) {
			t.Errorf("%d: %+v", i, res)
		}
	}
	res := must[client.TxnResult](t)(c.Txn(t.Context(), overGroups(client.IfValue([]byte("1")), client.ShowValue())))
	if res.Met || len(res.Results) != 0 || len(res.Standing) != 1 || res.Standing[0].Key != "a" || string(res.Standing[0].Value.Bytes) != "2" {
		t.Errorf("unmet: %+v", res)
	}
	counted(t, c, "2")
}

// TestLostAnswersOfTransactionsOverGroups are asked for: the transaction is repeated
// only where it was aborted.
func TestLostAnswersOfTransactionsOverGroups(t *testing.T) {
	t.Parallel()
	nodes, c := start(t, fakenode.Config{})
	var lost atomic.Bool
	nodes.Intercept(func(_ string, req op.Request) *fakenode.Fault {
		if req.Op.Code() == op.CodeTxn && lost.CompareAndSwap(false, true) {
			return &fakenode.Fault{Cut: true}
		}
		return nil
	})
	if res := must[client.TxnResult](t)(c.Txn(t.Context(), overGroups())); !res.Met || res.Results != nil {
		t.Errorf("with a lost answer: %+v", res)
	}
	counted(t, c, "1")
	if n := nodes.Served(op.CodeTxn); n != 1 {
		t.Errorf("done %d times", n)
	}
}

// TestSessionSeesItsTransactionsOverGroups: at the level Session all groups show one, also
// where its answer was lost, and whoever resolved it.
func TestSessionSeesItsTransactionsOverGroups(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]*fakenode.Fault{"answered": nil, "not answered": {Cut: true}} {
		nodes, c := start(t, fakenode.Config{})
		var once sync.Once
		nodes.Intercept(func(_ string, req op.Request) (f *fakenode.Fault) {
			if req.Op.Code() == op.CodeTxn {
				once.Do(func() { f = fault })
			}
			return f
		})
		must[client.TxnResult](t)(c.Txn(t.Context(), overGroups()))
		asked := nodes.Served(op.CodeStat)
		if asked > 0 != (fault != nil) {
			t.Errorf("%s: %d groups were read", name, asked)
		}
		bound := watchBounds(nodes)
		for _, key := range []string{"a", "b", "c", "d"} {
			must[client.Value](t)(c.Get(t.Context(), key, client.At(client.Session)))
			if bound(key) == 0 {
				t.Errorf("%s: the session need not see %s", name, key)
			}
		}
	}
}

// TestTransactionsThatNobodyDecidesAreAborted, and done under another id.
func TestTransactionsThatNobodyDecidesAreAborted(t *testing.T) {
	t.Parallel()
	nodes, c := start(t, fakenode.Config{})
	var first op.Txn
	nodes.Intercept(func(_ string, req op.Request) *fakenode.Fault {
		if o, ok := req.Op.(op.Txn); ok && first.ID == nil {
			first = op.Txn{ID: bytes.Clone(o.ID), Then: []op.Op{op.Get{Key: []byte("a")}, op.Get{Key: []byte("b")}, op.Get{Key: []byte("c")}, op.Get{Key: []byte("d")}}}
			return &fakenode.Fault{Err: op.UnknownOutcome("the coordinator died")}
		}
		return nil
	})
	res := must[client.TxnResult](t)(c.Txn(t.Context(), overGroups()))
	if !res.Met || len(res.Results) != 5 || nodes.Served(op.CodeAbortTxn) != 1 {
		t.Errorf("%+v; %d aborted", res, nodes.Served(op.CodeAbortTxn))
	}
	counted(t, c, "1")
	id := must[client.TxnID](t)(client.ParseTxnID(fmt.Sprintf("%03x-%x", first.Home(), first.ID)))
	if outcome := must[client.TxnOutcome](t)(c.GetTxn(t.Context(), id)); outcome != client.TxnAborted {
		t.Errorf("the first one is %v", outcome)
	}
}

// TestRefusedTransactionsOverGroupsGetANewID, since the old one may be decided.
func TestRefusedTransactionsOverGroupsGetANewID(t *testing.T) {
	t.Parallel()
	nodes, c := start(t, fakenode.Config{})
	ids := make(chan string, 100)
	nodes.Intercept(func(_ string, req op.Request) *fakenode.Fault {
		if o, ok := req.Op.(op.Txn); ok {
			if ids <- string(o.ID); len(ids) < 4 {
				return &fakenode.Fault{Err: op.Locked([]byte("a"))}
			}
		}
		return nil
	})
	must[client.TxnResult](t)(c.Txn(t.Context(), overGroups()))
	counted(t, c, "1")
	seen := map[string]bool{}
	for range 4 {
		seen[<-ids] = true
	}
	if len(seen) != 4 {
		t.Errorf("%d ids for 4 attempts", len(seen))
	}
}

// TestUnknownTransactionsOverGroupsCarryTheirID.
func TestUnknownTransactionsOverGroupsCarryTheirID(t *testing.T) {
	t.Parallel()
	nodes, c := start(t, fakenode.Config{})
	for name, arrives := range map[string]bool{"committed": true, "never decided": false} {
		nodes.Intercept(func(_ string, req op.Request) *fakenode.Fault {
			switch req.Op.Code() {
			case op.CodeTxn:
				if !arrives {
					return &fakenode.Fault{Err: op.UnknownOutcome("the coordinator died")}
				}
				return &fakenode.Fault{Cut: true}
			case op.CodeGetTxn:
				return &fakenode.Fault{Err: op.Unavailable("nobody leads")}
			}
			return nil
		})
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		_, err := c.Txn(ctx, overGroups())
		var unknown *client.UnknownOutcomeError
		if !errors.As(err, &unknown) || !errors.Is(err, client.ErrUnknownOutcome) {
			t.Fatalf("%s: err = %v, want an unknown outcome", name, err)
		}
		nodes.Intercept(nil)
		ticket, err := client.ParseTicket(unknown.Ticket.String())
		id, ok := ticket.Txn()
		if err != nil || !ok || !strings.Contains(unknown.Error(), id.String()) {
			t.Fatalf("%s: the ticket has the id %v, %v, %v; the error says %v", name, id, ok, err, unknown)
		}
		if again, err := client.ParseTxnID(id.String()); err != nil || again != id {
			t.Errorf("%s: the id %v becomes %v, %v", name, id, again, err)
		}
		outcome := must[client.TxnOutcome](t)(c.GetTxn(t.Context(), id))
		short, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		res, err := c.Resolve(short, ticket)
		if arrives && (outcome != client.TxnCommitted || err != nil || !res.Txn.Met) {
			t.Errorf("%s: %v; resolved %+v, %v", name, outcome, res, err)
		}
		if !arrives && (outcome != client.TxnUndecided || !errors.Is(err, client.ErrUnknownOutcome)) {
			t.Errorf("%s: %v; resolved %+v, %v", name, outcome, res, err)
		}
	}
	for _, text := range []string{"", "abc", "fff-00", "1000-" + strings.Repeat("0", 32), "0AB-" + strings.Repeat("0", 32), "0ab-" + strings.Repeat("0", 31) + "g"} {
		if id, err := client.ParseTxnID(text); !errors.Is(err, client.ErrRefused) {
			t.Errorf("%q: %v, %v", text, id, err)
		}
	}
}
