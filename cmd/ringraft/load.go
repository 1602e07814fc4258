package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/ringraft/ringraft/client"
	"github.com/ringraft/ringraft/op"
)

const (
	maxCallers   = 1 << 16                // requests under way
	awayAfter    = 10 * time.Second       // without an answer: the cluster is away
	errorPause   = 10 * time.Millisecond  // of a caller whose request failed
	progressStep = 100 * time.Millisecond // between looks at the clock
	fillers      = 8                      // batches under way while the keys are put
	fillBytes    = 1 << 20                // values of such a batch, in bytes
	fillPairs    = 500                    // pairs of such a batch
)

// store is what a load needs of a client.
type store interface {
	Get(ctx context.Context, key string, opts ...client.ReadOption) (client.Value, error)
	Set(ctx context.Context, key string, value []byte, opts ...client.WriteOption) (uint64, error)
	SetMany(ctx context.Context, pairs []client.Pair, opts ...client.WriteOption) ([]client.Result, error)
}

// load is a closed loop of requests: each caller sends one when its last is answered.
type load struct {
	to       store
	op       string // opSet, opGet or opMixed
	callers  int
	keys     int
	value    []byte
	level    client.ReadOption
	duration time.Duration
	warmup   time.Duration
}

func randomBytes(size int) []byte {
	b := make([]byte, size)
	source := rand.NewChaCha8([32]byte{})
	_, _ = source.Read(b) // it never fails
	return b
}

func benchKey(i int) string { return "bench:" + strconv.Itoa(i) }

// fill puts every key.
func (l *load) fill(ctx context.Context, bar *progressbar.ProgressBar) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	size := min(fillPairs, max(1, fillBytes/max(1, len(l.value))))
	var next atomic.Int64 // key that nobody has taken yet
	var wg sync.WaitGroup
	for range fillers {
		wg.Go(func() {
			for ctx.Err() == nil {
				first := int(next.Add(int64(size))) - size
				if first >= l.keys {
					return
				}
				if err := l.fillBatch(ctx, first, min(first+size, l.keys)); err != nil {
					stop(fmt.Errorf("putting keys: %w", err))
				}
				_ = bar.Add(size) // a bar that cannot be drawn is no reason to stop
			}
		})
	}
	wg.Wait()
	_ = bar.Finish()
	return context.Cause(ctx)
}

// fillBatch puts the keys from first to end, exclusive. It tries again while the
// outcome is unknown: putting them twice does no harm.
func (l *load) fillBatch(ctx context.Context, first, end int) error {
	pairs := make([]client.Pair, 0, end-first)
	for i := first; i < end; i++ {
		pairs = append(pairs, client.Pair{Key: benchKey(i), Value: l.value})
	}
	for attempt := 1; ; attempt++ {
		_, err := l.to.SetMany(ctx, pairs)
		if !errors.Is(err, op.ErrUnknownOutcome) || attempt == importAttempts {
			return err
		}
		if !pause(ctx, time.Duration(attempt)*importPause) {
			return err
		}
	}
}

// run puts the load on for so long and returns what was measured, also where it fails
// because the cluster is away.
func (l *load) run(ctx context.Context, duration time.Duration, bar *progressbar.ProgressBar) (benchResult, error) {
	m := newMeter(duration)
	running, stop := context.WithTimeoutCause(ctx, duration, errTimeIsUp)
	defer stop()
	var wg sync.WaitGroup
	for i := range l.callers {
		wg.Go(func() { l.call(ctx, running, m, i) })
	}
	err := watch(running, m, bar)
	stop()
	m.end()
	wg.Wait()
	_ = bar.Finish()
	if err == nil {
		err = context.Cause(ctx) // an interrupt
	}
	return m.result(), err
}

var errTimeIsUp = errors.New("the time is up")

// watch waits for the end of running, and returns early with an error when the
// cluster is away.
func watch(running context.Context, m *meter, bar *progressbar.ProgressBar) error {
	for pause(running, progressStep) {
		_ = bar.Set64(min(m.elapsed(), m.limit).Milliseconds())
		if silence := m.silence(); silence > awayAfter {
			return op.Unavailable("no request was answered for %v", silence.Round(time.Millisecond))
		}
	}
	return nil
}

// call sends requests, one after another, until running ends. The last one may last
// longer: calling it off would leave its outcome unknown.
func (l *load) call(ctx, running context.Context, m *meter, caller int) {
	random := rand.New(rand.NewPCG(uint64(caller), 1))
	for running.Err() == nil {
		key := benchKey(random.IntN(l.keys))
		start := m.elapsed()
		err := l.request(ctx, key, random)
		m.record(caller, start, err)
		if err != nil {
			pause(running, errorPause)
		}
	}
}

func (l *load) request(ctx context.Context, key string, random *rand.Rand) error {
	if l.op == opSet || l.op == opMixed && random.IntN(2) == 0 {
		_, err := l.to.Set(ctx, key, l.value)
		return err
	}
	_, err := l.to.Get(ctx, key, l.level)
	if errors.Is(err, op.ErrNotFound) {
		return nil
	}
	return err
}
