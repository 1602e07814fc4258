package raftfsm

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/ringraft/ringraft/op"
)

// looked is the answers to lookups.
type looked struct {
	results []op.Result
	room    int // answers after which there is room for no more
}

func (l *looked) take(i int, res *op.Result) (more bool) {
	r := *res
	r.Value = bytes.Clone(r.Value)
	l.results = append(l.results, r)
	return len(l.results) < l.room
}

// lookupMachines returns state machines with records that have ended, that will, and none.
func lookupMachines(t *testing.T, n int) []*FSM {
	var machines []*FSM
	for i := range n {
		f := New(Config{})
		for k := range 40 {
			ttl := int64(0)
			if k%4 == 3 {
				ttl = int64(1000 * (k + 1))
			}
			do(t, f, 1, op.Set{Key: lookupKey(k), Value: fmt.Append(nil, "value ", k, " of ", i), TTL: ttl})
		}
		machines = append(machines, f)
	}
	return machines
}

func lookupKey(k int) []byte { return fmt.Append(nil, "key-", k) }

// TestLookupsAnswerAsReads compares lookups of several state machines with one read after
// another, with all locks free, and with one that is held when they begin.
func TestLookupsAnswerAsReads(t *testing.T) {
	t.Parallel()
	const clock = 20_500
	machines := lookupMachines(t, 3)
	random := rand.New(rand.NewPCG(1, 1))
	for _, room := range []int{1, 7, 1000} {
		var l Lookups
		var want []op.Result
		for range 64 {
			f, key := machines[random.IntN(len(machines))], lookupKey(random.IntN(50))
			l.Add(f, op.SlotOf(key), key, nil)
			if len(want) < room {
				want = append(want, f.Read(op.Get{Key: key}, clock, nil))
			}
		}
		got := looked{room: room}
		if n := l.Read(clock, got.take); n != len(want) {
			t.Errorf("room for %d: %d were answered, want %d", room, n, len(want))
		}
		if g, w := fmt.Sprintf("%+v", got.results), fmt.Sprintf("%+v", want); g != w {
			t.Errorf("room for %d: answers %s\nwant %s", room, g, w)
		}
		if n := l.Read(clock, got.take); n != 0 {
			t.Errorf("%d were answered again", n)
		}
	}
}

// TestLookupsHoldNothingWhileTheyWait: with the lock of one state machine taken, lookups of
// it and of another leave the other free for entries.
func TestLookupsHoldNothingWhileTheyWait(t *testing.T) {
	t.Parallel()
	machines := lookupMachines(t, 2)
	taken, free := machines[1], machines[0]
	taken.mu.Lock()
	var l Lookups
	key := lookupKey(1)
	for _, f := range machines {
		l.Add(f, op.SlotOf(key), key, nil)
	}
	first, done := make(chan struct{}), make(chan int)
	go func() {
		done <- l.Read(1, func(i int, _ *op.Result) bool {
			if i == 0 {
				close(first)
			}
			return true
		})
	}()
	<-first // it waits for the lock that is taken, or will
	do(t, free, 2, op.Set{Key: key, Value: []byte("new")})
	taken.mu.Unlock()
	if n := <-done; n != 2 {
		t.Errorf("%d were answered, want 2", n)
	}
}

// TestLookupsGiveHints: for old records, and not twice.
func TestLookupsGiveHints(t *testing.T) {
	t.Parallel()
	f := lookupMachines(t, 1)[0]
	var hints []string
	for range 2 {
		var l Lookups
		for _, k := range []int{0, 39, 1, 99} { // old, young, old, not there
			key := lookupKey(k)
			l.Add(f, op.SlotOf(key), key, func(key []byte) { hints = append(hints, string(key)) })
		}
		l.Read(1, func(int, *op.Result) bool { return true })
	}
	if got, want := fmt.Sprint(hints), "[key-0 key-1]"; got != want {
		t.Errorf("hints for %s, want %s", got, want)
	}
}

func TestLookupsTakeNoMemory(t *testing.T) {
	f := lookupMachines(t, 1)[0]
	var l Lookups
	var keys [16][]byte
	for i := range keys {
		keys[i] = lookupKey(i)
	}
	out := make([]byte, 0, 4096)
	answer := func(_ int, res *op.Result) bool { out = res.AppendTo(out); return true }
	if n := testing.AllocsPerRun(100, func() {
		out = out[:0]
		for _, key := range keys {
			l.Add(f, op.SlotOf(key), key, nil)
		}
		l.Read(1, answer)
	}); n > 0 {
		t.Errorf("%v allocations for 16 lookups, want none", n)
	}
}

// BenchmarkLookups looks up as many keys together as the name says, of 100,000 in four
// state machines.
func BenchmarkLookups(b *testing.B) {
	var machines [4]*FSM
	for i := range machines {
		machines[i] = New(Config{})
		for k := i; k < benchKeys; k += len(machines) {
			do(b, machines[i], 1, op.Set{Key: benchKey(k), Value: make([]byte, benchValue)})
		}
	}
	var keys []byte // side by side, as on a connection
	length := len(benchKey(0))
	for range 1 << 16 {
		keys = append(keys, benchKey(rand.IntN(benchKeys))...)
	}
	for _, together := range []int{1, 4, 16, 64} {
		b.Run(fmt.Sprint(together), func(b *testing.B) {
			var l Lookups
			var out []byte
			answer := func(_ int, res *op.Result) bool { out = res.AppendTo(out); return res.Found }
			b.ReportAllocs()
			at, n := 0, 0
			for b.Loop() {
				out = out[:0]
				for range together {
					key := keys[at : at+length]
					at = (at + length) % len(keys)
					l.Add(machines[(2*key[length-2]+key[length-1])%4], op.SlotOf(key), key, nil)
				}
				n += l.Read(1, answer)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/lookup")
		})
	}
}
