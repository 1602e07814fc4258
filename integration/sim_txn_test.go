package integration

import (
	"encoding/binary"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/ringraft/ringraft/internal/bubble"
	"github.com/ringraft/ringraft/op"
)

// txnIDs gives each transaction of a simulation its own id.
type txnIDs struct{ last uint64 }

func (ids *txnIDs) next() []byte {
	ids.last++
	return binary.BigEndian.AppendUint64(make([]byte, 8), ids.last)
}

func ifValueIs(key []byte, value string) op.Compare {
	return op.Compare{Key: key, Cond: op.Cond{Kind: op.CondValue, Value: []byte(value)}}
}

// outcomeOf asks until the home group answers.
func (c *simCluster) outcomeOf(o op.Txn) op.Outcome {
	c.t.Helper()
	return op.Outcome(c.do(op.GetTxn{ID: o.ID, Home: o.Home()}, op.Linearizable).Number)
}

// TestSimTransactionsSpanGroups through any node, and tell what a transaction in one
// group tells.
func TestSimTransactionsSpanGroups(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		c := newSimCluster(t, 5, 4)
		m := c.clusterMap()
		var ids txnIDs
		a, b, d := keyOf(m, 1), keyOf(m, 2), keyOf(m, 3)
		for i, member := range c.init {
			value := fmt.Sprint(i)
			o := op.Txn{ID: ids.next(), Then: []op.Op{
				op.Set{Key: a, Value: []byte(value)}, op.Add{Key: b, Delta: 1}, op.Get{Key: a}, op.Set{Key: d, Value: []byte(value)}, op.Get{Key: d},
			}}
			if i > 0 {
				o.Compares = []op.Compare{ifValueIs(a, fmt.Sprint(i-1)), ifValueIs(d, fmt.Sprint(i-1))}
			}
			res := c.at(member.ID, o, op.Local)
			if res.Err != nil || res.Unmet || len(res.Results) != 5 {
				t.Fatalf("through %s: %+v", member.ID, res)
			}
			if r := res.Results; r[1].Number != int64(i+1) || string(r[2].Value) != value || string(r[4].Value) != value ||
				r[0].Found != (i > 0) || r[0].Version != uint64(i+1) || r[1].Version != uint64(i+1) || r[4].Version != uint64(i+1) {
				t.Errorf("through %s: results %+v", member.ID, r)
			}
			var shown []op.GroupIndex
			if err := op.DecodeDetail(res.Detail, &shown); err != nil || len(shown) != 3 {
				t.Errorf("through %s: the indexes %v, %v; want one for each group", member.ID, shown, err)
			}
			for _, at := range shown {
				key, want := keyOf(m, at.Group), value
				if at.Group == 2 {
					want = fmt.Sprint(i + 1)
				}
				if got := c.get(c.leader(at.Group), key, op.Session, at.Index); got.Err != nil || string(got.Value) != want {
					t.Errorf("a session that has seen index %d of group %d reads %+v, want %s", at.Index, at.Group, got, want)
				}
			}
			if got := c.do(op.Get{Key: d}, op.Linearizable); string(got.Value) != value {
				t.Errorf("read %q, want %q", got.Value, value)
			}
			if got := c.outcomeOf(o); got != op.Committed {
				t.Errorf("outcome %v", got)
			}
			if again := c.at(member.ID, o, op.Local); !errors.Is(again.Err, op.ErrRefused) && !again.Unmet {
				t.Errorf("the same id again: %+v", again)
			}
		}
		unmet := op.Txn{ID: ids.next(), Compares: []op.Compare{ifValueIs(a, "4"), ifValueIs(d, "x")}, Then: []op.Op{op.Delete{Key: b}}}
		res := c.at("n1", unmet, op.Local)
		if res.Err != nil || !res.Unmet || len(res.Items) != 1 || string(res.Items[0].Key) != string(d) {
			t.Errorf("a compare that does not hold: %+v", res)
		}
		failing := op.Txn{ID: ids.next(), Then: []op.Op{op.Delete{Key: b}, op.Set{Key: d, Value: []byte("x")}, op.Add{Key: d, Delta: 1}}}
		failing.Then = []op.Op{op.Delete{Key: b}, op.Set{Key: a, Cond: op.Cond{Kind: op.CondAbsent}}}
		if res := c.at("n2", failing, op.Local); !errors.Is(res.Err, op.ErrRefused) {
			t.Errorf("an operation's condition that does not hold: %+v", res)
		}
		for _, o := range []op.Txn{unmet, failing} {
			if got := c.outcomeOf(o); got != op.Aborted {
				t.Errorf("outcome %v, want aborted", got)
			}
		}
		if got := c.do(op.Get{Key: b}, op.Linearizable); string(got.Value) != "5" {
			t.Errorf("b is %q, want 5", got.Value)
		}
		for _, part := range []op.Op{
			op.Prepare{Attempt: op.Attempt{ID: ids.next()}, Ops: []op.Op{op.Get{Key: a}}}, op.Decide{Attempt: op.Attempt{ID: ids.next()}},
			op.Finish{Attempt: op.Attempt{ID: ids.next()}}, op.Forget{Attempt: op.Attempt{ID: ids.next()}},
		} {
			if res := c.at("n1", part, op.Local); !errors.Is(res.Err, op.ErrRefused) || res.Err.Field != "code" {
				t.Errorf("%s from a client: %+v", part.Code(), res)
			}
		}
		if res := c.at("n1", op.Txn{Then: unmet.Then, Compares: unmet.Compares}, op.Local); !errors.Is(res.Err, op.ErrRefused) {
			t.Errorf("without an id: %+v", res)
		}
		time.Sleep(time.Second)
		c.noLocks()
	})
}

// noLocks fails if a write anywhere meets a lock.
func (c *simCluster) noLocks() {
	c.t.Helper()
	m := c.clusterMap()
	for _, g := range m.Groups {
		for _, r := range g.Replicas {
			if s := c.nodes[r.Node]; s.node != nil {
				if res := c.at(r.Node, op.Expire{Key: keyOf(m, g.ID)}, op.Local); res.Err != nil && res.Err.Kind == op.KindLocked {
					c.t.Errorf("%v", res.Err)
				}
			}
		}
	}
}
