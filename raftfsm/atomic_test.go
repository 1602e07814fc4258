package raftfsm

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ringraft/ringraft/op"
)

// TestAllOrNothing: records of one-byte keys and 36-byte values cost 101 bytes; the
// limit holds four, as b, c and d are. The oldest, a, is the number 41.
func TestAllOrNothing(t *testing.T) {
	t.Parallel()
	const limit = 404
	long := strings.Repeat("v", 36)
	large := strings.Repeat("v", 137) // costs 202
	key := func(k string) []byte { return []byte(k) }
	present, absent := op.Cond{Kind: op.CondPresent}, op.Cond{Kind: op.CondAbsent}
	protected := func(k, value string) op.Set { return op.Set{Key: key(k), Value: []byte(value), Protect: true} }
	for behaviour, tc := range map[string]struct {
		time    int64
		then    []op.Op
		refused error  // nil: done
		keys    string // afterwards
	}{
		"what it evicts goes at its end":          {0, []op.Op{set("e", long), set("f", long)}, nil, "c d e f"},
		"a counter that is old counts on":         {0, []op.Op{set("e", long), set("f", long), set("g", long), op.Add{Key: key("a"), Delta: 1, Cond: present}}, nil, "a e f g"},
		"an old key is there to a condition":      {0, []op.Op{set("e", long), set("f", long), op.Set{Key: key("a"), Value: []byte(long), Cond: present}}, nil, "a d e f"},
		"an old key gets its ttl":                 {0, []op.Op{set("e", large), op.Expire{Key: key("a"), TTL: 5}}, nil, "a d e"},
		"as many records as fit":                  {0, []op.Op{set("e", long), set("f", long), set("g", long), set("h", long)}, nil, "e f g h"},
		"one more evicts none of its own":         {0, []op.Op{set("e", long), set("f", long), set("g", long), set("h", long), set("i", "")}, op.ErrOutOfMemory, "a b c d"},
		"nor does a change of ttl":                {0, []op.Op{set("e", long), set("f", long), set("g", long), set("h", long), op.Expire{Key: key("a"), TTL: 5}}, op.ErrOutOfMemory, "a b c d"},
		"protected records leave their room":      {0, []op.Op{protected("e", large), set("f", long), set("g", long)}, nil, "e f g"},
		"and no more":                             {0, []op.Op{protected("e", large), set("f", long), set("g", long+"v")}, op.ErrOutOfMemory, "a b c d"},
		"unprotecting makes no room":              {0, []op.Op{protected("e", large), set("e2", large), set("e3", "")}, op.ErrOutOfMemory, "a b c d"},
		"a delete makes room for what follows":    {0, []op.Op{set("e", large), op.Delete{Key: key("e")}, set("f", large), set("g", large)}, nil, "f g"},
		"but not for what comes before":           {0, []op.Op{protected("e", large), protected("f", large), set("g", ""), op.Delete{Key: key("e")}}, op.ErrOutOfMemory, "a b c d"},
		"a refused last part":                     {0, []op.Op{set("e", "1"), op.Delete{Key: key("b")}, incr("c")}, op.ErrRefused, "a b c d"},
		"a last part's condition":                 {0, []op.Op{set("e", "1"), op.Delete{Key: key("b"), Cond: present}, op.Set{Key: key("c"), Cond: absent}}, op.ErrRefused, "a b c d"},
		"a last part's bound":                     {0, []op.Op{set("e", "1"), op.Add{Key: key("n"), Delta: -1, Min: new(int64)}}, op.ErrRefused, "a b c d"},
		"what it deletes is absent to it":         {0, []op.Op{op.Delete{Key: key("b")}, op.Get{Key: key("b")}}, nil, "a c d"},
		"a key past its deadline is absent":       {50, []op.Op{op.Set{Key: key("d"), Value: []byte(long), Cond: absent}}, nil, "a b c d"},
		"and cannot be present":                   {50, []op.Op{set("e", ""), op.Expire{Key: key("d"), TTL: 5, Cond: present}}, op.ErrRefused, "a b c d"},
		"what is past its deadline goes first":    {50, []op.Op{set("e", long), incr("a")}, nil, "a b c e"},
		"a version nobody can know":               {0, []op.Op{incr("a"), op.Add{Key: key("a"), Delta: 1, Cond: op.Cond{Kind: op.CondVersion, Version: 1}}}, op.ErrRefused, "a b c d"},
		"nor after a change of ttl":               {0, []op.Op{op.Expire{Key: key("a")}, op.Add{Key: key("a"), Delta: 1, Cond: op.Cond{Kind: op.CondVersion, Version: 1}}}, op.ErrRefused, "a b c d"},
		"a version of before":                     {0, []op.Op{op.Add{Key: key("a"), Delta: 1, Cond: op.Cond{Kind: op.CondVersion, Version: 1}}}, nil, "a b c d"},
		"a large record in the place of an old":   {0, []op.Op{set("a", large)}, nil, "a c d"},
		"nothing at all":                          {0, nil, nil, "a b c d"},
		"reads alone":                             {0, []op.Op{op.Get{Key: key("a")}, op.Stat{Key: key("x")}}, nil, "a b c d"},
		"a number at the end of its range":        {0, []op.Op{set("e", ""), op.Add{Key: key("a"), Delta: math.MaxInt64}}, op.ErrRefused, "a b c d"},
		"keeping a ttl that the write itself set": {0, []op.Op{op.Expire{Key: key("b"), TTL: 9}, op.Set{Key: key("b"), Value: []byte(long), KeepTTL: true}}, nil, "a b c d"},
	} {
		t.Run(behaviour, func(t *testing.T) {
			t.Parallel()
			f := limited(limit)
			do(t, f, 0, set("a", "41"), set("b", long), set("c", long), op.Set{Key: key("d"), Value: []byte(long), TTL: 50})
			before := f.state.versions
			res := do(t, f, tc.time, op.Txn{Then: tc.then})[0]
			if tc.refused == nil && res.Err != nil || tc.refused != nil && !errors.Is(res.Err, tc.refused) {
				t.Errorf("%+v, want the error %v", res, tc.refused)
			}
			if got := allKeys(f); got != tc.keys {
				t.Errorf("keys %q, want %q", got, tc.keys)
			}
			if tc.refused != nil && f.state.versions != before {
				t.Error("refused, but a slot's version went on")
			}
			if got := f.Stats(); got.Bytes > limit || got.Evicted > 0 && tc.refused != nil {
				t.Errorf("%+v", got)
			}
			for i, r := range res.Results {
				if add, ok := tc.then[i].(op.Add); ok && r.Number != 41+add.Delta {
					t.Errorf("a becomes %d, want %d", r.Number, 41+add.Delta)
				}
			}
		})
	}
}

// TestTransactionsInAGroupOverItsLimit can still do all that takes no room.
func TestTransactionsInAGroupOverItsLimit(t *testing.T) {
	t.Parallel()
	f := limited(1000)
	protected := op.Set{Key: []byte("a"), Value: make([]byte, 500), Protect: true}
	do(t, f, 0, protected, op.Configure{Settings: op.GroupSettings{MaxBytes: 100}})
	for _, tc := range []struct {
		part    op.Op
		refused bool
	}{
		{op.Expire{Key: []byte("a"), TTL: 50}, false},
		{op.Get{Key: []byte("a")}, false},
		{protected, true},
		{op.Delete{Key: []byte("a")}, false},
	} {
		res := do(t, f, 0, op.Txn{Then: []op.Op{tc.part}})[0]
		if refused := errors.Is(res.Err, op.ErrOutOfMemory); refused != tc.refused || !refused && res.Err != nil {
			t.Errorf("%s: %+v, want refused: %v", tc.part.Code(), res, tc.refused)
		}
	}
}

// TestAnAnswerTooLargeChangesNothing: a transaction that reads more than an answer
// holds is refused before it writes.
func TestAnAnswerTooLargeChangesNothing(t *testing.T) {
	t.Parallel()
	f := New(Config{})
	half := bytes.Repeat([]byte{'v'}, op.MaxPayload/2+1)
	do(t, f, 0, op.Set{Key: []byte("a"), Value: half})
	read := op.Get{Key: []byte("a")}
	for _, txn := range []op.Txn{
		{Then: []op.Op{set("new", ""), read, read}},
		{Then: []op.Op{read, read, set("new", "")}},
	} {
		if res := do(t, f, 0, txn)[0]; res.Err == nil || res.Err.Kind != op.KindInvalid || res.Err.Field != "txn" {
			t.Errorf("answered %v", res.Err)
		}
		if got := allKeys(f); got != "a" {
			t.Errorf("keys %q, want a alone", got)
		}
	}
	if res := do(t, f, 0, op.Txn{Then: []op.Op{read, set("new", "")}})[0]; res.Err != nil || len(res.Results) != 2 {
		t.Errorf("one that fits: %v", res.Err)
	}
}

// TestARehearsalThatPassesIsFollowedByTheWhole: under pressure of memory and deadlines
// a transaction is done as the plain map does it, or leaves no trace.
func TestARehearsalThatPassesIsFollowedByTheWhole(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := newModel(rapid.Int64Range(300, 1200).Draw(t, "limit"))
		f := limited(m.limit)
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			e := entry{time: m.time + rapid.Int64Range(0, 20).Draw(t, "time")}
			for range rapid.IntRange(0, 2).Draw(t, "before") {
				key, value := anyKey().Draw(t, "key"), anyValue().Draw(t, "value")
				e.commands = append(e.commands, op.Command{Op: op.Set{
					Key: key, Value: value, TTL: anyTTL().Draw(t, "ttl"), Protect: rapid.IntRange(0, 4).Draw(t, "protect") == 0,
				}})
			}
			e.commands = append(e.commands, op.Command{Op: anyTxn().Draw(t, "txn")})
			got := applyEntry(t, f, e.encode())
			if want := m.apply(e, got); !sameResults(got, want) {
				t.Fatalf("%+v: results %+v, want %+v", e, got, want)
			}
			m.check(t, f)
		}
	})
}
