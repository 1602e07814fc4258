package shard

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringraft/ringraft/internal/bubble"
	"github.com/ringraft/ringraft/op"
)

func keysOf(from, to int) [][]byte {
	var keys [][]byte
	for i := from; i < to; i++ {
		keys = append(keys, fmt.Appendf(nil, "k%d", i))
	}
	return keys
}

func TestTouchesAreOnceEachAndCheckedAgain(t *testing.T) {
	t.Parallel()
	young := "k3"
	q := newTouches(func(key []byte) bool { return string(key) != young })
	q.add(keysOf(0, 5))
	q.add(keysOf(0, 5))
	if got := q.take(1); len(got) != 4 {
		t.Errorf("took %q, want k0, k1, k2 and k4", got)
	}
	if got := q.take(1); len(got) != 0 {
		t.Errorf("took %q again", got)
	}
	q.add(keysOf(0, 1))
	if got := q.take(1); len(got) != 1 {
		t.Errorf("a key taken before cannot be added again: %q", got)
	}
}

func TestAnEntryCarriesBoundedTouches(t *testing.T) {
	t.Parallel()
	q := newTouches(func([]byte) bool { return true })
	q.add(keysOf(0, touchQueue+10))
	for _, tc := range []struct{ ops, want int }{{1, touchesPerEntry}, {200, 200}, {5000, op.MaxKeys}} {
		if got := len(q.take(tc.ops)); got != tc.want {
			t.Errorf("an entry of %d operations carries %d touches, want %d", tc.ops, got, tc.want)
		}
	}
	left := 0
	for n := len(q.take(op.MaxKeys)); n > 0; n = len(q.take(op.MaxKeys)) {
		left += n
	}
	if want := touchQueue - touchesPerEntry - 200 - op.MaxKeys; left != want {
		t.Errorf("%d touches were kept, want %d", left, want)
	}
}

func TestLongKeysDoNotSwellAnEntry(t *testing.T) {
	t.Parallel()
	q := newTouches(func([]byte) bool { return true })
	var long [][]byte
	for i := range 200 {
		long = append(long, fmt.Appendf(nil, "%0*d", op.MaxKey, i))
	}
	q.add(append(long, make([]byte, op.MaxKey+1)))
	left := 0
	for taken := q.take(op.MaxKeys); len(taken) > 0; taken = q.take(op.MaxKeys) {
		if n := len(taken) * op.MaxKey; n > touchBytes {
			t.Errorf("an entry carries %d bytes of touches, the bound is %d", n, touchBytes)
		}
		left += len(taken)
	}
	if left != 200 {
		t.Errorf("%d touches were taken, want 200: the key that cannot be left out", left)
	}
}

func TestHintsLeaveTogether(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		sent := make(chan int, 100)
		h := newHints(func(_ context.Context, keys [][]byte) { sent <- len(keys) })
		defer h.close()
		for _, k := range keysOf(0, 3) {
			h.add(k)
		}
		synctest.Wait()
		if len(sent) != 0 {
			t.Fatal("hints left one by one")
		}
		time.Sleep(hintDelay)
		synctest.Wait()
		if n := <-sent; n != 3 {
			t.Errorf("%d hints left, want 3", n)
		}
		for _, k := range keysOf(0, hintBatch) {
			h.add(k)
		}
		synctest.Wait()
		if n := <-sent; n != hintBatch {
			t.Errorf("%d hints left, want a full batch of %d at once", n, hintBatch)
		}
	})
}

func TestHintsAreDroppedWhenTheLeaderIsSlow(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		blocked := 0
		h := newHints(func(ctx context.Context, keys [][]byte) { blocked += len(keys); <-ctx.Done() })
		for _, k := range keysOf(0, 2*touchQueue) {
			h.add(k)
		}
		synctest.Wait()
		h.mu.Lock()
		pending := len(h.pending)
		h.mu.Unlock()
		if pending > touchQueue {
			t.Errorf("%d hints wait, the bound is %d", pending, touchQueue)
		}
		h.close()
		if blocked != hintBatch {
			t.Errorf("%d hints were under way, want one batch of %d", blocked, hintBatch)
		}
	})
}
