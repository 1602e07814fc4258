package raftfsm

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/ringraft/ringraft/op"
)

func TestStore(t *testing.T) {
	t.Parallel()
	// Records with one-byte keys and 36-byte values cost 101 bytes; the limit holds three.
	const limit = 303
	value := strings.Repeat("v", 36)
	at := func(ttl int64, protect bool, key string) op.Set {
		return op.Set{Key: []byte(key), Value: []byte(value), TTL: ttl, Protect: protect}
	}
	plain := func(key string) op.Set { return at(0, false, key) }
	protected := func(key string) op.Set { return at(0, true, key) }
	type step struct {
		time  int64
		write op.Write
	}
	tests := []struct {
		behaviour string
		before    []step
		then      step
		refused   bool
		want      string // the keys there afterwards, also those past their deadline
		evicted   uint64
		expired   uint64
	}{
		{"the limit is kept to the byte", []step{{0, plain("a")}, {0, plain("b")}}, step{0, plain("c")}, false, "a b c", 0, 0},
		{"one byte over evicts the oldest", []step{{0, plain("a")}, {0, plain("b")}},
			step{0, set("c", value+"v")}, false, "b c", 1, 0},
		{"a large record evicts many", []step{{0, plain("a")}, {0, plain("b")}, {0, plain("c")}},
			step{0, set("d", strings.Repeat("v", 150))}, false, "d", 3, 0},
		{"a record as large as the limit", []step{{0, plain("a")}}, step{0, set("d", strings.Repeat("v", limit-65))}, false, "d", 1, 0},
		{"a record over the limit is refused and evicts nothing", []step{{0, plain("a")}},
			step{0, set("d", strings.Repeat("v", limit-64))}, true, "a", 0, 0},
		{"protected records are passed over", []step{{0, protected("a")}, {0, plain("b")}, {0, plain("c")}},
			step{0, plain("d")}, false, "a c d", 1, 0},
		{"with protected records alone there is no room", []step{{0, protected("a")}, {0, protected("b")}, {0, protected("c")}},
			step{0, plain("d")}, true, "a b c", 0, 0},
		{"protected records that leave too little room evict nothing", []step{{0, protected("a")}, {0, protected("b")}, {0, plain("c")}},
			step{0, set("d", value+"v")}, true, "a b c", 0, 0},
		{"a protected record can be replaced by one of its size", []step{{0, protected("a")}, {0, protected("b")}, {0, protected("c")}},
			step{0, protected("b")}, false, "a b c", 0, 0},
		{"but not by a larger one", []step{{0, protected("a")}, {0, protected("b")}, {0, protected("c")}},
			step{0, op.Set{Key: []byte("b"), Value: []byte(value + "v"), Protect: true}}, true, "a b c", 0, 0},
		{"a replaced record's bytes count once", []step{{0, plain("a")}, {0, plain("b")}, {0, plain("c")}},
			step{0, plain("a")}, false, "a b c", 0, 0},
		{"a replaced record that grows evicts others", []step{{0, plain("a")}, {0, plain("b")}, {0, plain("c")}},
			step{0, set("a", value+"v")}, false, "a c", 1, 0},
		{"past its deadline goes before the oldest", []step{{0, plain("a")}, {0, at(5, false, "b")}, {0, plain("c")}},
			step{5, plain("d")}, false, "a c d", 0, 1},
		{"one ms before the deadline it is the oldest that goes", []step{{0, plain("a")}, {0, at(5, false, "b")}, {0, plain("c")}},
			step{4, plain("d")}, false, "b c d", 1, 0},
		{"protection ends with the deadline", []step{{0, at(5, true, "a")}, {0, protected("b")}, {0, protected("c")}},
			step{5, plain("d")}, false, "b c d", 0, 1},
		{"past its deadline stays where there is room", []step{{0, at(5, false, "a")}}, step{9, plain("b")}, false, "a b", 0, 0},
		{"a write finds nothing at a key past its deadline", []step{{0, at(5, true, "a")}, {0, protected("b")}, {0, protected("c")}},
			step{5, protected("a")}, false, "a b c", 0, 1},
		{"a lower limit evicts the oldest", []step{{0, plain("a")}, {0, plain("b")}, {0, plain("c")}},
			step{0, op.Configure{Settings: op.GroupSettings{MaxBytes: 202}}}, false, "b c", 1, 0},
		{"a lower limit removes what is past its deadline first", []step{{0, plain("a")}, {0, at(5, false, "b")}, {0, plain("c")}},
			step{5, op.Configure{Settings: op.GroupSettings{MaxBytes: 202}}}, false, "a c", 0, 1},
		{"a limit under the protected records keeps them", []step{{0, protected("a")}, {0, plain("b")}, {0, protected("c")}},
			step{0, op.Configure{Settings: op.GroupSettings{MaxBytes: 100}}}, false, "a c", 1, 0},
		{"a sweep is bounded", []step{{0, at(1, false, "a")}, {0, at(3, false, "b")}, {0, at(2, false, "c")}},
			step{9, op.Sweep{Limit: 2}}, false, "b", 0, 2},
		{"a sweep leaves what lives", []step{{0, at(1, false, "a")}, {0, at(2, false, "b")}, {0, plain("c")}},
			step{1, op.Sweep{Limit: 9}}, false, "b c", 0, 1},
	}
	for _, test := range tests {
		t.Run(test.behaviour, func(t *testing.T) {
			t.Parallel()
			f := limited(limit)
			for _, s := range test.before {
				do(t, f, s.time, s.write)
			}
			res := do(t, f, test.then.time, test.then.write)[0]
			if refused := res.Err != nil && errors.Is(res.Err, op.ErrOutOfMemory); refused != test.refused {
				t.Errorf("result %+v, want a refusal: %v", res, test.refused)
			}
			if test.refused && !strings.Contains(res.Err.Error(), "max-bytes") {
				t.Errorf("error %q does not name max-bytes", res.Err)
			}
			if got := allKeys(f); got != test.want {
				t.Errorf("keys %q, want %q", got, test.want)
			}
			if s := f.Stats(); s.Evicted != test.evicted || s.Expired != test.expired {
				t.Errorf("evicted %d, expired %d, want %d, %d", s.Evicted, s.Expired, test.evicted, test.expired)
			}
		})
	}
}

func allKeys(f *FSM) string {
	var keys []string
	for slot := range f.state.cache.Slots() {
		for _, ref := range items(f.state.cache, slot) {
			keys = append(keys, string(ref.Key))
		}
	}
	slices.Sort(keys)
	return strings.Join(keys, " ")
}

func TestVersionsNeverRepeat(t *testing.T) {
	t.Parallel()
	value := strings.Repeat("v", 100)
	f := limited(cost("{s}a", value) + cost("{s}b", value))
	var last uint64
	rises := func(what string, res op.Result) {
		t.Helper()
		if res.Err != nil || res.Version <= last {
			t.Errorf("%s: version %d (%v), want one over %d", what, res.Version, res.Err, last)
		}
		last = res.Version
	}
	rises("create", do(t, f, 0, set("{s}a", value))[0])
	rises("replace", do(t, f, 0, set("{s}a", value))[0])
	rises("another key of the slot", do(t, f, 0, set("{s}b", value))[0])
	rises("delete", do(t, f, 0, op.Delete{Key: []byte("{s}a")})[0])
	rises("create again", do(t, f, 0, set("{s}a", value))[0])
	rises("change the ttl", do(t, f, 10, op.Expire{Key: []byte("{s}a"), TTL: 5})[0])
	rises("create what expired", do(t, f, 15, set("{s}a", value))[0])
	do(t, f, 15, set("{s}b", value), set("last", value))
	if got := allKeys(f); got != "last {s}b" {
		t.Fatalf("keys %q, want {s}a evicted", got)
	}
	last = get(f, "{s}b", 0).Version
	rises("create what was evicted", do(t, f, 15, set("{s}a", value))[0])
	do(t, f, 15, op.MDelete{Keys: [][]byte{[]byte("{s}a"), []byte("{s}b"), []byte("last")}})
	if n := f.Stats().Keys; n != 0 {
		t.Fatalf("%d keys are left", n)
	}
	last++ // of the second delete in the slot
	f = restored(t, persist(t, takeSnapshot(t, f)))
	rises("create in an empty slot after a restore", do(t, f, 15, set("{s}a", value))[0])
}

func TestDeadlines(t *testing.T) {
	t.Parallel()
	f := New(Config{})
	do(t, f, 1000, op.Set{Key: []byte("k"), Value: []byte("v"), TTL: 100})

	for _, test := range []struct {
		clock int64
		found bool
		ttl   int64
	}{{0, true, 100}, {1000, true, 100}, {1099, true, 1}, {1100, false, 0}, {math.MaxInt64, false, 0}} {
		if res := get(f, "k", test.clock); res.Found != test.found || res.TTL != test.ttl {
			t.Errorf("at clock %d: %+v, want found %v, ttl %d", test.clock, res, test.found, test.ttl)
		}
		if got := f.SweepDue(test.clock); got == test.found {
			t.Errorf("SweepDue(%d) = %v, want %v", test.clock, got, !test.found)
		}
	}

	do(t, f, 900, set("other", ""))
	if got := f.Time(); got != 1000 {
		t.Errorf("time %d after an entry of an earlier time, want 1000", got)
	}
	if res := do(t, f, 1100, op.Delete{Key: []byte("k")})[0]; res.Found || res.Version != 0 {
		t.Errorf("delete past the deadline: %+v, want not found", res)
	}
	if got := allKeys(f); got != "other" {
		t.Errorf("keys %q, want the one past its deadline removed", got)
	}
	if f.SweepDue(math.MaxInt64) {
		t.Error("a sweep is due without deadlines")
	}
}

func TestValuesDoNotAliasTheLog(t *testing.T) {
	t.Parallel()
	f := New(Config{})
	data := entryOf(0, nil, set("key", "value"))
	applyEntry(t, f, data)
	clear(data)
	if res := get(f, "key", 0); string(res.Value) != "value" {
		t.Errorf("value %q after the log's memory was reused, want %q", res.Value, "value")
	}
}

func TestEmptyValueIsAValue(t *testing.T) {
	t.Parallel()
	f := New(Config{})
	do(t, f, 0, set("k", ""))
	f = restored(t, persist(t, takeSnapshot(t, f)))
	if res := get(f, "k", 0); !res.Found || len(res.Value) != 0 || res.Version != 1 {
		t.Errorf("%+v, want an empty value of version 1", res)
	}
}

func TestScanSkipsRecordsPastTheirDeadline(t *testing.T) {
	t.Parallel()
	f := New(Config{})
	var want []string
	for i := range 500 {
		o := op.Set{Key: fmt.Appendf(nil, "{s}%03d", i), TTL: 1}
		if i%100 == 99 {
			o.TTL = 0
			want = append(want, string(o.Key))
		}
		do(t, f, 0, o)
	}
	slot := op.SlotOf([]byte("{s}"))
	for _, limit := range []int{1, 2, 5, 6, 1000} {
		var got []string
		pages := 0
		for cursor := op.ScanCursor(slot, nil); len(cursor) > 0; pages++ {
			res := f.Read(op.Scan{Cursor: cursor, Last: slot, Limit: limit}, 1, nil)
			for _, item := range res.Items {
				got = append(got, string(item.Key))
			}
			cursor = res.Next
		}
		slices.Sort(got)
		if wantPages := (len(want) + limit - 1) / limit; !slices.Equal(got, want) || pages != wantPages {
			t.Errorf("limit %d: keys %q in %d pages, want %q in %d", limit, got, pages, want, wantPages)
		}
	}
}

func TestReadsHintAtOldKeys(t *testing.T) {
	t.Parallel()
	f := New(Config{})
	// k3 is in the young quarter.
	do(t, f, 0, set("k0", ""), set("k1", ""), set("k2", ""), set("k3", ""), op.Set{Key: []byte("p"), Protect: true})
	var hints []string
	read := func(o op.Read, clock int64) []string {
		hints = nil
		f.Read(o, clock, func(key []byte) { hints = append(hints, string(key)) })
		return hints
	}
	keys := func(names ...string) (keys [][]byte) {
		for _, n := range names {
			keys = append(keys, []byte(n))
		}
		return keys
	}
	all := op.MGet{Keys: keys("k0", "k1", "k2", "k3", "p", "absent")}
	if got, want := read(all, 1000), []string{"k0", "k1", "k2"}; !slices.Equal(got, want) {
		t.Errorf("hints %q, want %q", got, want)
	}
	if got := read(all, 1999); len(got) != 0 {
		t.Errorf("hints %q right after the first ones, want none", got)
	}
	if got, want := read(op.Get{Key: []byte("k1")}, 60_000), []string{"k1"}; !slices.Equal(got, want) {
		t.Errorf("hints %q a minute later, want %q", got, want)
	}
	scan := op.Scan{Cursor: op.ScanCursor(0, nil), Last: op.Slots - 1, Limit: 10}
	if got := read(scan, 120_000); len(got) != 0 {
		t.Errorf("hints %q from a scan, want none", got)
	}
	if !f.Old([]byte("k0")) || f.Old([]byte("k3")) || f.Old([]byte("absent")) {
		t.Error("want k0 old, k3 and an absent key not")
	}
	applyEntry(t, f, entryOf(0, keys("k0", "absent", "p")))
	if f.Old([]byte("k0")) || !f.Old([]byte("k3")) {
		t.Error("want k0 young after a touch, and k3 old")
	}
}
