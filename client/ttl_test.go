package client

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/ringraft/ringraft/internal/bubble"
	"github.com/ringraft/ringraft/op"
)

// ttlCalls are the ways to give a key a time to live.
var ttlCalls = map[string]func(context.Context, *Client, time.Duration) error{
	"set": func(ctx context.Context, c *Client, d time.Duration) error {
		_, err := c.Set(ctx, "k", nil, WithTTL(d))
		return err
	},
	"set many": func(ctx context.Context, c *Client, d time.Duration) error {
		_, err := c.SetMany(ctx, []Pair{{Key: "k"}}, WithTTL(d))
		return err
	},
	"expire": func(ctx context.Context, c *Client, d time.Duration) error { return c.Expire(ctx, "k", d) },
	"add": func(ctx context.Context, c *Client, d time.Duration) error {
		_, err := c.Add(ctx, "k", 1, WithTTL(d))
		return err
	},
	"set in a transaction": func(ctx context.Context, c *Client, d time.Duration) error {
		_, err := c.Txn(ctx, Txn{Then: []Op{SetOp("k", nil, WithTTL(d))}})
		return err
	},
	"add in a transaction": func(ctx context.Context, c *Client, d time.Duration) error {
		_, err := c.Txn(ctx, Txn{Then: []Op{AddOp("k", 1, WithTTL(d))}})
		return err
	},
	"expire in a transaction": func(ctx context.Context, c *Client, d time.Duration) error {
		_, err := c.Txn(ctx, Txn{Then: []Op{ExpireOp("k", d)}})
		return err
	},
}

func ttlOf(o op.Op) int64 {
	switch o := o.(type) {
	case op.Set:
		return o.TTL
	case op.MSet:
		return o.TTL
	case op.Expire:
		return o.TTL
	case op.Add:
		return o.TTL
	case op.Txn:
		return ttlOf(o.Then[0])
	}
	return -1
}

// TestTimesToLiveAreRoundedUpToMilliseconds: what is asked for is kept to the
// millisecond, and never cut short.
func TestTimesToLiveAreRoundedUpToMilliseconds(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := newStage(t)
		var sent op.Op
		s.answer = func(_ context.Context, _ string, req *op.Request) (op.Result, error) {
			sent = req.Op
			res := op.Result{Found: true, Items: []op.Item{{}}}
			if txn, ok := req.Op.(op.Txn); ok {
				res = op.Result{Results: make([]op.Result, len(txn.Then))}
			}
			return res, nil
		}
		c := s.client(t, Config{})
		const century = 876_000 * time.Hour
		for name, call := range ttlCalls {
			for d, want := range map[time.Duration]int64{
				time.Millisecond:        1,
				time.Millisecond + 1:    2,
				1500 * time.Microsecond: 2,
				500 * time.Millisecond:  500,
				1500 * time.Millisecond: 1500,
				time.Hour:               3_600_000,
				century:                 century.Milliseconds(),
				math.MaxInt64 - 775_807: op.MaxTTL,
				math.MaxInt64 - 775_806: op.MaxTTL,
				math.MaxInt64:           op.MaxTTL,
			} {
				if err := call(t.Context(), c, d); err != nil {
					t.Errorf("%s with %v: %v", name, d, err)
				}
				if got := ttlOf(sent); got != want {
					t.Errorf("%s with %v: sent %d ms, want %d", name, d, got, want)
				}
			}
		}
	})
}

// TestTimesToLiveUnderAMillisecondAreRefused, zero and less among them: none of them
// stands for no time to live, and nothing is sent.
func TestTimesToLiveUnderAMillisecondAreRefused(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := newStage(t)
		c := s.client(t, Config{})
		for name, call := range ttlCalls {
			for _, d := range []time.Duration{0, 1, 5, 999 * time.Microsecond, -1, -time.Hour, math.MinInt64} {
				if err := call(t.Context(), c, d); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "ttl") {
					t.Errorf("%s with %v: %v, want a refusal that names ttl", name, d, err)
				}
			}
		}
		if asked := s.trail(); len(asked) > 0 {
			t.Errorf("asked %v, want nobody", asked)
		}
	})
}

func TestRemainingTimesToLiveKeepTheirUnit(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := newStage(t)
		c := s.client(t, Config{})
		for ms, want := range map[int64]time.Duration{
			0: 0, 1: time.Millisecond, 500: 500 * time.Millisecond, 1500: 1500 * time.Millisecond,
			op.MaxTTL: math.MaxInt64 - 775_807,
		} {
			s.answer = func(context.Context, string, *op.Request) (op.Result, error) {
				return op.Result{Found: true, TTL: ms}, nil
			}
			v, getErr := c.Get(t.Context(), "k")
			ttl, ttlErr := c.TTL(t.Context(), "k")
			if v.TTL != want || ttl != want || getErr != nil || ttlErr != nil {
				t.Errorf("%d ms: Get tells %v (%v), TTL %v (%v); want %v", ms, v.TTL, getErr, ttl, ttlErr, want)
			}
		}
	})
}
