package backoff

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/ringraft/ringraft/internal/bubble"
)

func TestPausesDoubleUpToTheLongest(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		b := Backoff{10 * time.Millisecond, 200 * time.Millisecond}
		for try, longest := range []time.Duration{10, 20, 40, 80, 160, 200, 200} {
			start := time.Now()
			if err := b.Pause(t.Context(), try); err != nil {
				t.Fatal(err)
			}
			longest *= time.Millisecond
			if took := time.Since(start); took < longest/2 || took >= longest {
				t.Errorf("pause %d took %v, want at least half of %v and less than it", try, took, longest)
			}
		}
	})
}

func TestAPauseEndsWithItsContext(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		if err := (Backoff{time.Minute, time.Minute}).Pause(ctx, 99); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Second {
			t.Errorf("%v after %v, want the context's error after 1 s", err, time.Since(start))
		}
	})
}
