package shard

import (
	"context"
	"log/slog"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ringraft/ringraft/internal/mutant"
)

// proof says that a state which has reached index shows all that was acknowledged at
// the time at, by this node's own clocks. The zero proof says nothing.
type proof struct {
	at    time.Time
	index uint64
}

// age returns how long before now it was, by the clock that says more: the monotonic
// one stands still while a machine sleeps, and the wall clock can be set back.
func (p proof) age(now time.Time) time.Duration {
	if p.at.IsZero() {
		return math.MaxInt64
	}
	return max(now.Sub(p.at), now.Round(0).Sub(p.at.Round(0)))
}

// freshness lets any replica answer with a state of bounded age, without agreement of
// clocks: it notes its own time, asks the leader for its read index, which the leader
// lets a majority confirm, and waits until its state has reached that index. From
// then on it knows that its state is no older than the time noted. A replica that is
// cut off gets no new proof, so its reads end when the last one is too old for them.
//
// Proofs are fetched when a read needs one, or has used up half of its bound, so as
// long as reads keep coming they find a proof, and nothing is sent when none do.
type freshness struct {
	machine machine
	log     *slog.Logger
	learn   func(ctx context.Context) (index uint64, err error) // the read index, asked for after the call
	timeout time.Duration                                       // for a proof

	rounds   *rounds[boundedRead]
	renewing atomic.Bool // a read of half a bound waits, on nobody's behalf

	mu     sync.Mutex
	newest proof
}

// boundedRead is to be answered with all that was acknowledged until a duration within
// before it was asked.
type boundedRead struct {
	asked  time.Time
	within time.Duration
	then   func(fresh bool)
}

func newFreshness(m machine, log *slog.Logger, learn func(context.Context) (uint64, error), timeout time.Duration) *freshness {
	f := &freshness{machine: m, log: log, learn: learn, timeout: timeout}
	f.rounds = newRounds(f.round)
	return f
}

// add calls then once the state is known to be fresh enough or cannot be shown to be.
func (f *freshness) add(within time.Duration, then func(fresh bool)) {
	r := boundedRead{time.Now(), within, then}
	if !f.shows(r) {
		f.wait(r)
		return
	}
	then(true)
	r.within /= 2
	if !f.shows(r) && f.renewing.CompareAndSwap(false, true) {
		r.then = func(bool) { f.renewing.Store(false) }
		f.wait(r)
	}
}

func (f *freshness) wait(r boundedRead) {
	if !f.rounds.add(r) {
		r.then(false)
	}
}

// shows reports whether the state is fresh enough for r.
func (f *freshness) shows(r boundedRead) bool {
	f.mu.Lock()
	p := f.newest
	f.mu.Unlock()
	return (mutant.StaleProof || p.age(r.asked) <= r.within) && f.machine.Applied() >= p.index
}

// round fetches a proof for those for whom the one before does not do.
func (f *freshness) round(ctx context.Context, waiting []boundedRead) {
	var left []boundedRead
	for _, r := range waiting {
		if f.shows(r) {
			r.then(true)
		} else {
			left = append(left, r)
		}
	}
	if len(left) == 0 {
		return
	}
	if err := f.fetch(ctx); err != nil {
		f.log.Debug("the age of the state is not known", "err", err)
	}
	for _, r := range left {
		r.then(f.shows(r))
	}
}

func (f *freshness) fetch(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	began := time.Now()
	index, err := f.learn(ctx)
	if err != nil {
		return err
	}
	if err := f.machine.Wait(ctx, index); err != nil {
		return err
	}
	f.prove(proof{at: began, index: index})
	return nil
}

// prove takes p over unless a newer proof is known.
func (f *freshness) prove(p proof) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if p.at.After(f.newest.at) {
		f.newest = p
	}
}

func (f *freshness) close() { f.rounds.close() }
