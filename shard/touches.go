package shard

import (
	"context"
	"sync"
	"time"

	"github.com/ringraft/ringraft/op"
)

const (
	// hintBatch hints leave a node together, or those of hintDelay.
	hintBatch = 256
	hintDelay = 20 * time.Millisecond
	// touchesPerEntry is how many touches an entry carries; one with more
	// operations carries as many as operations.
	touchesPerEntry = 64
	// touchBytes bounds an entry's touches too, so that long keys do not swell it.
	touchBytes = 256 << 10
	// touchQueue bounds the touches that wait for an entry; the newest are dropped.
	touchQueue = 8192
)

// hints collects the keys that this node's reads found in the old part of the list
// and sends them to the leader. Losing some costs a little recency and nothing else.
type hints struct {
	send func(ctx context.Context, keys [][]byte)

	mu      sync.Mutex
	pending [][]byte
	timer   *time.Timer
	sending bool

	ctx  context.Context
	stop context.CancelFunc
	wg   sync.WaitGroup
}

func newHints(send func(context.Context, [][]byte)) *hints {
	h := &hints{send: send}
	h.ctx, h.stop = context.WithCancel(context.Background())
	return h
}

// add notes that a read used key, which it copies.
func (h *hints) add(key []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ctx.Err() != nil || len(h.pending) >= touchQueue {
		return
	}
	h.pending = append(h.pending, append([]byte(nil), key...))
	switch {
	case h.sending:
	case len(h.pending) >= hintBatch:
		h.flushLocked()
	case h.timer == nil:
		h.timer = time.AfterFunc(hintDelay, func() {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.timer = nil
			if !h.sending && h.ctx.Err() == nil {
				h.flushLocked()
			}
		})
	}
}

// flushLocked sends what is pending; one send is under way at a time.
func (h *hints) flushLocked() {
	keys := h.pending[:min(len(h.pending), hintBatch)]
	if len(keys) == 0 {
		return
	}
	h.pending = h.pending[len(keys):]
	h.sending = true
	h.wg.Go(func() {
		h.send(h.ctx, keys)
		h.mu.Lock()
		defer h.mu.Unlock()
		h.sending = false
		if len(h.pending) > 0 && h.ctx.Err() == nil {
			h.flushLocked()
		}
	})
}

func (h *hints) close() {
	h.mu.Lock()
	h.stop()
	if h.timer != nil {
		h.timer.Stop()
	}
	h.mu.Unlock()
	h.wg.Wait()
}

// touches is the leader's queue of keys to move to the young end with the next
// entries, each once.
type touches struct {
	old func(key []byte) bool // whether the key is still in the old part

	mu    sync.Mutex
	queue [][]byte
	known map[string]bool
}

func newTouches(old func([]byte) bool) *touches {
	return &touches{old: old, known: map[string]bool{}}
}

func (t *touches) add(keys [][]byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, k := range keys {
		if len(t.queue) >= touchQueue || len(k) > op.MaxKey || t.known[string(k)] {
			continue
		}
		t.known[string(k)] = true
		t.queue = append(t.queue, k)
	}
}

// take returns the touches for an entry of so many operations.
func (t *touches) take(ops int) [][]byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.queue) == 0 {
		return nil
	}
	limit := min(max(touchesPerEntry, ops), maxTouches)
	taken := make([][]byte, 0, min(limit, len(t.queue)))
	used, size := 0, 0
	for _, k := range t.queue {
		if len(taken) == limit || size+len(k) > touchBytes {
			break
		}
		used++
		delete(t.known, string(k))
		if t.old(k) {
			taken = append(taken, k)
			size += len(k)
		}
	}
	t.queue = t.queue[used:]
	return taken
}
