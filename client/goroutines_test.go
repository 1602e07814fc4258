package client_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/ringraft/ringraft/internal/fakenode"
	"github.com/ringraft/ringraft/op"
)

// TestCallsUnderWayTakeNoGoroutines, in the client or in its nodes, but those of their callers.
func TestCallsUnderWayTakeNoGoroutines(t *testing.T) {
	nodes, c := start(t, fakenode.Config{})
	const calls, constant = 1000, 100
	key := func(i int) string { return fmt.Sprintf("k%d", i) }
	for i := range 20 { // which connects to all nodes
		must[uint64](t)(c.Set(t.Context(), key(i), nil))
	}
	arrived := make(chan struct{}, calls)
	nodes.Intercept(func(_ string, req op.Request) *fakenode.Fault {
		switch req.Op.Code() {
		case op.CodeGet, op.CodeSet:
			arrived <- struct{}{}
			return &fakenode.Fault{Mute: true}
		}
		return nil
	})
	ctx, cancel := context.WithCancel(t.Context())
	var callers sync.WaitGroup
	defer callers.Wait()
	defer cancel()
	before := runtime.NumGoroutine()
	for i := range calls {
		callers.Go(func() {
			if i%2 == 0 {
				_, _ = c.Get(ctx, key(i))
			} else {
				_, _ = c.Set(ctx, key(i), nil)
			}
		})
	}
	for range calls {
		<-arrived
	}
	if more := runtime.NumGoroutine() - before - calls; more > constant {
		t.Errorf("%d calls under way take %d goroutines besides their callers', want %d at most", calls, more, constant)
	}
}
