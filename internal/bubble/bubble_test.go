package bubble

import (
	"sync"
	"testing"
	"time"
)

// TestTimersOfManyGoroutinesFireAtOnce crashes the race detector on several processors.
func TestTimersOfManyGoroutinesFireAtOnce(t *testing.T) {
	for range 2 {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			Test(t, func(t *testing.T) {
				var all sync.WaitGroup
				for range 8 {
					all.Go(func() {
						for range 5000 {
							<-time.After(0)
						}
					})
				}
				all.Wait()
			})
		})
	}
}
