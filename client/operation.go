package client

import (
	"time"

	"github.com/ringraft/ringraft/op"
)

// Op is an operation on one key, to be part of a [Txn]. Make it with one of the
// functions named …Op, which take what the Client's methods take.
type Op struct {
	op  op.Op
	key string
	err *op.Error // an option or argument out of bounds
}

// SetOp is Client.Set.
func SetOp(key string, value []byte, opts ...WriteOption) Op {
	o, err := newWriteOptions(withTTL|keepTTL|protected|showValue|conditions, opts)
	return Op{o.set(key, value, o.cond), key, err}
}

// set is the operation that puts value at key with these options.
func (o writeOptions) set(key string, value []byte, cond op.Cond) op.Set {
	return op.Set{
		Key: []byte(key), Value: value, TTL: o.ttl, KeepTTL: o.has(keepTTL), Protect: o.has(protected), Cond: cond,
	}
}

// DeleteOp is Client.Delete.
func DeleteOp(key string, opts ...WriteOption) Op {
	o, err := newWriteOptions(showValue|conditions, opts)
	return Op{op.Delete{Key: []byte(key), Cond: o.cond}, key, err}
}

// ExpireOp is Client.Expire, but that an absent key is no error.
func ExpireOp(key string, ttl time.Duration, opts ...WriteOption) Op {
	o, err := newWriteOptions(showValue|conditions, opts)
	ms, invalid := milliseconds(ttl)
	if err == nil {
		err = invalid
	}
	return Op{op.Expire{Key: []byte(key), TTL: ms, Cond: o.cond}, key, err}
}

// PersistOp is Client.Persist, but that an absent key is no error.
func PersistOp(key string, opts ...WriteOption) Op {
	o, err := newWriteOptions(showValue|conditions, opts)
	return Op{op.Expire{Key: []byte(key), Cond: o.cond}, key, err}
}

// AddOp is Client.Add.
func AddOp(key string, delta int64, opts ...WriteOption) Op {
	o, err := newWriteOptions(withTTL|bounds|clamped|showValue|conditions, opts)
	return Op{op.Add{
		Key: []byte(key), Delta: delta, Min: o.min, Max: o.max, Clamp: o.has(clamped), TTL: o.ttl, Cond: o.cond,
	}, key, err}
}

// GetOp reads key, as it stands when the transaction comes to it.
func GetOp(key string) Op { return Op{op: op.Get{Key: []byte(key)}, key: key} }

// StatOp reads all about key but its value.
func StatOp(key string) Op { return Op{op: op.Stat{Key: []byte(key)}, key: key} }
