package raftfsm

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"strings"
	"testing"

	"github.com/cespare/xxhash/v2"
	"pgregory.net/rapid"

	"github.com/ringraft/ringraft/lru"
	"github.com/ringraft/ringraft/op"
)

// model is a state without any of the structures that make one fast: a plain map,
// and sorting where order matters.
type model struct {
	op.Transactions // none
	time, limit     int64
	epoch           uint64 // of the settings
	stamp           uint64
	versions        map[uint16]uint64
	records         map[string]lru.Item
	opened          uint64
	sessions        map[uint64]modelSession
	reserved        int64 // bytes for the answer to the command that runs
	together        bool  // evict later
}

func newModel(limit int64) *model {
	return &model{limit: limit, versions: map[uint16]uint64{}, records: map[string]lru.Item{}, sessions: map[uint64]modelSession{}}
}

func (m *model) past(it lru.Item, now int64) bool { return it.Deadline != 0 && it.Deadline <= now }

// sorted returns the keys in the given order of their records, then by slot and key.
func (m *model) sorted(by func(a, b lru.Item) int) []string {
	return slices.SortedFunc(maps.Keys(m.records), func(a, b string) int {
		return cmp.Or(by(m.records[a], m.records[b]), cmp.Compare(op.SlotOf([]byte(a)), op.SlotOf([]byte(b))), cmp.Compare(a, b))
	})
}

// list returns the keys that can be evicted, the next victim first.
func (m *model) list() []string {
	keys := m.sorted(func(a, b lru.Item) int { return cmp.Compare(a.Stamp, b.Stamp) })
	return slices.DeleteFunc(keys, func(k string) bool { return m.records[k].Protected })
}

func (m *model) old(key string) bool {
	list := m.list()
	return slices.Contains(list[:len(list)*3/4], key)
}

func (m *model) bytes(protectedOnly bool) int64 {
	sum := m.sessionBytes()
	for k, it := range m.records {
		if it.Protected || !protectedOnly {
			sum += 64 + int64(len(k)+len(it.Value))
		}
	}
	return sum
}

func (m *model) put(key string, it lru.Item) {
	m.stamp++
	it.Stamp = m.stamp
	m.records[key] = it
}

func (m *model) nextVersion(key []byte) uint64 {
	slot := op.SlotOf(key)
	m.versions[slot]++
	return m.versions[slot]
}

func (m *model) reclaim(grow int64) {
	for m.bytes(false)+grow > m.limit && m.Sweep(1) == 1 {
	}
}

func (m *model) evict() {
	for !m.together && m.bytes(false) > m.limit && len(m.list()) > 0 {
		delete(m.records, m.list()[0])
	}
}

// apply returns the results, with errors in the words of got, since these count where
// a session keeps them.
func (m *model) apply(e entry, got []op.Result) []op.Result {
	m.time = max(m.time, e.time)
	for _, key := range e.touches {
		if m.old(string(key)) {
			m.put(string(key), m.records[string(key)])
		}
	}
	results := []op.Result{}
	for i, c := range e.commands {
		if c.Session == 0 {
			results = append(results, m.run(c.Op))
		} else {
			results = append(results, m.once(c, got[i].Err))
		}
	}
	return results
}

func (m *model) Decision([]byte) (op.Decision, bool) { return op.Decision{}, false }

func (m *model) Now() int64 { return m.time }

func (m *model) Lookup(key []byte) (op.Record, bool) {
	it, ok := m.records[string(key)]
	if !ok || m.past(it, m.time) {
		return op.Record{}, false
	}
	return record(it), true
}

func (m *model) Page(slot uint16, after, prefix []byte, limit, _ int) (page []op.Keyed, next []byte, looked int) {
	start := place{}
	if len(after) > 0 {
		start = placeOf(string(after))
	}
	for k := range m.records {
		rec, ok := m.Lookup([]byte(k))
		if op.SlotOf([]byte(k)) == slot && start.compare(placeOf(k)) < 0 && strings.HasPrefix(k, string(prefix)) && ok {
			page = append(page, op.Keyed{Key: k, Record: rec})
		}
	}
	slices.SortFunc(page, func(a, b op.Keyed) int { return placeOf(a.Key).compare(placeOf(b.Key)) })
	if len(page) > limit {
		return page[:limit], []byte(page[limit-1].Key), 0
	}
	return page, nil, 0
}

// place is where a key stands in the order of its slot, which is the same for all
// versions of the program: a cursor from one replica must do for any other.
type place struct {
	hash uint64
	key  string
}

func placeOf(key string) place { return place{bits.RotateLeft64(xxhash.Sum64String(key), 12), key} }

func (p place) compare(q place) int {
	return cmp.Or(cmp.Compare(p.hash, q.hash), cmp.Compare(p.key, q.key))
}

func (m *model) Store(key []byte, r op.Record) (version uint64, replaced bool, err *op.Error) {
	k := string(key)
	if m.past(m.records[k], m.time) {
		delete(m.records, k)
	}
	old, replaced := m.records[k]
	delete(m.records, k)
	cost := 64 + int64(len(k)+len(r.Value))
	m.reclaim(cost)
	room := m.limit - m.pinned(nil)
	if replaced {
		m.records[k] = old
	}
	if cost > room {
		return 0, false, &op.Error{Kind: op.KindOutOfMemory, Message: "no room"}
	}
	version = m.nextVersion(key)
	m.put(k, lru.Item{Value: bytes.Clone(r.Value), Version: version, Deadline: r.Deadline, Protected: r.Protected})
	m.evict()
	return version, replaced, nil
}

func (m *model) Amend(key []byte, deadline int64, protected bool) uint64 {
	version := m.nextVersion(key)
	m.put(string(key), lru.Item{Value: m.records[string(key)].Value, Version: version, Deadline: deadline, Protected: protected})
	return version
}

func (m *model) Remove(key []byte) (uint64, bool) {
	_, there := m.Lookup(key)
	delete(m.records, string(key))
	if !there {
		return 0, false
	}
	return m.nextVersion(key), true
}

func (m *model) Sweep(limit int) int {
	n := 0
	for _, k := range m.sorted(func(a, b lru.Item) int { return cmp.Compare(a.Deadline, b.Deadline) }) {
		if n < limit && m.past(m.records[k], m.time) {
			delete(m.records, k)
			n++
		}
	}
	return n + m.sweepSessions(limit-n)
}

func (m *model) Configure(s op.GroupSettings) {
	if s.Epoch < m.epoch {
		return
	}
	m.epoch = s.Epoch
	m.limit = s.MaxBytes
	m.reclaim(0)
	m.evict()
}

// forgetEnded drops what is past its deadline and f has removed already: f may do that
// at any time, since nobody sees it.
func (m *model) forgetEnded(f *FSM) {
	maps.DeleteFunc(m.records, func(k string, it lru.Item) bool {
		_, there := f.state.cache.Get(op.SlotOf([]byte(k)), []byte(k))
		return m.past(it, m.time) && !there
	})
	maps.DeleteFunc(m.sessions, func(id uint64, x modelSession) bool {
		return x.deadline <= m.time && f.state.sessions.byID[id] == nil
	})
}

// sameResults compares all but the wording of errors.
func sameResults(got, want []op.Result) bool {
	encoded := func(results []op.Result) (all []byte) {
		for _, res := range results {
			if res.Err != nil {
				res.Err = &op.Error{Kind: res.Err.Kind}
			}
			all = res.AppendTo(all)
		}
		return all
	}
	return len(got) == len(want) && bytes.Equal(encoded(got), encoded(want))
}

// check compares contents, accounting and digest with the model.
func (m *model) check(t *rapid.T, f *FSM) {
	m.forgetEnded(f)
	stats := f.Stats()
	want := Stats{
		Keys: int64(len(m.records)), Sessions: int64(len(m.sessions)),
		Bytes: m.bytes(false), ProtectedBytes: m.bytes(true), SessionBytes: m.sessionBytes(),
		Settings: op.GroupSettings{MaxBytes: m.limit, Epoch: m.epoch},
	}
	want.Evicted, want.Expired = stats.Evicted, stats.Expired
	want.MemoryUsed, want.MemoryHeld = stats.MemoryUsed, stats.MemoryHeld
	if stats != want {
		t.Fatalf("stats %+v, want %+v", stats, want)
	}
	if stats.Bytes > m.limit && stats.Bytes != stats.ProtectedBytes {
		t.Fatalf("%d bytes with %d protected, over the limit %d", stats.Bytes, stats.ProtectedBytes, m.limit)
	}
	for k, it := range m.records {
		got, _ := f.state.cache.Get(op.SlotOf([]byte(k)), []byte(k))
		if fmt.Sprint(got) != fmt.Sprint(it) {
			t.Fatalf("%q is %v, want %v", k, got, it)
		}
		if got, want := f.Old([]byte(k)), m.old(k); got != want {
			t.Fatalf("Old(%q) = %v, want %v", k, got, want)
		}
	}
	for id, x := range m.sessions {
		x.check(t, f.state.sessions.byID[id])
	}
	if got, want := f.Mark().Digest, recount(t, f); got != want {
		t.Fatalf("digest %016x, from the records and sessions %016x", got, want)
	}
}

func (m *model) checkReads(t *rapid.T, f *FSM, clock int64) {
	seen := *m
	seen.time = max(m.time, clock)
	check := func(o op.Read) {
		t.Helper()
		got, want := f.Read(o, clock, nil), o.Read(&seen)
		want.Index = f.Applied()
		if !sameResults([]op.Result{got}, []op.Result{want}) {
			t.Fatalf("%+v at %d = %+v, want %+v", o, clock, got, want)
		}
	}
	for _, key := range someKeys {
		check(op.Get{Key: []byte(key)})
	}
	check(op.Scan{
		Cursor: op.ScanCursor(op.SlotOf([]byte("{s}a")), nil), Last: op.SlotOf([]byte("{s}a")),
		Prefix: []byte("{s}"), Limit: rapid.IntRange(1, 5).Draw(t, "limit"), Values: true,
	})
}

func TestStateIsThatOfAPlainMap(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := newModel(2500)
		f := limited(m.limit)
		apply := func(t *rapid.T) {
			e := anyEntry(m.time, m.opened).Draw(t, "entry")
			got := applyEntry(t, f, e.encode())
			if want := m.apply(e, got); !sameResults(got, want) {
				t.Fatalf("%+v: results %+v, want %+v", e, got, want)
			}
			if got := f.Time(); got != m.time {
				t.Fatalf("time %d, want %d", got, m.time)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"":       func(t *rapid.T) { m.check(t, f) },
			"apply":  apply,
			"apply2": apply,
			"apply3": apply,
			"read":   func(t *rapid.T) { m.checkReads(t, f, m.time+rapid.Int64Range(-10, 40).Draw(t, "clock")) },
			"restore": func(t *rapid.T) {
				next := restored(t, persist(t, takeSnapshot(t, f)))
				if got, want := dump(next), dump(f); got != want {
					t.Fatalf("restored state:\n%swant:\n%s", got, want)
				}
				f = next
			},
			"sweep due": func(t *rapid.T) {
				clock := m.time + rapid.Int64Range(-10, 40).Draw(t, "clock")
				want := false
				for _, it := range m.records {
					want = want || m.past(it, max(m.time, clock))
				}
				for _, x := range m.sessions {
					want = want || x.deadline <= max(m.time, clock)
				}
				if got := f.SweepDue(clock); got != want {
					t.Fatalf("SweepDue(%d) = %v, want %v", clock, got, want)
				}
			},
		})
	})
}
