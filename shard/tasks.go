package shard

import (
	"context"
	"sync"
)

// tasks are the goroutines of one owner, which others start. The zero value is ready.
type tasks struct {
	mu      sync.Mutex
	running int
	closed  bool
	idle    chan struct{} // made by close, closed when none runs any more
}

// start runs f in a goroutine of its own. After close it only reports false.
func (t *tasks) start(f func()) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return false
	}
	t.running++
	go func() {
		defer t.end()
		f()
	}()
	return true
}

func (t *tasks) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.running--; t.closed && t.running == 0 {
		close(t.idle)
	}
}

// close lets no more start and waits, until ctx ends, for those that run. It may be
// called again.
func (t *tasks) close(ctx context.Context) error {
	t.mu.Lock()
	if !t.closed {
		t.closed = true
		t.idle = make(chan struct{})
		if t.running == 0 {
			close(t.idle)
		}
	}
	t.mu.Unlock()
	select {
	case <-t.idle:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// await returns what ask answers. It gives up when ctx ends, while ask goes on as one
// of t, and returns errStopping, without asking, once t is closed.
func await[A any](ctx context.Context, t *tasks, ask func() A) (answer A, err error) {
	answers := make(chan A, 1)
	if !t.start(func() { answers <- ask() }) {
		return answer, errStopping
	}
	select {
	case answer = <-answers:
		return answer, nil
	case <-ctx.Done():
		return answer, ctx.Err()
	}
}
