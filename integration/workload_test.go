package integration

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ringraft/ringraft/client"
	"github.com/ringraft/ringraft/op"
)

// caller is one client of a cluster, simulated or real. It is used by one goroutine.
type caller interface {
	// do carries out one operation. The level is for reads, which are refused if
	// nobody answers them.
	do(o op.Op, level client.Level) (op.Result, outcome)
	// token returns what this caller has seen, for adopt of another one: from then
	// on its reads at level Session show as much.
	token() any
	adopt(token any)
	// brief reports that answers to single writes may not tell all that a node tells:
	// neither Found of a Set nor Version of a Delete nor either of an Add.
	brief() bool
}

// workload is something that clients do, and what must hold of it whatever happens
// to the cluster meanwhile.
type workload interface {
	// step does one thing. Many clients call it at once, each with its own number.
	step(a caller, who int, random *rand.Rand)
	// settle looks at what is left, once nothing is wrong any more and nobody writes.
	settle(a caller)
	// verdict says what has been broken. It is called outside of fake time.
	verdict() error
}

// crowd is a workload and how many clients it takes to get in each other's way.
type crowd struct {
	workload
	clients int
}

// workloads returns one of each, by name. Transactions of the spanning ones have keys in
// several groups.
func workloads() map[string]crowd {
	return map[string]crowd{
		"registers":             {newRegisters(), 3},
		"counters":              {newCounters(), 2},
		"transactions":          {newTransactions("{%s}%c"), 2},
		"transfers":             {newTransfers("{bank}"), 2},
		"sets":                  {newSets(), 2},
		"doctors":               {newDoctors(), 2},
		"lists":                 {newLists(), 2},
		"levels":                {newLevels(), 6},
		"lives":                 {newLives(), 2},
		"spanning transactions": {newTransactions("%s-%c"), 5},
		"spanning transfers":    {newTransfers("{bank-1}", "{bank-2}", "{bank-3}"), 3},
	}
}

// faults collects what a workload finds to be broken.
type faults struct {
	mu   sync.Mutex
	errs []error
}

func (f *faults) report(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.errs) < 10 {
		f.errs = append(f.errs, fmt.Errorf(format, args...))
	}
}

func (f *faults) verdict() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return errors.Join(f.errs...)
}

// settledRead is a linearizable read of a cluster that is well.
func (f *faults) settledRead(a caller, o op.Op) (op.Result, bool) {
	for end := time.Now().Add(patience); ; {
		res, out := a.do(o, client.Linearizable)
		if out == done {
			return res, true
		}
		if time.Now().After(end) {
			f.report("%s is not answered within %v by a cluster that is well", describeOp(o), patience)
			return res, false
		}
	}
}

// writes gives every write a value of its own.
type writes struct{ last atomic.Int64 }

func (w *writes) next() []byte { return fmt.Append(nil, w.last.Add(1)) }

// dice are the source of chance of one of those who take part in a run. Each turn's
// throws follow from the seed, whatever happened in the turns before.
type dice struct {
	*rand.Rand
	source    *rand.PCG
	seed, who uint64
}

func newDice(seed, who uint64) dice {
	source := rand.NewPCG(seed, who<<32)
	return dice{rand.New(source), source, seed, who}
}

// turn begins the nth turn, from 1.
func (d dice) turn(n uint64) { d.source.Seed(d.seed, d.who<<32+n) }

// series hands out one object after another, a few at a time: the search for an order
// is only short for objects that see few operations.
type series[T any] struct {
	width, uses int // objects in use at once, operations on each
	create      func(n int) T

	mu    sync.Mutex
	used  int
	all   []T
	inUse []T
}

func (s *series[T]) pick(random *rand.Rand) T {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.used%(s.width*s.uses) == 0 {
		s.inUse = nil
		for range s.width {
			x := s.create(len(s.all))
			s.inUse, s.all = append(s.inUse, x), append(s.all, x)
		}
	}
	s.used++
	return s.inUse[random.IntN(s.width)]
}

// made returns all objects so far.
func (s *series[T]) made() []T {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.all)
}
