package client

import (
	"context"
	"time"

	"github.com/ringraft/ringraft/op"
)

// Value is what stands at a key.
type Value struct {
	Bytes   []byte        // the caller's own; empty is a value
	Version uint64        // grows with every change of the key
	TTL     time.Duration // left to live, in whole ms; 0: for ever
}

// Stat is what is known of a key without its value.
type Stat struct {
	Size    int // of the value, in bytes
	Version uint64
	TTL     time.Duration // left to live, in whole ms; 0: for ever
}

// Get returns what stands at key, and ErrNotFound if nothing does.
func (c *Client) Get(ctx context.Context, key string, opts ...ReadOption) (Value, error) {
	res, err := c.do(ctx, op.Get{Key: []byte(key)}, newReadOptions(opts).level)
	if err != nil {
		return Value{}, err
	}
	if !res.Found {
		return Value{}, ErrNotFound
	}
	return Value{Bytes: res.Value, Version: res.Version, TTL: duration(res.TTL)}, nil
}

// Stat returns what is known of key, and ErrNotFound if it does not exist.
func (c *Client) Stat(ctx context.Context, key string, opts ...ReadOption) (Stat, error) {
	res, err := c.do(ctx, op.Stat{Key: []byte(key)}, newReadOptions(opts).level)
	if err != nil {
		return Stat{}, err
	}
	if !res.Found {
		return Stat{}, ErrNotFound
	}
	return Stat{Size: int(res.Number), Version: res.Version, TTL: duration(res.TTL)}, nil
}

// Exists reports whether key exists.
func (c *Client) Exists(ctx context.Context, key string, opts ...ReadOption) (bool, error) {
	res, err := c.do(ctx, op.Stat{Key: []byte(key)}, newReadOptions(opts).level)
	return res.Found, err
}

// TTL returns how long key has left to live, 0 if for ever, and ErrNotFound if it
// does not exist.
func (c *Client) TTL(ctx context.Context, key string, opts ...ReadOption) (time.Duration, error) {
	s, err := c.Stat(ctx, key, opts...)
	return s.TTL, err
}

// Set puts value at key and returns the key's new version. It takes WithTTL, KeepTTL,
// Protected and conditions.
func (c *Client) Set(ctx context.Context, key string, value []byte, opts ...WriteOption) (version uint64, err error) {
	res, err := c.write(ctx, SetOp(key, value, opts...))
	return res.Version, err
}

// Delete removes key and reports whether it was there. It takes conditions.
func (c *Client) Delete(ctx context.Context, key string, opts ...WriteOption) (existed bool, err error) {
	res, err := c.write(ctx, DeleteOp(key, opts...))
	return res.Found, err
}

// Expire makes key end after ttl, which is counted as WithTTL does. An absent key is
// ErrNotFound. It takes conditions.
func (c *Client) Expire(ctx context.Context, key string, ttl time.Duration, opts ...WriteOption) error {
	return c.expire(ctx, ExpireOp(key, ttl, opts...))
}

// Persist takes key's time to live away. An absent key is ErrNotFound. It takes
// conditions.
func (c *Client) Persist(ctx context.Context, key string, opts ...WriteOption) error {
	return c.expire(ctx, PersistOp(key, opts...))
}

func (c *Client) expire(ctx context.Context, o Op) error {
	res, err := c.write(ctx, o)
	if err == nil && !res.Found {
		return ErrNotFound
	}
	return err
}

// Add adds delta to the decimal integer at key, which counts as 0 if absent, and
// returns the sum. A value that is no integer, or a sum beyond 64 bits, is refused.
// A counter is a record like others: it keeps its time to live and its protection, and
// without the latter it may be evicted. Add takes AtLeast, AtMost, Clamped, WithTTL and
// conditions.
func (c *Client) Add(ctx context.Context, key string, delta int64, opts ...WriteOption) (sum int64, err error) {
	res, err := c.write(ctx, AddOp(key, delta, opts...))
	return res.Number, err
}

// write does a write of one key.
func (c *Client) write(ctx context.Context, o Op) (op.Result, error) {
	if o.err != nil {
		return op.Result{}, o.err
	}
	res, err := c.do(ctx, o.op, Local)
	if err == nil && res.Unmet {
		return op.Result{}, unmet(o.key, res)
	}
	return res, err
}

func duration(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }
