package integration

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/ringraft/ringraft/op"
)

// get reads key at one node.
func (c *simCluster) get(id string, key []byte, level op.Level, bound uint64) op.Result {
	return c.ask(id, op.Request{Op: op.Get{Key: key}, Level: level, Bound: bound})
}

// sendsToLeader reports whether res sends the caller to the leader of group 1.
func (c *simCluster) sendsToLeader(res op.Result) bool {
	return res.Err != nil && res.Err.Kind == op.KindWrongNode && res.Err.Node == c.leader(1)
}

func TestSimWritesAndReadsTellTheirIndex(t *testing.T) {
	simulate(t, 1, func(t *testing.T, c *simCluster) {
		key := []byte("k")
		written := c.do(op.Set{Key: key, Value: []byte("1")}, op.Local)
		again := c.do(op.Set{Key: key, Value: []byte("2")}, op.Local)
		if written.Index == 0 || again.Index <= written.Index {
			t.Errorf("two writes at the indexes %d and %d", written.Index, again.Index)
		}
		for _, level := range []op.Level{op.Local, op.Linearizable} {
			if res := c.do(op.Get{Key: key}, level); res.Index < again.Index != (string(res.Value) != "2") {
				t.Errorf("%s: %q at index %d, after 2 was written at %d", level, res.Value, res.Index, again.Index)
			}
		}
		unmet := c.do(op.Set{Key: key, Cond: op.Cond{Kind: op.CondAbsent}}, op.Local)
		if !unmet.Unmet || unmet.Index <= again.Index {
			t.Errorf("an unmet condition: %+v; want an index past %d, since it shows the state there", unmet, again.Index)
		}
	})
}

// TestSimSessionReadsWaitOrGoToTheLeader: a replica that lags by less than a round
// trip is waited for; one that lags by more, or for ever, sends the reader on. The
// leader knows when nobody can have seen an index.
func TestSimSessionReadsWaitOrGoToTheLeader(t *testing.T) {
	simulate(t, 1, func(t *testing.T, c *simCluster) {
		key := []byte("k")
		const soon = 50 * time.Millisecond
		for i := range 200 {
			written := c.do(op.Set{Key: key, Value: fmt.Append(nil, i)}, op.Local)
			for _, m := range c.init {
				start := time.Now()
				res := c.get(m.ID, key, op.Session, written.Index)
				if took := time.Since(start); took > soon {
					t.Fatalf("%s took %v", m.ID, took)
				}
				switch {
				case res.Err == nil && (string(res.Value) != strconv.Itoa(i) || res.Index < written.Index):
					t.Fatalf("%s shows %q at index %d after %d was written at %d", m.ID, res.Value, res.Index, i, written.Index)
				case res.Err != nil && !c.sendsToLeader(res):
					t.Fatalf("%s answers %v", m.ID, res.Err)
				}
			}
		}
		for _, m := range c.init {
			start := time.Now()
			res := c.get(m.ID, key, op.Session, 1<<60)
			if took := time.Since(start); took > soon {
				t.Errorf("%s took %v for an index that nobody has", m.ID, took)
			}
			if m.ID == c.leader(1) {
				if res.Err == nil || res.Err.Kind != op.KindInvalid || res.Err.Field != "bound" {
					t.Errorf("the leader answers %+v for an index that nobody has, want a refusal that names the bound", res)
				}
			} else if !c.sendsToLeader(res) {
				t.Errorf("%s answers %+v for an index that nobody has, want the leader's name", m.ID, res)
			}
		}
	})
}

// TestSimSessionNeverGoesBack follows one session over all replicas while nodes die
// and are cut off: it sees its own writes, and nothing older than it saw before.
func TestSimSessionNeverGoesBack(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			simulate(t, 1, func(t *testing.T, c *simCluster) { followSession(t, c, seed) })
		})
	}
}

func followSession(t *testing.T, c *simCluster, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 1))
	var token uint64 // the highest index seen
	seen, refused, fault, down := 0, 0, time.Now(), ""
	answers := map[string]int{}
	for i := 1; i <= 2000; i++ {
		if time.Now().After(fault) {
			down = c.nextFault(random, down)
			fault = time.Now().Add(time.Duration(random.IntN(3000)) * time.Millisecond)
		}
		id := c.init[random.IntN(len(c.init))].ID
		if random.IntN(3) == 0 {
			if res := c.at(id, op.Set{Key: []byte("k"), Value: fmt.Append(nil, i)}, op.Local); res.Err == nil {
				seen, token = max(seen, i), max(token, res.Index)
			}
		}
		id = c.init[random.IntN(len(c.init))].ID
		res := c.get(id, []byte("k"), op.Session, token)
		if errors.Is(res.Err, op.ErrRefused) {
			t.Fatalf("seed %d: %s holds what was seen at index %d for impossible: %v", seed, id, token, res.Err)
		}
		if res.Err == nil {
			got, _ := strconv.Atoi(string(res.Value))
			if got < seen {
				t.Fatalf("seed %d: %s shows %d at index %d, after %d was seen at %d", seed, id, got, res.Index, seen, token)
			}
			answers[id]++
			seen, token = got, max(token, res.Index)
		} else {
			refused++
		}
		time.Sleep(time.Duration(random.IntN(20)) * time.Millisecond)
	}
	if len(answers) != len(c.init) || refused == 0 {
		t.Errorf("seed %d: answers %v, %d refusals: the test proves nothing", seed, answers, refused)
	}
	if down != "" {
		c.restart(down)
	}
}

// clockwork writes a growing number every few milliseconds and remembers when each
// was acknowledged.
type clockwork struct {
	acked []time.Time // by number
}

// tick writes the next number at some node. A number of unknown outcome is never
// used again, so that what is read tells which write it comes from.
func (w *clockwork) tick(c *simCluster, ids []string, key []byte) {
	n := len(w.acked)
	w.acked = append(w.acked, time.Time{})
	for _, id := range ids {
		res := c.at(id, op.Set{Key: key, Value: fmt.Append(nil, n)}, op.Local)
		if res.Err == nil {
			w.acked[n] = time.Now()
		}
		if res.Err == nil || !errors.Is(res.Err, op.ErrUnavailable) {
			return
		}
	}
}

// newestBy returns the highest number acknowledged by a time.
func (w *clockwork) newestBy(at time.Time) int {
	for n := len(w.acked) - 1; n >= 0; n-- {
		if !w.acked[n].IsZero() && !w.acked[n].After(at) {
			return n
		}
	}
	return -1
}

// checkAge fails if res, asked for at a time, shows what had been replaced more than
// within before.
func (w *clockwork) checkAge(t *testing.T, id string, res op.Result, asked time.Time, within time.Duration) {
	t.Helper()
	got, err := strconv.Atoi(string(res.Value))
	if err != nil {
		got = -1
	}
	if want := w.newestBy(asked.Add(-within)); got < want {
		t.Fatalf("%s shows %d within %v; %d was acknowledged %v before the question", id, got, within, want, asked.Sub(w.acked[want]))
	}
}

// TestSimBoundedReadsEndWithinTheirBound: a replica that is cut off answers, from the
// proof it has, as long as that is young enough, and not a moment longer; healed, it
// answers again.
func TestSimBoundedReadsEndWithinTheirBound(t *testing.T) {
	for name, victim := range map[string]func(*simCluster) string{
		"follower": func(c *simCluster) string { return c.follower(0, 1) },
		"leader":   func(c *simCluster) string { return c.leader(1) },
	} {
		t.Run(name, func(t *testing.T) {
			simulate(t, 1, func(t *testing.T, c *simCluster) { endWithinBound(t, c, victim(c)) })
		})
	}
}

func endWithinBound(t *testing.T, c *simCluster, victim string) {
	const within = 2 * time.Second
	key := []byte("k")
	var w clockwork
	read := func() bool {
		t.Helper()
		asked := time.Now()
		res := c.get(victim, key, op.Bounded, uint64(within.Milliseconds()))
		if res.Err == nil {
			w.checkAge(t, victim, res, asked, within)
		}
		return res.Err == nil
	}
	everybody := []string{c.leader(1), "n1", "n2", "n3"}
	for range 200 {
		w.tick(c, everybody, key)
		if !read() {
			t.Fatal("no answer in a healthy cluster")
		}
		time.Sleep(10 * time.Millisecond)
	}
	c.fabric.Isolate(victim)
	cut, last, answers := time.Now(), time.Now(), 0
	others := c.without(victim)
	for time.Since(cut) < 20*time.Second {
		w.tick(c, others, key)
		asked := time.Now()
		if read() {
			last = asked
			answers++
		}
		time.Sleep(10 * time.Millisecond)
	}
	if lasted := last.Sub(cut); lasted > within || answers < 10 {
		t.Errorf("cut off it gave %d answers, the last after %v; want some within %v", answers, lasted, within)
	}
	c.fabric.HealAll()
	if !comesTrue(10*time.Second, read) {
		t.Error("it does not answer within 10 s of healing")
	}
}

// comesTrue tries for so long whether done is.
func comesTrue(patience time.Duration, done func() bool) bool {
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if done() {
			return true
		}
	}
	return false
}

// TestSimBoundedReadsAreNeverOlder asks all nodes with all bounds through faults.
func TestSimBoundedReadsAreNeverOlder(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			simulate(t, 1, func(t *testing.T, c *simCluster) { boundAges(t, c, seed) })
		})
	}
}

func boundAges(t *testing.T, c *simCluster, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 2))
	key := []byte("k")
	bounds := []time.Duration{time.Millisecond, 100 * time.Millisecond, time.Second, 5 * time.Second}
	var w clockwork
	fault, down, answers, refused := time.Now(), "", map[string]int{}, 0
	for range 1500 {
		if time.Now().After(fault) {
			down = c.nextFault(random, down)
			fault = time.Now().Add(time.Duration(random.IntN(5000)) * time.Millisecond)
		}
		w.tick(c, c.shuffled(random), key)
		id := c.shuffled(random)[0]
		within := bounds[random.IntN(len(bounds))]
		asked := time.Now()
		if res := c.get(id, key, op.Bounded, uint64(within.Milliseconds())); res.Err == nil {
			w.checkAge(t, id, res, asked, within)
			answers[id]++
		} else {
			refused++
		}
		time.Sleep(time.Duration(random.IntN(20)) * time.Millisecond)
	}
	if len(answers) != len(c.init) || refused == 0 {
		t.Errorf("seed %d: answers %v, %d refusals: the test proves nothing", seed, answers, refused)
	}
	if down != "" {
		c.restart(down)
	}
}

func (c *simCluster) shuffled(random *rand.Rand) []string {
	ids := make([]string, len(c.init))
	for i, at := range random.Perm(len(ids)) {
		ids[i] = c.init[at].ID
	}
	return ids
}

// TestSimLeaderCutOffAnswersOnlyWhatItCanProve: a session's read only up to what it
// has applied, a bounded one only within its bound, a linearizable one never.
func TestSimLeaderCutOffAnswersOnlyWhatItCanProve(t *testing.T) {
	simulate(t, 1, func(t *testing.T, c *simCluster) {
		key := []byte("k")
		before := c.do(op.Set{Key: key, Value: []byte("1")}, op.Local)
		old := c.leader(1)
		others := c.without(old)
		c.fabric.Isolate(old)
		cut := time.Now()
		after := c.doAmong(others, op.Set{Key: key, Value: []byte("2")}, op.Local)
		for time.Since(cut) < 20*time.Second {
			if res := c.get(old, key, op.Session, before.Index); res.Err != nil || string(res.Value) != "1" {
				t.Fatalf("a session that saw index %d: %+v, want 1", before.Index, res)
			}
			for level, bound := range map[op.Level]uint64{op.Session: after.Index, op.Bounded: 1000, op.Linearizable: 0} {
				asked := time.Now()
				if level == op.Bounded && asked.Sub(cut) <= time.Second {
					continue
				}
				if res := c.get(old, key, level, bound); !errors.Is(res.Err, op.ErrUnavailable) {
					t.Fatalf("%s after %v: %+v, want it unavailable", level, asked.Sub(cut), res)
				}
			}
			time.Sleep(50 * time.Millisecond)
		}
		c.fabric.HealAll()
		for level, bound := range map[op.Level]uint64{op.Session: after.Index, op.Bounded: 1000} {
			var res op.Result
			if !comesTrue(10*time.Second, func() bool { res = c.get(old, key, level, bound); return res.Err == nil }) || string(res.Value) != "2" {
				t.Errorf("10 s after healing, %s gives %+v, want 2", level, res)
			}
		}
	})
}

func TestSimBoundsThatFitNoLevelAreRefused(t *testing.T) {
	simulate(t, 1, func(t *testing.T, c *simCluster) {
		for name, req := range map[string]op.Request{
			"bounded without a bound":   {Level: op.Bounded},
			"bounded for ever":          {Level: op.Bounded, Bound: op.MaxBound + 1},
			"local with a bound":        {Level: op.Local, Bound: 1},
			"linearizable with a bound": {Level: op.Linearizable, Bound: 1},
		} {
			req.Op = op.Get{Key: []byte("k")}
			if res := c.ask("n1", req); res.Err == nil || res.Err.Kind != op.KindInvalid || res.Err.Field != "bound" {
				t.Errorf("%s: %+v, want a refusal that names the bound", name, res)
			}
		}
	})
}
