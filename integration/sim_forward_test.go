package integration

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/ringraft/ringraft/internal/bubble"
	"github.com/ringraft/ringraft/op"
)

// through lets a node serve a request wherever that can be done, for up to patience.
func (c *simCluster) through(id string, req op.Request, patience time.Duration) op.Result {
	s := c.nodes[id]
	if s.node == nil {
		return op.Fail(op.Unavailable("%s is down", id))
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return s.node.Do(ctx, req)
}

// TestSimEveryNodeServesEveryGroup asks each of five nodes, of which two have no
// replica of a group, for keys of all groups.
func TestSimEveryNodeServesEveryGroup(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		c := newSimCluster(t, 5, 5)
		m := c.clusterMap()
		for i, member := range c.init {
			for _, g := range m.Groups {
				start := time.Now()
				key, value := keyOf(m, g.ID), fmt.Sprintf("%d-%d", i, g.ID)
				if res := c.through(member.ID, op.Request{Op: op.Set{Key: key, Value: []byte(value)}}, time.Second); res.Err != nil || res.Index == 0 {
					t.Fatalf("set through %s: %+v", member.ID, res)
				}
				for _, level := range []op.Level{op.Linearizable, op.Local} {
					res := c.through(member.ID, op.Request{Op: op.Get{Key: key}, Level: level}, time.Second)
					if res.Err != nil || level == op.Linearizable && string(res.Value) != value {
						t.Errorf("%s get through %s: %+v, want %s", level, member.ID, res, value)
					}
				}
				if took := time.Since(start); took > time.Millisecond {
					t.Errorf("the requests through %s took %v; want no pause between the nodes asked", member.ID, took)
				}
			}
		}
		refused := c.through("n1", op.Request{Op: op.MGet{Keys: [][]byte{keyOf(m, 1), keyOf(m, 2)}}}, time.Second)
		if !errors.Is(refused.Err, op.ErrRefused) {
			t.Errorf("keys of two groups: %+v, want a refusal", refused)
		}
	})
}

// TestSimRequestsFindTheNewLeader: a request that meets a leader's death is served
// once there is another, through whichever node it came.
func TestSimRequestsFindTheNewLeader(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		c := newSimCluster(t, 5, 1)
		m := c.clusterMap()
		key := keyOf(m, 1)
		for round := range 3 {
			victim := c.leader(1)
			if round%2 == 0 {
				c.halt(victim)
			} else {
				c.fabric.Isolate(victim)
			}
			for _, id := range c.without(victim) {
				if round%2 == 0 { // who is dead has certainly not done it
					if res := c.through(id, op.Request{Op: op.Add{Key: []byte("n"), Delta: 1}}, 20*time.Second); res.Err != nil {
						t.Errorf("add through %s: %v", id, res.Err)
					}
				}
				if res := c.through(id, op.Request{Op: op.Get{Key: key}, Level: op.Linearizable}, 20*time.Second); res.Err != nil {
					t.Errorf("get through %s: %v", id, res.Err)
				}
			}
			if round%2 == 0 {
				c.restart(victim)
			}
			c.fabric.HealAll()
			c.waitReady()
		}
	})
}

// TestSimWithoutAMajorityRequestsEndInTime: what nobody can serve ends with the
// caller's patience, and says truly whether it may have happened.
func TestSimWithoutAMajorityRequestsEndInTime(t *testing.T) {
	simulate(t, 1, func(t *testing.T, c *simCluster) {
		for _, m := range c.init {
			c.fabric.Isolate(m.ID)
		}
		for _, m := range c.init {
			for _, tc := range []struct {
				req  op.Request
				want []error
			}{
				{op.Request{Op: op.Get{Key: []byte("k")}, Level: op.Linearizable}, []error{op.ErrUnavailable}},
				{op.Request{Op: op.Add{Key: []byte("n"), Delta: 1}}, []error{op.ErrUnavailable, op.ErrUnknownOutcome}},
			} {
				start := time.Now()
				res := c.through(m.ID, tc.req, 8*time.Second)
				if took := time.Since(start); took > 9*time.Second {
					t.Errorf("%s through %s took %v", tc.req.Op.Code(), m.ID, took)
				}
				ok := false
				for _, want := range tc.want {
					ok = ok || errors.Is(res.Err, want)
				}
				if !ok {
					t.Errorf("%s through %s: %+v, want %v", tc.req.Op.Code(), m.ID, res, tc.want)
				}
			}
		}
	})
}

// TestSimForwardedWritesHappenOnce: replies are lost on their way back. With a session
// each write is repeated until its answer is known, and has happened once; without
// one, its outcome is unknown, and nobody repeats it.
func TestSimForwardedWritesHappenOnce(t *testing.T) {
	for _, inSession := range []bool{true, false} {
		t.Run(fmt.Sprintf("in a session: %v", inSession), func(t *testing.T) {
			simulate(t, 1, func(t *testing.T, c *simCluster) { loseReplies(t, c, inSession) })
		})
	}
}

func loseReplies(t *testing.T, c *simCluster, inSession bool) {
	key := []byte("n")
	slot := op.SlotOf(key)
	session := uint64(0)
	if inSession {
		session = uint64(c.do(op.OpenSession{OnSlot: slot, TTL: op.MaxSessionTTL}, op.Local).Number)
	}
	done, unknown := 0, 0
	for i := 1; i <= 30; i++ {
		leader, origin := c.leader(1), c.follower(0, 1)
		c.fabric.CutOneWay(leader, origin) // the request arrives, its answer does not
		heal := time.AfterFunc(time.Duration(i)*100*time.Millisecond, func() {
			c.fabric.Reset(leader, origin)
			c.fabric.HealAll()
		})
		req := op.Request{Op: op.Add{Key: key, Delta: 1}}
		if inSession {
			req.Session, req.Sequence, req.Acknowledged = session, uint64(i), uint64(i)
		}
		switch res := c.through(origin, req, 30*time.Second); {
		case res.Err == nil:
			if done++; inSession && res.Number != int64(i) {
				t.Fatalf("the sum is %d after %d writes", res.Number, i)
			}
		case errors.Is(res.Err, op.ErrUnknownOutcome):
			unknown++
		default:
			t.Fatalf("write %d: %v", i, res.Err)
		}
		heal.Stop()
		c.fabric.HealAll()
		c.waitReady()
	}
	sum, err := strconv.Atoi(string(c.do(op.Get{Key: key}, op.Linearizable).Value))
	switch {
	case err != nil:
		t.Fatal(err)
	case inSession && (done != 30 || sum != 30):
		t.Errorf("in a session %d of 30 writes were answered, and happened %d times", done, sum)
	case !inSession && (unknown == 0 || sum < done || sum > done+unknown):
		t.Errorf("%d writes were done, %d unknown, the sum is %d", done, unknown, sum)
	}
}

// TestSimLinearizableReadsNeverGoBack reads through all nodes, by way of others, while
// one writer counts up.
func TestSimLinearizableReadsNeverGoBack(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			simulate(t, 1, func(t *testing.T, c *simCluster) { neverBack(t, c, seed) })
		})
	}
}

func neverBack(t *testing.T, c *simCluster, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 3))
	key := []byte("k")
	seen, fault, down, answers := 0, time.Now(), "", 0
	for i := 1; i <= 600; i++ {
		if time.Now().After(fault) {
			down = c.nextFault(random, down)
			fault = time.Now().Add(time.Duration(random.IntN(5000)) * time.Millisecond)
		}
		if res := c.through(c.shuffled(random)[0], op.Request{Op: op.Set{Key: key, Value: fmt.Append(nil, i)}}, time.Second); res.Err == nil {
			seen = i
		}
		id := c.shuffled(random)[0]
		res := c.through(id, op.Request{Op: op.Get{Key: key}, Level: op.Linearizable}, time.Second)
		if res.Err == nil {
			got, _ := strconv.Atoi(string(res.Value))
			if got < seen {
				t.Fatalf("seed %d: %d through %s, after %d", seed, got, id, seen)
			}
			seen = got
			answers++
		}
		time.Sleep(time.Duration(random.IntN(20)) * time.Millisecond)
	}
	if answers < 100 {
		t.Errorf("seed %d: %d answers: the test proves little", seed, answers)
	}
	if down != "" {
		c.restart(down)
	}
}
