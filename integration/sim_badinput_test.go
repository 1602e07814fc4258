package integration

import (
	"errors"
	"testing"

	"github.com/ringraft/ringraft/op"
)

// TestSimContradictionsNeverReachTheLog: each is refused with the name of the field at
// fault, and leaves the group at the index and with the digest it had.
func TestSimContradictionsNeverReachTheLog(t *testing.T) {
	simulate(t, 1, func(t *testing.T, c *simCluster) {
		k, other := []byte("{t}k"), []byte("{t}other")
		least, most := int64(6), int64(5)
		c.do(op.Set{Key: k, Value: []byte("5")}, op.Local)
		c.do(op.Set{Key: other, Value: []byte("5")}, op.Local)
		write := op.Set{Key: k, Value: []byte("x")}
		cond := func(cond op.Cond) op.Request { o := write; o.Cond = cond; return op.Request{Op: o} }
		txn := func(o op.Txn) op.Request { return op.Request{Op: o} }
		when := func(kind op.CondKind) op.Compare { return op.Compare{Key: k, Cond: op.Cond{Kind: kind}} }
		many := make([]op.Op, op.MaxTxnOps+1)
		for i := range many {
			many[i] = op.Get{Key: k}
		}
		leader := c.leader(1)
		before := c.replicaStatus(leader, 1)
		for name, tc := range map[string]struct {
			req   op.Request
			field string
		}{
			"absent, and a version":          {cond(op.Cond{Kind: op.CondAbsent, Version: 1}), "cond"},
			"present, and a value":           {cond(op.Cond{Kind: op.CondPresent, Value: []byte("5")}), "cond"},
			"a version and a value":          {cond(op.Cond{Kind: op.CondVersion, Version: 1, Value: []byte("5")}), "cond"},
			"version 0":                      {cond(op.Cond{Kind: op.CondVersion}), "cond"},
			"one version of many keys":       {op.Request{Op: op.MDelete{Keys: [][]byte{k, other}, Cond: op.Cond{Kind: op.CondVersion, Version: 1}}}, "cond"},
			"a least sum over the most":      {op.Request{Op: op.Add{Key: k, Delta: 1, Min: &least, Max: &most}}, "min"},
			"clamping to nothing":            {op.Request{Op: op.Add{Key: k, Delta: 1, Clamp: true}}, "clamp"},
			"a transaction of nothing":       {txn(op.Txn{}), "txn"},
			"too many operations":            {txn(op.Txn{Then: many}), "then"},
			"a key compared in two ways":     {txn(op.Txn{Compares: []op.Compare{when(op.CondAbsent), when(op.CondPresent)}, Then: []op.Op{write}}), "compares"},
			"a key written in two ways":      {txn(op.Txn{Then: []op.Op{write, op.Delete{Key: k}}}), "then"},
			"a compare with nothing":         {txn(op.Txn{Compares: []op.Compare{when(op.CondNone)}, Then: []op.Op{write}}), "compares[0].cond"},
			"more bytes than one may have":   {txn(op.Txn{Then: []op.Op{op.Set{Key: k, Value: make([]byte, op.DefaultMaxValue+1)}}}), "then[0].value"},
			"an id and a second list":        {txn(op.Txn{ID: make([]byte, op.TxnIDSize), Then: []op.Op{write}, Else: []op.Op{write}}), "else"},
			"an id of another length":        {txn(op.Txn{ID: make([]byte, op.TxnIDSize-1), Then: []op.Op{write}}), "id"},
			"a sequence without a session":   {op.Request{Op: write, Sequence: 1}, "session"},
			"a session without a sequence":   {op.Request{Op: write, Session: 1}, "sequence"},
			"acknowledging what comes later": {op.Request{Op: write, Session: 1, Sequence: 1, Acknowledged: 2}, "acknowledged"},
			"what another log had":           {op.Request{Op: op.Get{Key: k}, Level: op.Session, Bound: before.Applied + 1}, "bound"},
		} {
			res := c.ask(leader, tc.req)
			if !errors.Is(res.Err, op.ErrRefused) || res.Err.Field != tc.field {
				t.Errorf("%s: %+v, want a refusal that names %s", name, res, tc.field)
			}
		}
		if after := c.replicaStatus(leader, 1); after.Applied != before.Applied || after.Digest != before.Digest {
			t.Errorf("the group went from index %d and digest %016x to %d and %016x", before.Applied, before.Digest, after.Applied, after.Digest)
		}
	})
}

// TestSimVersionOfAnotherKeyNeverHolds, since a slot gives each version to one key.
func TestSimVersionOfAnotherKeyNeverHolds(t *testing.T) {
	simulate(t, 1, func(t *testing.T, c *simCluster) {
		k, other := []byte("{t}k"), []byte("{t}other")
		own := c.do(op.Set{Key: k, Value: []byte("1")}, op.Local).Version
		foreign := c.do(op.Set{Key: other, Value: []byte("1")}, op.Local).Version
		cond := op.Cond{Kind: op.CondVersion, Version: foreign}
		for _, o := range []op.Op{
			op.Set{Key: k, Cond: cond}, op.Delete{Key: k, Cond: cond}, op.Expire{Key: k, TTL: 1, Cond: cond}, op.Add{Key: k, Delta: 1, Cond: cond},
			op.Txn{Compares: []op.Compare{{Key: k, Cond: cond}}, Then: []op.Op{op.Delete{Key: k}}},
		} {
			if res := c.do(o, op.Local); !res.Unmet {
				t.Errorf("%s: %+v, want the condition unmet", o.Code(), res)
			}
		}
		if res := c.do(op.Get{Key: k}, op.Linearizable); string(res.Value) != "1" || res.Version != own {
			t.Errorf("%+v stands there, want what was written first", res)
		}
	})
}
