// Package backoff gives the pauses between tries at the same thing.
package backoff

import (
	"context"
	"math/rand/v2"
	"time"
)

// Backoff is pauses that double from Min on, up to Max. Each is shortened at random, to a
// half at most, so that those who failed together do not come back together.
type Backoff struct{ Min, Max time.Duration }

// Pause waits after the try of that number, from 0 on, unless ctx ends, with whose error
// it returns then.
func (b Backoff) Pause(ctx context.Context, try int) error {
	longest := min(b.Min<<min(try, 10), b.Max)
	timer := time.NewTimer(longest/2 + rand.N(longest/2))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
