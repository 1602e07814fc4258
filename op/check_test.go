package op_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/ringraft/ringraft/op"
)

func TestLimitsNameTheFieldAndItsBound(t *testing.T) {
	t.Parallel()
	key, long := []byte("k"), bytes.Repeat([]byte("k"), op.MaxKey+1)
	many := make([][]byte, op.MaxKeys+1)
	for i := range many {
		many[i] = key
	}
	half := bytes.Repeat([]byte("v"), op.MaxPayload/2+1)
	for name, tc := range map[string]struct {
		op    op.Op
		field string
		bound string
	}{
		"empty key":            {op.Get{}, "key", "1 to 4096"},
		"long key":             {op.Delete{Key: long}, "key", "4096"},
		"large value":          {op.Set{Key: key, Value: make([]byte, 11)}, "value", "10"},
		"negative ttl":         {op.Set{Key: key, TTL: -1}, "ttl", "between 1 and"},
		"ttl that overflows":   {op.Expire{Key: key, TTL: math.MaxInt64}, "ttl", "9223372036854"},
		"keep and set ttl":     {op.Set{Key: key, TTL: 1, KeepTTL: true}, "keep_ttl", "ttl"},
		"no keys":              {op.MGet{}, "keys", "1 to 1000"},
		"too many keys":        {op.MDelete{Keys: many}, "keys", "1000"},
		"empty key among many": {op.MGet{Keys: [][]byte{key, {}}}, "key", "1 to 4096"},
		"pairs too large":      {op.MSet{Pairs: []op.Pair{{Key: key, Value: half}, {Key: key, Value: half}}}, "pairs", fmt.Sprint(op.MaxPayload)},
		"no pairs":             {op.MSet{}, "pairs", "1 to 1000"},
		"once without a mark":  {op.Once{Key: key, TTL: 1, Txn: op.Txn{Then: []op.Op{op.Get{Key: key}}}}, "mark", "32"},
		"once for ever":        {op.Once{Key: key, Mark: make([]byte, op.MarkSize)}, "ttl", "between 1 and"},
		"once of no key":       {op.Once{}, "key", "1 to 4096"},
		"once of nothing":      {op.Once{Key: key, Mark: make([]byte, op.MarkSize), TTL: 1}, "txn", "neither"},
		"once with an id":      {op.Once{Key: key, Mark: make([]byte, op.MarkSize), TTL: 1, Txn: op.Txn{ID: make([]byte, op.TxnIDSize)}}, "id", "one group"},
		"once of its own key":  {op.Once{Key: key, Mark: make([]byte, op.MarkSize), TTL: 1, Txn: op.Txn{Then: []op.Op{op.Get{Key: key}}}}, "key", "part of"},
		"no cursor":            {op.Scan{Limit: 1}, "cursor", "2 to"},
		"cursor past the end":  {op.Scan{Cursor: op.ScanCursor(op.Slots, nil), Limit: 1}, "cursor", "4095"},
		"range backwards":      {op.Scan{Cursor: op.ScanCursor(5, nil), Last: 4, Limit: 1}, "last", "4095"},
		"page of nothing":      {op.Scan{Cursor: op.ScanCursor(5, nil), Last: 5}, "limit", "1000"},
		"max-bytes too small":  {op.Configure{}, "max-bytes", fmt.Sprint(op.MinMaxBytes)},
	} {
		t.Run(name, func(t *testing.T) {
			limits := op.Limits{MaxValue: 10}
			if strings.HasPrefix(name, "pairs too") {
				limits.MaxValue = op.MaxValueLimit
			}
			err := tc.op.Check(limits)
			if err == nil {
				t.Fatalf("%#v passes", tc.op)
			}
			if err.Field != tc.field || !strings.Contains(err.Message, tc.bound) {
				t.Errorf("got %q; want the field %q and the bound %q", err.Error(), tc.field, tc.bound)
			}
			if !errors.Is(err, op.ErrRefused) {
				t.Errorf("%v is not a refusal", err)
			}
		})
	}
}

func TestValuesAtTheLimitPass(t *testing.T) {
	t.Parallel()
	limits := op.Limits{MaxValue: op.MaxValueLimit}
	for _, o := range []op.Op{
		op.Set{Key: bytes.Repeat([]byte("k"), op.MaxKey), Value: make([]byte, op.MaxValueLimit), TTL: op.MaxTTL},
		op.Set{Key: []byte("k")},
		op.Scan{Cursor: op.ScanCursor(0, nil), Last: op.Slots - 1, Limit: op.MaxKeys},
	} {
		if err := o.Check(limits); err != nil {
			t.Errorf("%s: %v", o.Code(), err)
		}
		if n := len((&op.Request{Op: o}).AppendTo(nil)); n > op.MaxMessage {
			t.Errorf("%s: %d bytes do not fit into a message of %d", o.Code(), n, op.MaxMessage)
		}
	}
}

func TestEveryKindIsOneOutcome(t *testing.T) {
	t.Parallel()
	outcomes := []error{op.ErrRefused, op.ErrUnavailable, op.ErrUnknownOutcome}
	for kind := op.KindInvalid; kind <= op.KindSessionEnded; kind++ {
		var matches []error
		for _, o := range outcomes {
			if errors.Is(&op.Error{Kind: kind}, o) {
				matches = append(matches, o)
			}
		}
		if len(matches) != 1 {
			t.Errorf("kind %d matches %v, want exactly one", kind, matches)
		}
	}
	if errors.Is(&op.Error{Kind: op.KindUnavailable}, context.Canceled) {
		t.Error("an unavailable error matches context.Canceled")
	}
	if errors.Is((*op.Error)(nil), op.ErrRefused) {
		t.Error("no error matches one")
	}
}

func TestHashTags(t *testing.T) {
	t.Parallel()
	same := func(a, b string) bool { return op.SlotOf([]byte(a)) == op.SlotOf([]byte(b)) }
	for _, tc := range []struct {
		a, b string
		same bool
	}{
		{"{user:1}name", "{user:1}mail", true},
		{"{user:1}name", "user:1", true},
		{"x{user:1}name", "{user:1}", true},
		{"{}name", "{}mail", false},   // an empty tag is none
		{"{user:1", "{user:2", false}, // an open one too
		{"{{a}}x", "{{a}}y", true},    // the first closing brace ends it
		{"a}{b}", "c}{b}", true},
	} {
		if got := same(tc.a, tc.b); got != tc.same {
			t.Errorf("%q and %q in one slot: %v, want %v", tc.a, tc.b, got, tc.same)
		}
	}
}

func TestSlotsAreSpreadEvenly(t *testing.T) {
	t.Parallel()
	counts := make([]int, op.Slots)
	for i := range 64 * op.Slots {
		counts[op.SlotOf(fmt.Appendf(nil, "key:%d", i))]++
	}
	for slot, n := range counts {
		if n < 24 || n > 128 {
			t.Errorf("slot %d has %d keys, want about 64", slot, n)
		}
	}
}
