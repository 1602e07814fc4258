package integration

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringraft/ringraft/internal/bubble"
	"github.com/ringraft/ringraft/op"
)

// TestSimWrongClocksShortenOrStretchLivesAndNothingElse: n1's clock is wrong, the
// others' is right, and the leadership goes round. Group time never goes back, so that
// it follows the clock that is most ahead among the leaders so far.
func TestSimWrongClocksShortenOrStretchLivesAndNothingElse(t *testing.T) {
	for way, skew := range map[string]time.Duration{"ahead": 3 * time.Minute, "behind": -3 * time.Minute} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			bubble.Test(t, func(t *testing.T) {
				c := newUnformedCluster(t, 3, 1)
				var wrong atomic.Int64 // ms; not while n1 may be the first leader
				c.nodes["n1"].clock = func() int64 { return time.Now().UnixMilli() + wrong.Load() }
				c.form()
				var versions uint64
				write := func(key string, ttl time.Duration) {
					t.Helper()
					res := c.do(op.Set{Key: []byte("{s}" + key), Value: []byte("v"), TTL: ttl.Milliseconds()}, op.Local)
					if res.Version <= versions {
						t.Errorf("%s got version %d after %d", key, res.Version, versions)
					}
					versions = res.Version
				}
				lead := func(id string) {
					t.Helper()
					c.do(op.Transfer{Group: 1, To: id}, op.Local)
					if got := c.leader(1); got != id {
						t.Fatalf("%s leads, want %s", got, id)
					}
				}
				found := func(key string, want bool) {
					t.Helper()
					if res := c.do(op.Get{Key: []byte("{s}" + key)}, op.Linearizable); res.Found != want {
						t.Errorf("%s is found: %v, want %v (led by %s)", key, res.Found, want, c.leader(1))
					}
				}
				lead("n2")
				wrong.Store(skew.Milliseconds())
				write("forever", 0)
				write("eight minutes", 8*time.Minute)
				write("a minute", time.Minute)
				lead("n1")
				write("a minute of n1", time.Minute)
				found("forever", true)
				found("eight minutes", true)
				found("a minute", skew < 0) // for a clock that is ahead, its end is past
				lead("n3")
				write("a minute of n3", time.Minute)
				found("eight minutes", true)
				found("a minute of n3", true)
				time.Sleep(2 * time.Minute)
				found("forever", true)
				found("a minute", false)
				// While group time stands still ahead of all clocks, so does life.
				found("a minute of n3", skew > 0)
				time.Sleep(3 * time.Minute)
				for _, key := range []string{"a minute of n1", "a minute of n3"} {
					found(key, false)
				}
				found("eight minutes", true)
				time.Sleep(4 * time.Minute)
				found("eight minutes", false)
				found("forever", true)
				for i := range 100 { // an order that went back would show in the digests
					write(fmt.Sprint(i), 0)
				}
				c.checkDigests()
			})
		})
	}
}

// TestSimClocksFarApartStopTransactionsOverGroupsOnly, and lock nothing: the group whose
// time is ahead finds them late, until the others have caught up.
func TestSimClocksFarApartStopTransactionsOverGroupsOnly(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		c := newUnformedCluster(t, 3, 2)
		var ahead atomic.Int64 // ms, of n2
		c.nodes["n2"].clock = func() int64 { return time.Now().UnixMilli() + ahead.Load() }
		c.form()
		c.do(op.Transfer{Group: 1, To: "n1"}, op.Local)
		c.do(op.Transfer{Group: 2, To: "n2"}, op.Local)
		m := c.clusterMap()
		one, two := keyOf(m, 1), keyOf(m, 2)
		var ids txnIDs
		across := func() op.Result {
			return c.at("n3", op.Txn{ID: ids.next(), Then: []op.Op{op.Add{Key: one, Delta: 1}, op.Add{Key: two, Delta: 1}}}, op.Local)
		}
		if res := across(); res.Err != nil {
			t.Fatalf("with clocks that agree: %v", res.Err)
		}
		ahead.Store((6 * time.Second).Milliseconds())
		for i := range 3 {
			c.do(op.Add{Key: two, Delta: 1}, op.Local) // group 2's time follows
			if res := across(); !errors.Is(res.Err, op.ErrUnavailable) || !strings.Contains(res.Err.Error(), "deadline passed") {
				t.Fatalf("try %d: %+v, want it late", i, res)
			}
			if res := c.do(op.Txn{Then: []op.Op{op.Add{Key: two, Delta: 1}, op.Get{Key: two}}}, op.Local); res.Unmet || len(res.Results) != 2 {
				t.Fatalf("try %d: within group 2: %+v", i, res)
			}
			c.do(op.Add{Key: one, Delta: 1}, op.Local)
		}
		c.noLocks()
		ahead.Store(0)
		time.Sleep(7 * time.Second)
		if res := across(); res.Err != nil {
			t.Errorf("with clocks that agree again: %v", res.Err)
		}
		for key, want := range map[string]string{string(one): "5", string(two): "8"} {
			if res := c.do(op.Get{Key: []byte(key)}, op.Linearizable); string(res.Value) != want {
				t.Errorf("%q holds %s, want %s", key, res.Value, want)
			}
		}
	})
}

// TestSimTimeNeverGoesBackWhileClocksLeap to and fro, all at once and amid entries that are
// under way: what a write says is left of a record's life only gets less.
func TestSimTimeNeverGoesBackWhileClocksLeap(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		c := newUnformedCluster(t, 3, 1)
		var ahead atomic.Int64 // ms
		for _, s := range c.nodes {
			s.clock = func() int64 { return time.Now().UnixMilli() + ahead.Load() }
		}
		c.form()
		slow := slowDisk(1, 60*time.Millisecond) // so that the next entry does not wait for this one
		for _, s := range c.nodes {
			s.fault.Store(&slow)
		}
		key := []byte("k")
		c.do(op.Set{Key: key, Value: []byte("v"), TTL: time.Hour.Milliseconds()}, op.Local)
		ifAbsent := op.Set{Key: key, Value: []byte("w"), Cond: op.Cond{Kind: op.CondAbsent}}
		stop := make(chan struct{})
		var wg sync.WaitGroup
		var answers atomic.Int64
		for _, m := range c.init {
			wg.Go(func() {
				for left := time.Hour.Milliseconds(); ; {
					select {
					case <-stop:
						return
					case <-time.After(time.Millisecond):
					}
					res := c.through(m.ID, op.Request{Op: ifAbsent}, time.Second)
					if res.Err != nil {
						continue
					}
					if !res.Unmet || res.TTL > left {
						t.Errorf("%d ms are left, and then %d (unmet: %v)", left, res.TTL, res.Unmet)
					}
					left = res.TTL
					answers.Add(1)
				}
			})
		}
		random := rand.New(rand.NewPCG(1, 0))
		for range 2000 {
			ahead.Store(random.Int64N(4000) - 2000)
			time.Sleep(time.Duration(1+random.Int64N(20)) * time.Millisecond)
		}
		close(stop)
		wg.Wait()
		if answers.Load() < 300 {
			t.Errorf("%d answers: the test proves little", answers.Load())
		}
		c.checkDigests()
	})
}
