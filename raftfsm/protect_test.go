package raftfsm

import (
	"testing"

	"github.com/ringraft/ringraft/op"
)

// TestCountersAreEvictedUnlessProtected: an increment keeps a counter's protection, as
// it keeps its time to live.
func TestCountersAreEvictedUnlessProtected(t *testing.T) {
	t.Parallel()
	f := limited(1000)
	do(t, f, 0, op.Set{Key: []byte("kept"), Value: []byte("1"), Protect: true}, op.Add{Key: []byte("plain"), Delta: 1})
	do(t, f, 0, op.Add{Key: []byte("kept"), Delta: 1}, op.Expire{Key: []byte("kept"), TTL: 9000})
	for i := range 20 {
		do(t, f, 0, set(string(rune('a'+i)), string(make([]byte, 100))))
	}
	if res := get(f, "kept", 0); string(res.Value) != "2" || res.TTL != 9000 {
		t.Errorf("the protected counter is %q with a ttl of %d, want 2 with 9000", res.Value, res.TTL)
	}
	if res := get(f, "plain", 0); res.Found {
		t.Error("the other one was not evicted: the test proves nothing")
	}
}

// TestFullOfProtectedRecords: reads, deletes and shorter values go on, and make room.
func TestFullOfProtectedRecords(t *testing.T) {
	t.Parallel()
	f := limited(2 * cost("a", "0123456789"))
	protected := func(key, value string) op.Set {
		return op.Set{Key: []byte(key), Value: []byte(value), Protect: true}
	}
	do(t, f, 0, protected("a", "0123456789"), protected("b", "0123456789"))
	mset := op.MSet{Pairs: []op.Pair{{Key: []byte("c"), Value: []byte("v")}, {Key: []byte("d"), Value: []byte("v")}}}
	for _, o := range []op.Write{set("c", ""), protected("a", "0123456789+"), op.Add{Key: []byte("n"), Delta: 1}, mset} {
		if res := do(t, f, 0, o)[0]; res.Err == nil || res.Err.Kind != op.KindOutOfMemory {
			t.Errorf("%s without room: %+v, want out of memory", o.Code(), res)
		}
	}
	if got, want := get(f, "a", 0), "0123456789"; string(got.Value) != want || got.Version != 1 {
		t.Errorf("after refusals: %+v, want %q of version 1", got, want)
	}
	for _, o := range []op.Write{op.Expire{Key: []byte("a"), TTL: 50}, protected("a", "012"), op.Delete{Key: []byte("b")}, set("c", "v")} {
		if res := do(t, f, 0, o)[0]; res.Err != nil {
			t.Errorf("%s: %v", o.Code(), res.Err)
		}
	}
	if got := allKeys(f); got != "a c" {
		t.Errorf("keys %q, want a and c", got)
	}
}
