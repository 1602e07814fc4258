package client

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/ringraft/ringraft/op"
)

// Pair is a key and the value to put there.
type Pair struct {
	Key   string
	Value []byte
}

// Result is one key's part of a call on many keys.
type Result struct {
	Key     string
	Value   Value // GetMany: what stands there; else only its Version
	Existed bool  // GetMany: the key is there; else: it was there before
	Err     error // why the key has no outcome; an absent key is no error
}

// GetMany reads the keys and returns a Result for each, in their order. Those of
// one group are read at one instant, in batches of at most op.MaxKeys. The error
// joins those of the failed batches; the Results tell which keys they hit.
func (c *Client) GetMany(ctx context.Context, keys []string, opts ...ReadOption) ([]Result, error) {
	return c.onKeys(ctx, keys, newReadOptions(opts).level, func(keys [][]byte) op.Op { return op.MGet{Keys: keys} })
}

// DeleteMany removes the keys and returns a Result for each, in their order, and
// an error as GetMany does. It is atomic per batch, not as a whole. It takes IfAbsent,
// IfPresent and ShowValue.
func (c *Client) DeleteMany(ctx context.Context, keys []string, opts ...WriteOption) ([]Result, error) {
	o, invalid := newWriteOptions(ifAbsent|ifPresent|showValue, opts)
	if invalid != nil {
		return nil, invalid
	}
	return c.onKeys(ctx, keys, Local, func(keys [][]byte) op.Op { return op.MDelete{Keys: keys, Cond: o.cond} })
}

func (c *Client) onKeys(ctx context.Context, keys []string, level Level, newOp func([][]byte) op.Op) ([]Result, error) {
	m := many{client: c, level: level, results: make([]Result, len(keys)), pairs: make([]op.Pair, len(keys))}
	for i, key := range keys {
		m.results[i].Key = key
		m.pairs[i].Key = []byte(key)
	}
	m.newOp = func(batch []int) op.Op {
		keys := make([][]byte, len(batch))
		for i, at := range batch {
			keys[i] = m.pairs[at].Key
		}
		return newOp(keys)
	}
	return m.run(ctx)
}

// SetMany puts the pairs and returns a Result for each, in their order, and an
// error as GetMany does. Pairs of one group are written in batches of at most
// op.MaxKeys and op.MaxPayload, one entry each, all or none of a batch. The options
// hold for all pairs: WithTTL, Protected, IfAbsent, IfPresent and ShowValue.
func (c *Client) SetMany(ctx context.Context, pairs []Pair, opts ...WriteOption) ([]Result, error) {
	o, invalid := newWriteOptions(withTTL|protected|ifAbsent|ifPresent|showValue, opts)
	if invalid != nil {
		return nil, invalid
	}
	m := many{client: c, results: make([]Result, len(pairs)), pairs: make([]op.Pair, len(pairs))}
	for i, p := range pairs {
		m.results[i].Key = p.Key
		m.pairs[i] = op.Pair{Key: []byte(p.Key), Value: p.Value}
	}
	m.newOp = func(batch []int) op.Op {
		set := op.MSet{Pairs: make([]op.Pair, len(batch)), TTL: o.ttl, Protect: o.has(protected), Cond: o.cond}
		for i, at := range batch {
			set.Pairs[i] = m.pairs[at]
		}
		return set
	}
	return m.run(ctx)
}

// many is a call on many keys. A batch is a list of indices into pairs.
type many struct {
	client  *Client
	level   Level
	pairs   []op.Pair // without values unless they are written
	results []Result
	newOp   func(batch []int) op.Op

	mu   sync.Mutex
	errs map[string]error // by text, so that a thousand empty keys are one error
}

// run does the groups' parts side by side, and waits for all of them. Batches of
// one group go one after another, so that a key given twice keeps its order.
func (m *many) run(ctx context.Context) ([]Result, error) {
	m.runAll(ctx, m.valid())
	return m.results, errors.Join(slices.Collect(maps.Values(m.errs))...)
}

// valid returns the indices of the pairs within bounds, and fails the others.
func (m *many) valid() []int {
	valid := make([]int, 0, len(m.pairs))
	for i, p := range m.pairs {
		if err := (op.Set{Key: p.Key, Value: p.Value}).Check(localLimits); err != nil {
			m.fail([]int{i}, err)
			continue
		}
		valid = append(valid, i)
	}
	return valid
}

func (m *many) runAll(ctx context.Context, indices []int) {
	parts := m.byGroup(indices)
	var wg sync.WaitGroup
	for _, part := range parts[min(1, len(parts)):] {
		wg.Go(func() { m.runPart(ctx, part) })
	}
	if len(parts) > 0 {
		m.runPart(ctx, parts[0])
	}
	wg.Wait()
}

// byGroup splits indices by the group that owns their keys, keeping their order.
func (m *many) byGroup(indices []int) [][]int {
	t := m.client.table.Load()
	part := make(map[*group]int, len(t.groups))
	var parts [][]int
	for _, i := range indices {
		g := t.slots[op.SlotOf(m.pairs[i].Key)]
		n, ok := part[g]
		if !ok {
			n = len(parts)
			part[g] = n
			parts = append(parts, nil)
		}
		parts[n] = append(parts[n], i)
	}
	return parts
}

func (m *many) runPart(ctx context.Context, part []int) {
	for len(part) > 0 {
		n := m.batchLen(part)
		m.runBatch(ctx, part[:n])
		part = part[n:]
	}
}

// batchLen returns how many of part's first pairs fit into one operation.
func (m *many) batchLen(part []int) int {
	size := 0
	for n, i := range part {
		size += len(m.pairs[i].Key) + len(m.pairs[i].Value)
		if n == op.MaxKeys || n > 0 && size > op.MaxPayload {
			return n
		}
	}
	return len(part)
}

func (m *many) runBatch(ctx context.Context, batch []int) {
	res, err := m.client.do(ctx, m.newOp(batch), m.level)
	switch {
	case errors.Is(err, errSplit):
		m.runAll(ctx, batch)
	case len(batch) > 1 && tooLarge(err):
		m.runBatch(ctx, batch[:len(batch)/2])
		m.runBatch(ctx, batch[len(batch)/2:])
	case err != nil:
		m.fail(batch, err)
	case res.Unmet:
		m.fail(batch, unmet("", res))
	case len(res.Items) != len(batch):
		m.fail(batch, op.UnknownOutcome("the answer has %d items for %d keys", len(res.Items), len(batch)))
	default:
		m.fill(batch, res.Items)
	}
}

// tooLarge reports whether err says that the values asked for exceed one answer.
func tooLarge(err error) bool {
	var e *op.Error
	return errors.As(err, &e) && e.Kind == op.KindInvalid && e.Field == "keys"
}

func (m *many) fill(batch []int, items []op.Item) {
	for n, i := range batch {
		r := newResult(items[n])
		r.Key = m.results[i].Key
		m.results[i] = r
	}
}

func (m *many) fail(batch []int, err error) {
	for _, i := range batch {
		m.results[i].Err = err
	}
	m.mu.Lock()
	if m.errs == nil {
		m.errs = map[string]error{}
	}
	m.errs[err.Error()] = err
	m.mu.Unlock()
}
