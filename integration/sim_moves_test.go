package integration

import (
	"errors"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringraft/ringraft/op"
)

// TestSimReadsGoForwardWhileLeadershipMoves: one writer counts up, readers on every
// node ask for the latest, and the leadership never rests. A reader must see at least
// what was acknowledged before it asked and what anyone has seen before it asked.
func TestSimReadsGoForwardWhileLeadershipMoves(t *testing.T) {
	simulate(t, 1, func(t *testing.T, c *simCluster) {
		key := []byte("counter")
		c.do(op.Set{Key: key, Value: []byte("0")}, op.Local)
		var floor atomic.Int64 // the highest value that was acknowledged or read
		raise := func(to int64) {
			for now := floor.Load(); to > now && !floor.CompareAndSwap(now, to); now = floor.Load() {
			}
		}
		var reads, moves atomic.Int64
		stop := make(chan struct{})
		var wg sync.WaitGroup
		until := func(step func(i int64)) {
			wg.Go(func() {
				for i := int64(1); ; i++ {
					select {
					case <-stop:
						return
					case <-time.After(2 * time.Millisecond):
						step(i)
					}
				}
			})
		}
		until(func(i int64) {
			if _, err := c.try(op.Set{Key: key, Value: strconv.AppendInt(nil, i, 10)}, op.Local); err == nil {
				raise(i)
			}
		})
		for _, m := range c.init {
			until(func(int64) {
				least := floor.Load()
				res := c.at(m.ID, op.Get{Key: key}, op.Linearizable)
				if res.Err != nil {
					return
				}
				got, err := strconv.ParseInt(string(res.Value), 10, 64)
				if err != nil || got < least {
					t.Errorf("%s read %q after %d was known", m.ID, res.Value, least)
				}
				raise(got)
				reads.Add(1)
			})
		}
		until(func(i int64) {
			to := c.init[i%3].ID
			if c.at(c.init[0].ID, op.Transfer{Group: 1, To: to}, op.Local).Err == nil {
				moves.Add(1)
			}
			if i%5 == 0 { // now and then the leader does not know that it is none
				old := c.leader(1)
				if old == "" {
					return
				}
				c.fabric.Isolate(old)
				time.Sleep(2 * time.Second)
				c.fabric.HealAll()
			}
		})
		time.Sleep(15 * time.Second)
		close(stop)
		c.fabric.HealAll()
		wg.Wait()
		if reads.Load() < 300 || moves.Load() < 3 || floor.Load() < 300 {
			t.Errorf("%d reads, %d moves, %d counted: too few to prove anything", reads.Load(), moves.Load(), floor.Load())
		}
		c.waitReady()
		c.checkDigests()
	})
}

// TestSimLeaderThatWasNotToldAnswersNothing: the leader hands over, and from the
// moment that the other stands for election it hears nobody. For a while both lead,
// and only one may answer.
func TestSimLeaderThatWasNotToldAnswersNothing(t *testing.T) {
	simulate(t, 1, func(t *testing.T, c *simCluster) {
		key := []byte("k")
		c.do(op.Set{Key: key, Value: []byte("old")}, op.Local)
		old := c.leader(1)
		others := c.without(old)
		next := others[0]
		var cut sync.Once
		deafen := func(what string) error {
			if strings.HasPrefix(what, "stable store of replica 1.") { // its new term
				cut.Do(func() {
					c.fabric.CutOneWay(others[0], old)
					c.fabric.CutOneWay(others[1], old)
				})
			}
			return nil
		}
		c.nodes[next].fault.Store(&deafen)
		moved := make(chan op.Result, 1)
		go func() { moved <- c.at(old, op.Transfer{Group: 1, To: next}, op.Local) }()
		for c.at(next, op.Set{Key: key, Value: []byte("new")}, op.Local).Err != nil {
			time.Sleep(time.Millisecond)
		}
		if got := c.replicaStatus(old, 1).Role; got != "leader" {
			t.Fatalf("the old leader is %s by now: the test proves nothing", got)
		}
		if res := c.at(old, op.Get{Key: key}, op.Linearizable); res.Err == nil {
			t.Errorf("the old leader answers %q after the new one took another value", res.Value)
		}
		if res := c.at(old, op.Set{Key: key, Value: []byte("lost")}, op.Local); res.Err == nil {
			t.Error("the old leader acknowledges a write")
		}
		<-moved
		c.fabric.HealAll()
		c.waitReady()
		if res := c.do(op.Get{Key: key}, op.Linearizable); string(res.Value) != "new" {
			t.Errorf("read %q, want new", res.Value)
		}
		c.checkDigests()
	})
}

func TestSimDrainOfAllNodesAtOnceEnds(t *testing.T) {
	simulate(t, 4, func(t *testing.T, c *simCluster) {
		c.writeKeys(20)
		drained := make(chan error, len(c.init))
		started := time.Now()
		for _, m := range c.init {
			go func() { drained <- c.nodes[m.ID].node.Drain(t.Context()) }()
		}
		failed := 0
		for range c.init {
			if <-drained != nil {
				failed++
			}
		}
		if took := time.Since(started); took > 5*time.Second || failed == 0 {
			t.Errorf("took %v, %d of 3 say that they still lead; want it quick, and said by those who do", took, failed)
		}
		c.checkKeys(20)
	})
}

// TestSimNodeClosesWhateverIsUnderWay: everyone who waits is answered, once.
func TestSimNodeClosesWhateverIsUnderWay(t *testing.T) {
	simulate(t, 2, func(t *testing.T, c *simCluster) {
		for _, cut := range []bool{false, true} {
			victim := c.leader(1)
			if cut {
				c.fabric.Isolate(victim)
			}
			var mu sync.Mutex
			answered := map[int]int{}
			m := c.clusterMap()
			asked := 0
			for range 200 {
				for _, req := range []op.Request{
					{Op: op.Set{Key: keyOf(m, 1), Value: []byte("v")}},
					{Op: op.Get{Key: keyOf(m, 1)}, Level: op.Linearizable},
					{Op: op.Status{All: true}},
					{Op: op.SetConfig{Name: "max-bytes", Value: "9MiB"}},
				} {
					id := asked
					asked++
					req.Raw = op.AppendCommand(nil, req.Command())
					c.nodes[victim].node.Serve(req, replyFunc(func(res op.Result) {
						mu.Lock()
						defer mu.Unlock()
						answered[id]++
						if res.Err != nil && !errors.Is(res.Err, op.ErrUnavailable) && !errors.Is(res.Err, op.ErrUnknownOutcome) {
							t.Errorf("%s: %v", req.Op.Code(), res.Err)
						}
					}))
				}
			}
			node := c.nodes[victim].node
			c.halt(victim)
			mu.Lock()
			if len(answered) != asked {
				t.Errorf("%d of %d were answered once the node was closed", len(answered), asked)
			}
			for id, n := range answered {
				if n != 1 {
					t.Errorf("request %d was answered %d times", id, n)
				}
			}
			mu.Unlock()
			late := make(replyChan, 1)
			node.Serve(op.Request{Op: op.Status{}}, late)
			if res := <-late; !errors.Is(res.Err, op.ErrUnavailable) {
				t.Errorf("a closed node answers %+v, want it unavailable", res)
			}
			c.fabric.HealAll()
			c.restart(victim)
			c.waitReady()
		}
		c.checkDigests()
	})
}

type replyFunc func(op.Result)

func (f replyFunc) Reply(res op.Result) { f(res) }
