package lru

import (
	"container/list"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"sort"
	"testing"
)

// zipf draws ranks from 0 on, rank k with a probability in proportion to
// 1/(k+1)^exponent, for exponents that math/rand/v2 does not know.
type zipf struct {
	random *rand.Rand
	sums   []float64
}

func newZipf(exponent float64, ranks int) *zipf {
	z := &zipf{random: rand.New(rand.NewPCG(1, 2)), sums: make([]float64, ranks)}
	sum := 0.0
	for k := range ranks {
		sum += math.Pow(float64(k+1), -exponent)
		z.sums[k] = sum
	}
	return z
}

func (z *zipf) draw() int {
	return sort.SearchFloat64s(z.sums, z.random.Float64()*z.sums[len(z.sums)-1])
}

// exactLRU moves a key with every read.
type exactLRU struct {
	capacity int
	keys     map[int]*list.Element
	order    *list.List
}

func (e *exactLRU) read(key int) (hit bool) {
	if at, ok := e.keys[key]; ok {
		e.order.MoveToBack(at)
		return true
	}
	if e.order.Len() == e.capacity {
		delete(e.keys, e.order.Remove(e.order.Front()).(int))
	}
	e.keys[key] = e.order.PushBack(key)
	return false
}

// hintedLRU moves keys by touches, which it applies some reads after their hints.
type hintedLRU struct {
	capacity int
	delay    int // reads from one flush of the hints to the next
	cache    *Cache
	reads    int
	hints    [][]byte
	touches  int
}

func (h *hintedLRU) read(n int) (hit bool) {
	key := binary.BigEndian.AppendUint64(nil, uint64(n))
	h.reads++
	if _, hit = h.cache.Get(0, key); !hit {
		h.cache.Put(0, key, Item{})
		if h.cache.Len() > h.capacity {
			victim, _ := h.cache.Oldest()
			h.cache.Remove(0, victim.Key)
		}
	} else if h.cache.Hint(0, key, uint32(h.reads/100_000)) {
		h.hints = append(h.hints, key)
		h.touches++
	}
	if h.reads%h.delay == 0 {
		for _, hint := range h.hints {
			h.cache.Touch(0, hint)
		}
		h.hints = h.hints[:0]
	}
	return hit
}

func TestHintsComeCloseToExactLRU(t *testing.T) {
	t.Parallel()
	const (
		keys     = 40_000
		capacity = keys / 20
		warmUp   = 40_000
		reads    = 240_000
	)
	z := newZipf(0.99, keys)
	exact := &exactLRU{capacity: capacity, keys: map[int]*list.Element{}, order: list.New()}
	hinted := &hintedLRU{capacity: capacity, delay: 50, cache: New()}
	var exactHits, hintedHits int
	for i := range warmUp + reads {
		if i == warmUp {
			exactHits, hintedHits, hinted.touches = 0, 0, 0
		}
		key := z.draw()
		if exact.read(key) {
			exactHits++
		}
		if hinted.read(key) {
			hintedHits++
		}
	}
	loss := 100 * float64(exactHits-hintedHits) / reads
	touches := float64(hinted.touches) / reads
	t.Logf("hit ratio of exact LRU %.2f %%, loss %.3f points, %.3f touches per read", 100*float64(exactHits)/reads, loss, touches)
	if loss >= 0.25 {
		t.Errorf("the hit ratio is %.3f points under that of exact LRU, want under 0.25", loss)
	}
	if touches >= 0.2 {
		t.Errorf("%.3f touches per read, want under 0.2", touches)
	}
	if exactHits < reads/3 {
		t.Errorf("%d hits of %d reads: too few to compare", exactHits, reads)
	}
}
