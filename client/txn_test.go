package client_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ringraft/ringraft/client"
	"github.com/ringraft/ringraft/internal/fakenode"
	"github.com/ringraft/ringraft/op"
)

func TestTransaction(t *testing.T) {
	t.Parallel()
	_, c := start(t, fakenode.Config{})
	must[uint64](t)(c.Set(t.Context(), "{t}a", []byte("1"), client.WithTTL(time.Hour)))
	txn := client.Txn{
		If: []client.Compare{
			client.When("{t}a", client.IfValue([]byte("1"))),
			client.When("{t}b", client.IfAbsent()),
		},
		Then: []client.Op{
			client.AddOp("{t}a", 5, client.AtMost(6)),
			client.GetOp("{t}a"),
			client.SetOp("{t}b", []byte("there"), client.WithTTL(time.Hour)),
			client.ExpireOp("{t}none", time.Hour),
			client.DeleteOp("{t}gone"),
		},
		Else: []client.Op{client.StatOp("{t}b"), client.PersistOp("{t}b")},
	}
	first := must[client.TxnResult](t)(c.Txn(t.Context(), txn))
	if !first.Met || len(first.Results) != 5 || first.Results[0].Number != 6 || string(first.Results[1].Value.Bytes) != "6" ||
		first.Results[1].Value.TTL == 0 || first.Results[2].Value.Version != 3 || first.Results[3].Found || first.Results[4].Found {
		t.Errorf("first: %+v", first)
	}
	second := must[client.TxnResult](t)(c.Txn(t.Context(), txn))
	if second.Met || len(second.Results) != 2 || second.Results[0].Number != 5 || !second.Results[1].Found || second.Standing != nil {
		t.Errorf("second: %+v", second)
	}
	if ttl := must[time.Duration](t)(c.TTL(t.Context(), "{t}b")); ttl != 0 {
		t.Errorf("b still ends after %v", ttl)
	}
}

// TestTransactionWithoutElseTellsWhatStands at the keys compared, with values where
// they are asked for.
func TestTransactionWithoutElseTellsWhatStands(t *testing.T) {
	t.Parallel()
	_, c := start(t, fakenode.Config{})
	must[uint64](t)(c.Set(t.Context(), "{t}a", []byte("1")))
	must[uint64](t)(c.Set(t.Context(), "{t}b", []byte("2")))
	res := must[client.TxnResult](t)(c.Txn(t.Context(), client.Txn{
		If: []client.Compare{
			client.When("{t}a", client.IfVersion(9), client.ShowValue()),
			client.When("{t}b", client.IfPresent()),
			client.When("{t}c", client.IfPresent()),
		},
		Then: []client.Op{client.DeleteOp("{t}a")},
	}))
	if res.Met || len(res.Results) != 0 || len(res.Standing) != 3 {
		t.Fatalf("%+v", res)
	}
	a, b, none := res.Standing[0], res.Standing[1], res.Standing[2]
	if a.Key != "{t}a" || string(a.Value.Bytes) != "1" || a.Value.Version != 1 || len(b.Value.Bytes) > 0 || b.Value.Version != 2 || none.Existed {
		t.Errorf("standing: %+v", res.Standing)
	}
}

func TestTransactionIsAllOrNothing(t *testing.T) {
	t.Parallel()
	_, c := start(t, fakenode.Config{})
	must[uint64](t)(c.Set(t.Context(), "{t}text", []byte("no number")))
	for name, last := range map[string]client.Op{
		"adding to text":      client.AddOp("{t}text", 1),
		"an unmet condition":  client.SetOp("{t}text", nil, client.IfAbsent()),
		"a sum out of bounds": client.AddOp("{t}n", 1, client.AtMost(0)),
	} {
		_, err := c.Txn(t.Context(), client.Txn{Then: []client.Op{client.SetOp("{t}a", []byte("x")), last}})
		if !errors.Is(err, client.ErrRefused) {
			t.Errorf("%s: err = %v, want %v", name, err, client.ErrRefused)
		}
		if must[bool](t)(c.Exists(t.Context(), "{t}a")) {
			t.Errorf("%s: a part was done", name)
		}
	}
}

// TestTransactionsOutOfBoundsAreRefused with the part at fault, and nothing is sent.
func TestTransactionsOutOfBoundsAreRefused(t *testing.T) {
	t.Parallel()
	nodes, c := start(t, fakenode.Config{})
	var many []client.Op
	for i := range op.MaxTxnOps + 1 {
		many = append(many, client.SetOp(fmt.Sprintf("{t}%d", i), nil))
	}
	half := make([]byte, op.MaxPayload/2)
	type compares = []client.Compare
	type ops = []client.Op
	present := client.IfPresent()
	for name, tc := range map[string]struct {
		txn  client.Txn
		text string
	}{
		"empty":                      {client.Txn{}, "txn: "},
		"several groups and an else": {client.Txn{Then: ops{client.SetOp("a", nil), client.SetOp("b", nil)}, Else: ops{client.SetOp("c", nil), client.SetOp("d", nil)}}, "{tag}"},
		"too many":                   {client.Txn{Else: many}, "else: "},
		"too large":                  {client.Txn{Then: ops{client.SetOp("{t}a", half), client.SetOp("{t}b", half), client.SetOp("{t}c", half)}}, "txn: "},
		"compared with nothing":      {client.Txn{If: compares{client.When("a")}}, "compares"},
		"compared by a wrong option": {client.Txn{If: compares{client.When("a", client.KeepTTL())}}, "if[0].KeepTTL"},
		"compared twice":             {client.Txn{If: compares{client.When("a", present), client.When("a", present)}}, "compares: "},
		"written twice":              {client.Txn{Then: ops{client.SetOp("a", nil), client.DeleteOp("a")}}, "then: "},
		"an operation of no kind":    {client.Txn{Then: ops{{}}}, "then[0]"},
		"an empty key":               {client.Txn{Then: ops{client.GetOp("a"), client.GetOp("")}}, "then[1].key"},
		"an option out of place":     {client.Txn{Else: ops{client.DeleteOp("a", client.Protected())}}, "else[0].Protected"},
		"a time to live of nothing":  {client.Txn{Then: ops{client.ExpireOp("a", 0)}}, "then[0].ttl"},
	} {
		if _, err := c.Txn(t.Context(), tc.txn); !errors.Is(err, client.ErrRefused) || !strings.Contains(err.Error(), tc.text) {
			t.Errorf("%s: err = %v, want a refusal with %q", name, err, tc.text)
		}
	}
	if n := nodes.Served(op.CodeTxn); n > 0 {
		t.Errorf("%d were done", n)
	}
}
