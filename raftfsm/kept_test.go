package raftfsm

import (
	"bytes"
	"errors"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/ringraft/ringraft/op"
)

func onceOf(txn op.Txn) op.Once {
	return op.Once{Key: op.AttachedKey(0, 'x', []byte("once")), Mark: bytes.Repeat([]byte{7}, op.MarkSize), TTL: 1000, Txn: txn}
}

// TestOnceIsDoneOnceAndKeepsItsAnswer: under pressure of memory and deadlines, what is
// done leaves its answer, a repeat gets that and changes nothing, and what is refused
// leaves no trace.
func TestOnceIsDoneOnceAndKeepsItsAnswer(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := limited(rapid.Int64Range(600, 3000).Draw(t, "limit"))
		time := int64(0)
		for _, c := range rapid.SliceOfN(anyWrite(), 0, 15).Draw(t, "before") {
			time += rapid.Int64Range(0, 20).Draw(t, "later")
			do(t, f, time, c)
		}
		time += rapid.Int64Range(0, 20).Draw(t, "later")
		o := onceOf(anyTxn().Draw(t, "txn"))
		before := f.state.versions
		first := do(t, f, time, o)[0]
		_, kept := f.state.Lookup(o.Key)
		nothing := first.Err != nil || first.Unmet && len(o.Txn.Else) == 0
		if kept == nothing {
			t.Fatalf("%+v, and an answer is kept: %v", first, kept)
		}
		if nothing {
			if f.state.versions != before {
				t.Fatal("nothing was done, but a slot's version went on")
			}
			return
		}
		after := f.state.versions
		again := do(t, f, time+999, o)[0]
		mark, answer, err := op.SplitKept(again.Value)
		if err != nil || !again.Found || !bytes.Equal(mark, o.Mark) {
			t.Fatalf("again: %+v, %v", again, err)
		}
		if f.state.versions != after {
			t.Fatal("a repeat changed something")
		}
		first.Index = 0
		if got, want := normal(answer), normal(first); !reflect.DeepEqual(got, want) {
			t.Fatalf("kept %+v, answered %+v", got, want)
		}
	})
}

// normal is res as it is after its way over the wire.
func normal(res op.Result) op.Result {
	again, err := op.DecodeResult(res.AppendTo(nil))
	if err != nil {
		panic(err)
	}
	return again
}

func TestOnceIsForgottenAtItsEnd(t *testing.T) {
	t.Parallel()
	f := New(Config{})
	o := onceOf(op.Txn{Then: []op.Op{incr("n")}})
	do(t, f, 0, o)
	if res := do(t, f, 999, o)[0]; !res.Found {
		t.Errorf("%+v; want it done before", res)
	}
	if res := do(t, f, 1000, o)[0]; res.Found || res.Results[0].Number != 2 {
		t.Errorf("%+v; want it done again after its end", res)
	}
}

// TestOnceIsNeverEvicted fills the group with other records.
func TestOnceIsNeverEvicted(t *testing.T) {
	t.Parallel()
	f := limited(1000)
	o := onceOf(op.Txn{Then: []op.Op{incr("n")}})
	do(t, f, 0, o)
	for i := range 100 {
		do(t, f, 0, set(string(rune('a'+i)), "some value"))
	}
	if res := do(t, f, 0, o)[0]; !res.Found {
		t.Errorf("%+v; want it done before", res)
	}
}

func TestOnceRefusesAnAnswerTooLargeToKeep(t *testing.T) {
	t.Parallel()
	f := New(Config{})
	do(t, f, 0, op.Set{Key: []byte("a"), Value: make([]byte, op.MaxKept)})
	res := do(t, f, 0, onceOf(op.Txn{Then: []op.Op{set("new", ""), op.Get{Key: []byte("a")}}}))[0]
	if !errors.Is(res.Err, op.ErrRefused) || allKeys(f) != "a" {
		t.Errorf("%v, keys %q", res.Err, allKeys(f))
	}
}
