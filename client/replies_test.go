package client_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringraft/ringraft/client"
	"github.com/ringraft/ringraft/internal/fakenode"
	"github.com/ringraft/ringraft/op"
)

// TestEveryCallCountsAtMostOnce loses every fifth reply: a counter ends between the
// calls that were acknowledged and those and the unknown ones.
func TestEveryCallCountsAtMostOnce(t *testing.T) {
	t.Parallel()
	nodes, c := start(t, fakenode.Config{})
	var requests atomic.Int64
	nodes.Intercept(func(_ string, req op.Request) *fakenode.Fault {
		if _, ok := req.Op.(op.Add); ok && requests.Add(1)%5 == 0 {
			return &fakenode.Fault{Cut: true}
		}
		return nil
	})
	var done, unknown int64
	for range 1000 {
		switch _, err := c.Add(t.Context(), "n", 1); {
		case err == nil:
			done++
		case errors.Is(err, client.ErrUnknownOutcome):
			unknown++
		default:
			t.Fatal(err)
		}
	}
	nodes.Intercept(nil)
	sum := must[int64](t)(c.Add(t.Context(), "n", 0))
	if unknown < 100 || sum < done || sum > done+unknown {
		t.Errorf("the counter is %d after %d acknowledged calls and %d unknown ones", sum, done, unknown)
	}
}

// TestLostReplyIsAnUnknownOutcome for every kind of write, and the write is done once:
// the version tells.
func TestLostReplyIsAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		code op.Code
		call func(context.Context, *client.Client) error
	}{
		"set": {op.CodeSet, func(ctx context.Context, c *client.Client) error {
			_, err := c.Set(ctx, "k", []byte("v"))
			return err
		}},
		"delete": {op.CodeDelete, func(ctx context.Context, c *client.Client) error {
			_, err := c.Delete(ctx, "k")
			return err
		}},
		"expire":  {op.CodeExpire, func(ctx context.Context, c *client.Client) error { return c.Expire(ctx, "k", time.Hour) }},
		"persist": {op.CodeExpire, func(ctx context.Context, c *client.Client) error { return c.Persist(ctx, "k") }},
		"set many": {op.CodeMSet, func(ctx context.Context, c *client.Client) error {
			_, err := c.SetMany(ctx, []client.Pair{{Key: "k"}})
			return err
		}},
		"delete many": {op.CodeMDelete, func(ctx context.Context, c *client.Client) error {
			_, err := c.DeleteMany(ctx, []string{"k"})
			return err
		}},
		"change of a setting": {op.CodeSetConfig, func(ctx context.Context, c *client.Client) error {
			return c.SetConfig(ctx, "max-bytes", "1GiB")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			nodes, c := start(t, fakenode.Config{})
			must[uint64](t)(c.Set(t.Context(), "k", []byte("before")))
			before := nodes.Served(tc.code)
			nodes.Intercept(func(_ string, req op.Request) *fakenode.Fault {
				if req.Op.Code() == tc.code {
					return &fakenode.Fault{Cut: true}
				}
				return nil
			})
			if err := tc.call(t.Context(), c); !errors.Is(err, client.ErrUnknownOutcome) || errors.Is(err, client.ErrUnavailable) {
				t.Errorf("err = %v, want %v alone", err, client.ErrUnknownOutcome)
			}
			if n := nodes.Served(tc.code) - before; n != 1 {
				t.Errorf("done %d times, want once", n)
			}
		})
	}
}
