package raftfsm

import (
	"math"
	"strconv"
	"testing"

	"github.com/ringraft/ringraft/op"
)

// TestConditions are judged against what lives, in the group's time, and an answer to
// one that does not hold tells what stands there.
func TestConditions(t *testing.T) {
	t.Parallel()
	absent, present := op.Cond{Kind: op.CondAbsent}, op.Cond{Kind: op.CondPresent}
	version := func(v uint64) op.Cond { return op.Cond{Kind: op.CondVersion, Version: v} }
	value := func(v string) op.Cond { return op.Cond{Kind: op.CondValue, Value: []byte(v)} }
	for behaviour, tc := range map[string]struct {
		key   string // k is 5 of version 2 until 100; gone was of version 1 until 50; e is empty; x was never there
		cond  op.Cond
		holds bool
	}{
		"absent, of nothing":               {"x", absent, true},
		"absent, of a record":              {"k", absent, false},
		"absent, of one past its deadline": {"gone", absent, true},
		"present, of nothing":              {"x", present, false},
		"present, of a record":             {"k", present, true},
		"present, of one past its end":     {"gone", present, false},
		"its version":                      {"k", version(2), true},
		"an earlier version":               {"k", version(1), false},
		"a later version":                  {"k", version(3), false},
		"a version of nothing":             {"x", version(1), false},
		"the version of what has ended":    {"gone", version(1), false},
		"its value":                        {"k", value("5"), true},
		"another value":                    {"k", value("05"), false},
		"the start of its value":           {"k", value(""), false},
		"an empty value":                   {"e", value(""), true},
		"an empty value, of nothing":       {"x", value(""), false},
		"the value of what has ended":      {"gone", value("5"), false},
	} {
		t.Run(behaviour, func(t *testing.T) {
			t.Parallel()
			for _, show := range []bool{false, true} {
				cond := tc.cond
				cond.Show = show
				key := []byte(tc.key)
				for _, o := range []op.Write{
					op.Set{Key: key, Value: []byte("7"), Cond: cond}, op.Delete{Key: key, Cond: cond},
					op.Expire{Key: key, TTL: 9, Cond: cond}, op.Add{Key: key, Delta: 1, Cond: cond},
				} {
					f := New(Config{})
					do(t, f, 0, op.Set{Key: []byte("gone"), Value: []byte("5"), TTL: 50}, set("k", "1"),
						op.Set{Key: []byte("k"), Value: []byte("5"), TTL: 100}, set("e", ""))
					do(t, f, 60)
					is, before := get(f, tc.key, 0), f.Mark().Digest
					res := do(t, f, 60, o)[0]
					if res.Unmet == tc.holds {
						t.Errorf("%s: %+v, want unmet: %v", o.Code(), res, !tc.holds)
					}
					if tc.holds {
						continue
					}
					want := op.Result{Unmet: true, Found: is.Found, Version: is.Version, TTL: is.TTL}
					if show {
						want.Value = is.Value
					}
					if !sameResults([]op.Result{res}, []op.Result{want}) {
						t.Errorf("%s: %+v, want %+v", o.Code(), res, want)
					}
					if f.Mark().Digest != before {
						t.Errorf("%s: unmet, but the state is\n%s", o.Code(), dump(f))
					}
				}
			}
		})
	}
}

// TestConditionsOfMany hold for all keys or stop everything, and name the key.
func TestConditionsOfMany(t *testing.T) {
	t.Parallel()
	f := New(Config{})
	do(t, f, 0, set("b", "old"))
	absent := op.Cond{Kind: op.CondAbsent, Show: true}
	present := op.Cond{Kind: op.CondPresent}
	pairs := []op.Pair{{Key: []byte("a"), Value: []byte("1")}, {Key: []byte("b"), Value: []byte("2")}}
	keys := [][]byte{[]byte("b"), []byte("a")}
	for _, tc := range []struct {
		op   op.Write
		want op.Item
	}{
		{op.MSet{Pairs: pairs, Cond: absent}, op.Item{Key: []byte("b"), Version: 1, Found: true, Value: []byte("old")}},
		{op.MSet{Pairs: pairs, Cond: present}, op.Item{Key: []byte("a")}},
		{op.MDelete{Keys: keys, Cond: present}, op.Item{Key: []byte("a")}},
		{op.MDelete{Keys: keys, Cond: absent}, op.Item{Key: []byte("b"), Version: 1, Found: true, Value: []byte("old")}},
	} {
		res := do(t, f, 0, tc.op)[0]
		if want := (op.Result{Unmet: true, Items: []op.Item{tc.want}}); !sameResults([]op.Result{res}, []op.Result{want}) {
			t.Errorf("%s: %+v, want %+v", tc.op.Code(), res, want)
		}
		if got := get(f, "b", 0); allKeys(f) != "b" || got.Version != 1 {
			t.Errorf("%s: keys %q, b of version %d", tc.op.Code(), allKeys(f), got.Version)
		}
	}
	if res := do(t, f, 0, op.MSet{Pairs: pairs[1:], Cond: present})[0]; res.Unmet || !res.Items[0].Found {
		t.Errorf("present: %+v", res)
	}
}

func TestAddWithinBounds(t *testing.T) {
	t.Parallel()
	const least, most = math.MinInt64, math.MaxInt64
	at := func(n int64) *int64 { return &n }
	const (
		done = iota
		unmet
		refused
	)
	for behaviour, tc := range map[string]struct {
		from     int64
		delta    int64
		min, max *int64
		clamp    bool
		outcome  int
		to       int64
	}{
		"to the min":                          {3, -3, at(0), nil, false, done, 0},
		"under the min":                       {2, -3, at(0), nil, false, unmet, 2},
		"under the min, clamped":              {2, -3, at(0), nil, true, done, 0},
		"to the max":                          {3, 3, nil, at(6), false, done, 6},
		"over the max":                        {3, 4, nil, at(6), false, unmet, 3},
		"over the max, clamped":               {3, 4, nil, at(6), true, done, 6},
		"from under the min, still under":     {-5, 1, at(0), nil, false, unmet, -5},
		"from under the min, clamped":         {-5, 1, at(0), nil, true, done, 0},
		"from over the max, still over":       {9, -1, nil, at(6), false, unmet, 9},
		"from over the max to within":         {9, -4, nil, at(6), false, done, 5},
		"nothing, at the max":                 {6, 0, at(0), at(6), false, done, 6},
		"to the highest number":               {most - 1, 1, nil, at(most), false, done, most},
		"past it":                             {most, 1, nil, nil, false, refused, most},
		"past it, with a max there":           {most, 1, nil, at(most), false, unmet, most},
		"past it, with a max there, clamped":  {most - 3, 9, nil, at(most), true, done, most},
		"past it, with a lower max":           {5, most, nil, at(6), false, unmet, 5},
		"past it, with a lower max, clamped":  {5, most, at(0), at(6), true, done, 6},
		"past it, with a min alone":           {most, 1, at(0), nil, true, refused, most},
		"to the lowest number":                {least + 1, -1, at(least), nil, false, done, least},
		"past that":                           {least, -1, nil, nil, false, refused, least},
		"past that, with a min there":         {least, -1, at(least), nil, false, unmet, least},
		"past that, with a min, clamped":      {-2, least, at(-9), nil, true, done, -9},
		"past that, with a max alone":         {-2, least, nil, at(0), true, refused, -2},
		"the lowest delta from the highest":   {most, least, at(-1), at(-1), false, done, -1},
		"the lowest delta from nothing":       {0, least, at(least), nil, false, done, least},
		"from the lowest to the highest less": {least, most, nil, nil, false, done, -1},
	} {
		t.Run(behaviour, func(t *testing.T) {
			t.Parallel()
			f := New(Config{})
			do(t, f, 0, set("n", strconv.FormatInt(tc.from, 10)))
			res := do(t, f, 0, op.Add{Key: []byte("n"), Delta: tc.delta, Min: tc.min, Max: tc.max, Clamp: tc.clamp})[0]
			if res.Unmet != (tc.outcome == unmet) || (res.Err != nil) != (tc.outcome == refused) {
				t.Errorf("%+v, want outcome %d", res, tc.outcome)
			}
			if tc.outcome != refused && res.Number != tc.to {
				t.Errorf("number %d, want %d", res.Number, tc.to)
			}
			if got := string(get(f, "n", 0).Value); got != strconv.FormatInt(tc.to, 10) {
				t.Errorf("%s stands there, want %d", got, tc.to)
			}
		})
	}
}

func TestAddOfAnAbsentKeyStartsAt0(t *testing.T) {
	t.Parallel()
	f := New(Config{})
	one, five := int64(1), int64(5)
	key := []byte("n")
	if res := do(t, f, 0, op.Add{Key: key, Delta: 0, Min: &one})[0]; !res.Unmet || res.Found || res.Number != 0 || f.Stats().Keys != 0 {
		t.Errorf("under the min: %+v", res)
	}
	if res := do(t, f, 0, op.Add{Key: key, Delta: 9, Max: &five, Clamp: true, TTL: 50})[0]; res.Number != 5 || res.Found {
		t.Errorf("clamped: %+v", res)
	}
	if res := get(f, "n", 0); res.TTL != 50 {
		t.Errorf("ttl %d, want 50", res.TTL)
	}
	do(t, f, 10, op.Add{Key: key, Delta: 1})
	if res := get(f, "n", 0); res.TTL != 40 {
		t.Errorf("ttl %d after an add without one, want 40", res.TTL)
	}
	do(t, f, 10, op.Add{Key: key, Delta: 1, TTL: 70})
	if res := get(f, "n", 0); res.TTL != 70 {
		t.Errorf("ttl %d after an add with 70", res.TTL)
	}
}

func TestOnlyCanonicalIntegersAreAdded(t *testing.T) {
	t.Parallel()
	for _, value := range []string{"", " 1", "1 ", "+1", "01", "-0", "1.0", "1e3", "0x1", "9223372036854775808", "-9223372036854775809", "-", "١"} {
		f := New(Config{})
		do(t, f, 0, set("n", value))
		if res := do(t, f, 0, op.Add{Key: []byte("n"), Delta: 1})[0]; res.Err == nil || res.Err.Kind != op.KindConflict || res.Err.Field != "value" {
			t.Errorf("%q: %+v, want a conflict that names value", value, res)
		}
		if got := get(f, "n", 0); string(got.Value) != value || got.Version != 1 {
			t.Errorf("%q became %q", value, got.Value)
		}
	}
}
