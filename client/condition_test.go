package client_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ringraft/ringraft/client"
	"github.com/ringraft/ringraft/internal/fakenode"
	"github.com/ringraft/ringraft/op"
)

// conditional are the writes that take conditions.
var conditional = map[string]func(ctx context.Context, c *client.Client, opts ...client.WriteOption) error{
	"set": func(ctx context.Context, c *client.Client, opts ...client.WriteOption) error {
		_, err := c.Set(ctx, "k", []byte("new"), opts...)
		return err
	},
	"delete": func(ctx context.Context, c *client.Client, opts ...client.WriteOption) error {
		_, err := c.Delete(ctx, "k", opts...)
		return err
	},
	"expire": func(ctx context.Context, c *client.Client, opts ...client.WriteOption) error {
		return ignoreNotFound(c.Expire(ctx, "k", time.Hour, opts...))
	},
	"persist": func(ctx context.Context, c *client.Client, opts ...client.WriteOption) error {
		return ignoreNotFound(c.Persist(ctx, "k", opts...))
	},
	"add": func(ctx context.Context, c *client.Client, opts ...client.WriteOption) error {
		_, err := c.Add(ctx, "k", 1, opts...)
		return err
	},
}

func ignoreNotFound(err error) error {
	if errors.Is(err, client.ErrNotFound) {
		return nil
	}
	return err
}

func TestConditionsOfEveryWrite(t *testing.T) {
	t.Parallel()
	_, c := start(t, fakenode.Config{})
	for call, write := range conditional {
		for _, tc := range []struct {
			name      string
			stands    bool // version v, value 7
			condition func(v uint64) client.WriteOption
			met       bool
		}{
			{"absent, of nothing", false, func(uint64) client.WriteOption { return client.IfAbsent() }, true},
			{"absent, of a record", true, func(uint64) client.WriteOption { return client.IfAbsent() }, false},
			{"present, of nothing", false, func(uint64) client.WriteOption { return client.IfPresent() }, false},
			{"present, of a record", true, func(uint64) client.WriteOption { return client.IfPresent() }, true},
			{"version", true, client.IfVersion, true},
			{"older version", true, func(v uint64) client.WriteOption { return client.IfVersion(v - 1) }, false},
			{"version, of nothing", false, func(uint64) client.WriteOption { return client.IfVersion(1) }, false},
			{"value", true, func(uint64) client.WriteOption { return client.IfValue([]byte("7")) }, true},
			{"another value", true, func(uint64) client.WriteOption { return client.IfValue([]byte("8")) }, false},
			{"empty value", true, func(uint64) client.WriteOption { return client.IfValue(nil) }, false},
		} {
			must[uint64](t)(c.Set(t.Context(), "k", []byte("0")))
			must[bool](t)(c.Delete(t.Context(), "k"))
			var version uint64
			if tc.stands {
				version = must[uint64](t)(c.Set(t.Context(), "k", []byte("7"), client.WithTTL(time.Hour)))
			}
			err := write(t.Context(), c, tc.condition(version), client.ShowValue())
			if tc.met {
				if err != nil {
					t.Errorf("%s, %s: %v", call, tc.name, err)
				}
				continue
			}
			var unmet *client.ConditionError
			if !errors.As(err, &unmet) || !errors.Is(err, client.ErrConditionNotMet) || errors.Is(err, client.ErrRefused) {
				t.Errorf("%s, %s: err = %v, want a condition not met, which is no refusal", call, tc.name, err)
				continue
			}
			if unmet.Key != "k" || unmet.Found != tc.stands || unmet.Version != version || tc.stands && (string(unmet.Value) != "7" || unmet.TTL == 0) {
				t.Errorf("%s, %s: told %+v of version %d", call, tc.name, unmet, version)
			}
			after, err := c.Stat(t.Context(), "k")
			if after.Version != version || tc.stands != (err == nil) {
				t.Errorf("%s, %s: changed to version %d (%v), want %d", call, tc.name, after.Version, err, version)
			}
		}
	}
}

func TestValueIsShownOnlyIfAskedFor(t *testing.T) {
	t.Parallel()
	_, c := start(t, fakenode.Config{})
	must[uint64](t)(c.Set(t.Context(), "k", []byte("secret")))
	for want, opts := range map[string][]client.WriteOption{
		"":       {client.IfAbsent()},
		"secret": {client.ShowValue(), client.IfAbsent()},
	} {
		var unmet *client.ConditionError
		if _, err := c.Set(t.Context(), "k", nil, opts...); !errors.As(err, &unmet) || string(unmet.Value) != want {
			t.Errorf("err = %#v, want one with the value %q", err, want)
		}
	}
}

func TestAddWithinBounds(t *testing.T) {
	t.Parallel()
	_, c := start(t, fakenode.Config{})
	add := func(delta int64, opts ...client.WriteOption) (int64, error) {
		return c.Add(t.Context(), "seats", delta, opts...)
	}
	must[int64](t)(add(2, client.WithTTL(time.Hour)))
	for _, want := range []int64{1, 0} {
		if left := must[int64](t)(add(-1, client.AtLeast(0))); left != want {
			t.Errorf("%d left, want %d", left, want)
		}
	}
	var unmet *client.ConditionError
	if _, err := add(-1, client.AtLeast(0)); !errors.As(err, &unmet) || !unmet.Found || unmet.Number != 0 || unmet.Version != 3 {
		t.Errorf("taking one of none: %#v, want an unmet condition that tells 0", err)
	}
	if _, err := add(11, client.AtLeast(0), client.AtMost(10)); !errors.As(err, &unmet) {
		t.Errorf("over the bound: %v, want an unmet condition", err)
	}
	if sum := must[int64](t)(add(11, client.AtMost(10), client.Clamped())); sum != 10 {
		t.Errorf("clamped to %d, want 10", sum)
	}
	if ttl := must[time.Duration](t)(c.TTL(t.Context(), "seats")); ttl == 0 {
		t.Error("the time to live is gone")
	}
}

func TestConditionsOfManyKeysHoldForAll(t *testing.T) {
	t.Parallel()
	_, c := start(t, fakenode.Config{Groups: 1})
	pairs := []client.Pair{{Key: "a", Value: []byte("1")}, {Key: "b", Value: []byte("2")}}
	must[uint64](t)(c.Set(t.Context(), "b", []byte("stays")))
	results, err := c.SetMany(t.Context(), pairs, client.IfAbsent())
	if !errors.Is(err, client.ErrConditionNotMet) || !errors.Is(results[0].Err, client.ErrConditionNotMet) {
		t.Errorf("err = %v, of a: %v; want %v", err, results[0].Err, client.ErrConditionNotMet)
	}
	if must[bool](t)(c.Exists(t.Context(), "a")) {
		t.Error("a was stored though b was not")
	}
	if _, err := c.DeleteMany(t.Context(), []string{"a", "b"}, client.IfPresent()); !errors.Is(err, client.ErrConditionNotMet) {
		t.Errorf("deleting: err = %v, want %v", err, client.ErrConditionNotMet)
	}
	must[bool](t)(c.Delete(t.Context(), "b"))
	must[[]client.Result](t)(c.SetMany(t.Context(), pairs, client.IfAbsent()))
	must[[]client.Result](t)(c.DeleteMany(t.Context(), []string{"a", "b"}, client.IfPresent()))
}

// TestOptionsThatDoNotFitAreRefused by name, and nothing is done.
func TestOptionsThatDoNotFitAreRefused(t *testing.T) {
	t.Parallel()
	nodes, c := start(t, fakenode.Config{})
	type opts = []client.WriteOption
	set := func(o opts) error { _, err := c.Set(t.Context(), "k", nil, o...); return err }
	del := func(o opts) error { _, err := c.Delete(t.Context(), "k", o...); return err }
	add := func(o opts) error { _, err := c.Add(t.Context(), "k", 1, o...); return err }
	expire := func(o opts) error { return c.Expire(t.Context(), "k", time.Hour, o...) }
	setMany := func(o opts) error {
		_, err := c.SetMany(t.Context(), []client.Pair{{Key: "k"}}, o...)
		return err
	}
	update := func(o opts) error {
		_, _, err := c.Update(t.Context(), "k", func(client.Value, bool) ([]byte, error) { return nil, nil }, o...)
		return err
	}
	one := client.IfVersion(1)
	for _, tc := range []struct {
		call  func(opts) error
		opts  opts
		names string
	}{
		{set, opts{client.IfAbsent(), one}, "IfVersion IfAbsent"},
		{set, opts{client.IfPresent(), client.IfAbsent()}, "IfAbsent IfPresent"},
		{set, opts{client.IfValue(nil), client.IfPresent()}, "IfPresent IfValue"},
		{set, opts{one, client.IfVersion(2)}, "IfVersion"},
		{set, opts{client.IfVersion(0)}, "version 0"},
		{set, opts{client.WithTTL(time.Hour), client.KeepTTL()}, "KeepTTL WithTTL"},
		{set, opts{client.ShowValue()}, "ShowValue"},
		{set, opts{client.AtLeast(1)}, "AtLeast"},
		{set, opts{client.Tries(2)}, "Tries"},
		{del, opts{client.WithTTL(time.Hour)}, "WithTTL"},
		{del, opts{client.Protected()}, "Protected"},
		{expire, opts{client.KeepTTL()}, "KeepTTL"},
		{add, opts{client.KeepTTL()}, "KeepTTL"},
		{add, opts{client.Clamped()}, "clamp"},
		{add, opts{client.AtLeast(2), client.AtMost(1)}, "min max"},
		{add, opts{client.AtLeast(1), client.AtLeast(2)}, "AtLeast"},
		{setMany, opts{client.KeepTTL()}, "KeepTTL"},
		{setMany, opts{one}, "IfVersion"},
		{update, opts{client.IfAbsent()}, "IfAbsent"},
		{update, opts{client.Tries(0)}, "Tries"},
		{update, opts{client.Tries(1001)}, "Tries"},
	} {
		err := tc.call(tc.opts)
		if !errors.Is(err, client.ErrRefused) {
			t.Errorf("%s: err = %v, want %v", tc.names, err, client.ErrRefused)
			continue
		}
		for name := range strings.FieldsSeq(tc.names) {
			if !strings.Contains(err.Error(), name) {
				t.Errorf("err = %v, want one that names %s", err, name)
			}
		}
	}
	if n := nodes.Served(op.CodeSet) + nodes.Served(op.CodeAdd) + nodes.Served(op.CodeDelete); n > 0 {
		t.Errorf("%d writes were done", n)
	}
}

// TestOptionsCanBeUsedAgain: making one does not tie it to a call.
func TestOptionsCanBeUsedAgain(t *testing.T) {
	t.Parallel()
	_, c := start(t, fakenode.Config{})
	must[uint64](t)(c.Set(t.Context(), "k", []byte("v")))
	absent := client.IfAbsent()
	var unmet *client.ConditionError
	if _, err := c.Set(t.Context(), "k", nil, client.ShowValue(), absent); !errors.As(err, &unmet) || string(unmet.Value) != "v" {
		t.Errorf("err = %#v", err)
	}
	if _, err := c.Set(t.Context(), "k", nil, absent); !errors.As(err, &unmet) || len(unmet.Value) > 0 {
		t.Errorf("err = %#v, want one without the value", err)
	}
}
