package bench

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ringraft/ringraft/op"
)

const (
	fillers      = 8       // callers that put the keys
	fillRequests = 500     // of a batch
	fillBytes    = 1 << 20 // values of a batch, unless one is longer
	fillAttempts = 8       // at a batch
	fillPause    = 250 * time.Millisecond
)

// Fill puts every key. done is told how many more are there. It tries again where
// that failed: to put a key twice does no harm.
func (l *Load) Fill(ctx context.Context, done func(keys int)) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	size := min(fillRequests, MaxBatch, max(1, fillBytes/max(1, l.Work.sizes.longest)))
	firsts := make(chan int)
	var wg sync.WaitGroup
	for n := range fillers {
		wg.Go(func() {
			for first := range firsts {
				last := min(first+size, l.Work.keys.Len())
				if err := l.fillBatch(ctx, n, first, last); err != nil {
					stop(fmt.Errorf("putting keys: %w", err))
					continue
				}
				done(last - first)
			}
		})
	}
	for first := 0; first < l.Work.keys.Len() && ctx.Err() == nil; first += size {
		firsts <- first
	}
	close(firsts)
	wg.Wait()
	return context.Cause(ctx)
}

// fillBatch puts the keys from first to end, exclusive.
func (l *Load) fillBatch(ctx context.Context, n, first, end int) error {
	caller := l.Store.Caller(n)
	defer caller.Close()
	requests := newDrawer(&l.Work, first)
	batch := make([]Request, 0, end-first)
	for i := first; i < end; i++ {
		batch = append(batch, Request{Key: AppendKey(nil, i), Value: requests.value()})
	}
	for attempt := 1; ; attempt++ {
		caller.Do(ctx, batch)
		err := firstError(batch)
		if err == nil || errors.Is(err, op.ErrRefused) || attempt == fillAttempts {
			return err
		}
		if !pause(ctx, time.Duration(attempt)*fillPause) {
			return err
		}
	}
}

func firstError(batch []Request) error {
	for i := range batch {
		if batch[i].Err != nil {
			return batch[i].Err
		}
	}
	return nil
}
