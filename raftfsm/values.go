package raftfsm

import (
	"slices"

	"github.com/ringraft/ringraft/lru"
	"github.com/ringraft/ringraft/op"
)

// values is memory for values that must outlive the next change of the cache, where they
// lie. Those that lie alone, which are the large ones, stay where they are.
type values []byte

// maxValues is how many bytes are kept for the next command.
const maxValues = 64 << 10

// own moves a value into this memory. What was moved before stays good.
func (v *values) own(value *[]byte) {
	if n := moves(*value); n > 0 {
		*v = append(*v, *value...)
		*value = (*v)[len(*v)-n : len(*v) : len(*v)]
	}
}

// moves returns how many bytes own moves.
func moves(value []byte) int {
	if len(value) > lru.Lasting {
		return 0
	}
	return len(value)
}

// ownAll moves the values of the answer to a read.
func (v *values) ownAll(res *op.Result) {
	n := moves(res.Value)
	for i := range res.Items {
		n += moves(res.Items[i].Value)
	}
	*v = slices.Grow(*v, n)
	v.own(&res.Value)
	for i := range res.Items {
		v.own(&res.Items[i].Value)
	}
}

// next makes the memory free for the next command, but for what the answer to the last
// one may have taken.
func (v *values) next(res *op.Result) {
	switch {
	case len(res.Value) > 0 || len(res.Items) > 0 || len(res.Results) > 0:
		*v = (*v)[len(*v):]
	case cap(*v) > maxValues:
		*v = nil
	default:
		*v = (*v)[:0]
	}
}
