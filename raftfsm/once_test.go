package raftfsm

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ringraft/ringraft/op"
)

// in is a command of session 1.
func in(sequence uint64, o op.Op) op.Command {
	return op.Command{Session: 1, Sequence: sequence, Op: o}
}

func incr(key string) op.Add { return op.Add{Key: []byte(key), Delta: 1} }

func encoded(res op.Result) []byte { return res.AppendTo(nil) }

// TestRepeatsGetTheFirstAnswer after everything has changed, and change nothing.
func TestRepeatsGetTheFirstAnswer(t *testing.T) {
	t.Parallel()
	limit := int64(20_000)
	for behaviour, o := range map[string]op.Op{
		"a set that created":    set("new", "v"),
		"a set that replaced":   set("k", "v"),
		"a delete that removed": op.Delete{Key: []byte("k")},
		"a delete of nothing":   op.Delete{Key: []byte("new")},
		"an increment":          incr("n"),
		"an expire":             op.Expire{Key: []byte("k"), TTL: 99},
		"many sets":             op.MSet{Pairs: []op.Pair{{Key: []byte("k"), Value: []byte("v")}, {Key: []byte("new")}}},
		"many deletes":          op.MDelete{Keys: [][]byte{[]byte("k"), []byte("new")}},
		"a transaction": op.Txn{
			Compares: []op.Compare{{Key: []byte("k"), Cond: op.Cond{Kind: op.CondVersion, Version: 1}}},
			Then:     []op.Op{op.Get{Key: []byte("k")}, set("k", "w"), incr("n")},
		},
		"an unmet compare":       op.Txn{Compares: []op.Compare{{Key: []byte("k"), Cond: op.Cond{Kind: op.CondAbsent, Show: true}}}, Then: []op.Op{set("k", "w")}},
		"an unmet condition":     op.Set{Key: []byte("k"), Value: []byte("w"), Cond: op.Cond{Kind: op.CondValue, Value: []byte("other"), Show: true}},
		"a bound that was hit":   op.Add{Key: []byte("n"), Delta: -9, Min: new(int64)},
		"a conflict":             incr("k"),
		"a record without room":  set("large", strings.Repeat("v", int(limit))),
		"a refused transaction":  op.Txn{Then: []op.Op{set("new", "v"), incr("k")}},
		"a condition in a whole": op.Txn{Then: []op.Op{set("new", "v"), op.Delete{Key: []byte("k"), Cond: op.Cond{Kind: op.CondAbsent}}}},
	} {
		t.Run(behaviour, func(t *testing.T) {
			t.Parallel()
			f := limited(limit)
			open(t, f, 0)
			do(t, f, 0, set("k", "old"), set("n", "5"))
			data := entryOfCommands(0, nil, in(1, o))
			first := encoded(applyEntry(t, f, data)[0])
			clear(data) // the log's memory is its own
			// The world moves on, so that another run would give another answer.
			do(t, f, 50, set("k", "7"), set("n", "100"), op.Delete{Key: []byte("new")}, set("large", "v"))
			before, keys := f.Stats(), allKeys(f)
			for where, f := range map[string]*FSM{"": f, " after a restore": restored(t, persist(t, takeSnapshot(t, f)))} {
				for range 2 {
					if got := encoded(run(t, f, 60, in(1, o))); !bytes.Equal(got, first) {
						t.Errorf("the repeat%s is answered %x, the first try was %x", where, got, first)
					}
				}
				if got := get(f, "k", 0); string(got.Value) != "7" {
					t.Errorf("the repeat%s left %q at k", where, got.Value)
				}
				if got := f.Stats(); got.Bytes != before.Bytes || got.Keys != before.Keys || allKeys(f) != keys {
					t.Errorf("the repeat%s left %+v, %s, want %+v, %s", where, got, allKeys(f), before, keys)
				}
			}
		})
	}
}

// TestALateRepeatDoesNotOverwriteANewerValue: the case that plain retries get wrong.
func TestALateRepeatDoesNotOverwriteANewerValue(t *testing.T) {
	t.Parallel()
	f := New(Config{})
	open(t, f, 0)
	run(t, f, 0, in(1, set("k", "old")))
	run(t, f, 0, in(2, set("k", "new")))
	if res := run(t, f, 0, in(1, set("k", "old"))); res.Err != nil || res.Version != 1 {
		t.Errorf("the repeat is answered %+v, want version 1", res)
	}
	if got := get(f, "k", 0); string(got.Value) != "new" || got.Version != 2 {
		t.Errorf("%q of version %d stands there, want new of version 2", got.Value, got.Version)
	}
}

func TestRepeatsInOneEntryAndOutOfOrder(t *testing.T) {
	t.Parallel()
	f := New(Config{})
	open(t, f, 0)
	results := applyEntry(t, f, entryOfCommands(0, nil, in(7, incr("n")), in(3, incr("n")), in(7, incr("n")), in(3, incr("n")), in(5, incr("n"))))
	var got []int64
	for _, res := range results {
		got = append(got, res.Number)
	}
	if want := []int64{1, 2, 1, 2, 3}; !slices.Equal(got, want) {
		t.Errorf("sums %d, want %d", got, want)
	}
}

func TestRefusalsOfASession(t *testing.T) {
	t.Parallel()
	const end = op.MinSessionTTL
	acked := func(sequence, acknowledged uint64) op.Command {
		return op.Command{Session: 1, Sequence: sequence, Acknowledged: acknowledged, Op: incr("n")}
	}
	type step struct {
		time int64
		op.Command
	}
	for behaviour, tc := range map[string]struct {
		before []step // after session 1 was opened at time 0
		then   step
		kind   op.Kind // 0: done
		says   string
	}{
		"a session never opened":                  {nil, step{0, op.Command{Session: 2, Sequence: 1, Op: incr("n")}}, op.KindSessionEnded, "session"},
		"the last ms of a session":                {nil, step{end - 1, acked(1, 0)}, 0, ""},
		"a session at its deadline":               {nil, step{end, acked(1, 0)}, op.KindSessionEnded, "session"},
		"use renews a session":                    {[]step{{end - 1, acked(1, 0)}}, step{2*end - 2, acked(2, 0)}, 0, ""},
		"but not for ever":                        {[]step{{end - 1, acked(1, 0)}}, step{2*end - 1, acked(2, 0)}, op.KindSessionEnded, ""},
		"a repeat renews it too":                  {[]step{{0, acked(1, 0)}, {end - 1, acked(1, 0)}}, step{2*end - 2, acked(2, 0)}, 0, ""},
		"an ended session's repeat":               {[]step{{0, acked(1, 0)}}, step{end, acked(1, 0)}, op.KindSessionEnded, ""},
		"an ended session stays ended":            {[]step{{end, acked(1, 0)}, {0, acked(1, 0)}}, step{0, acked(1, 0)}, op.KindSessionEnded, ""},
		"ids are not given again":                 {[]step{{end, op.Command{Op: op.Sweep{Limit: 1}}}, {end, op.Command{Op: op.OpenSession{TTL: end}}}}, step{end, acked(1, 0)}, op.KindSessionEnded, ""},
		"a session that was closed":               {[]step{{0, acked(1, 0)}, {0, op.Command{Op: op.CloseSession{Session: 1}}}}, step{0, acked(1, 0)}, op.KindSessionEnded, "session"},
		"another one was closed":                  {[]step{{0, op.Command{Op: op.OpenSession{TTL: end}}}, {0, op.Command{Op: op.CloseSession{Session: 2}}}}, step{0, acked(1, 0)}, 0, ""},
		"sequence 0":                              {nil, step{0, acked(0, 0)}, op.KindInvalid, "sequence"},
		"an acknowledged sequence":                {[]step{{0, acked(1, 0)}, {0, acked(2, 2)}}, step{0, acked(1, 0)}, op.KindInvalid, "sequence"},
		"a sequence that was skipped":             {[]step{{0, acked(9, 5)}}, step{0, acked(4, 0)}, op.KindInvalid, "sequence"},
		"the floor itself is not acknowledged":    {[]step{{0, acked(9, 5)}}, step{0, acked(5, 0)}, 0, ""},
		"the floor does not go back":              {[]step{{0, acked(9, 5)}, {0, acked(9, 2)}}, step{0, acked(4, 0)}, op.KindInvalid, "sequence"},
		"nobody acknowledges what comes":          {[]step{{0, acked(3, 1<<64-1)}}, step{0, acked(4, 0)}, 0, ""},
		"the highest sequence there is":           {[]step{{0, acked(1<<64-1, 1<<64-1)}}, step{0, acked(1<<64-1, 0)}, 0, ""},
		"a time to live that no session can have": {nil, step{0, op.Command{Op: op.OpenSession{TTL: end - 1}}}, op.KindInvalid, "ttl"},
	} {
		t.Run(behaviour, func(t *testing.T) {
			t.Parallel()
			f := New(Config{})
			open(t, f, 0)
			for _, s := range tc.before {
				run(t, f, s.time, s.Command)
			}
			before := allKeys(f) + string(get(f, "n", 0).Value)
			res := run(t, f, tc.then.time, tc.then.Command)
			if tc.kind == 0 {
				if res.Err != nil {
					t.Errorf("refused: %v", res.Err)
				}
				return
			}
			if res.Err == nil || res.Err.Kind != tc.kind || !strings.Contains(res.Err.Error(), tc.says) {
				t.Errorf("%+v, want an error of kind %d with %q", res, tc.kind, tc.says)
			}
			if got := allKeys(f) + string(get(f, "n", 0).Value); got != before {
				t.Errorf("refused, but the records went from %s to %s", before, got)
			}
			if got, want := f.Mark().Digest, recount(t, f); got != want {
				t.Errorf("digest %016x, recounted %016x", got, want)
			}
		})
	}
}

// TestUnacknowledgedAnswersAreBounded: a client that never acknowledges is stopped, and
// goes on when it does.
func TestUnacknowledgedAnswersAreBounded(t *testing.T) {
	t.Parallel()
	f := New(Config{})
	open(t, f, 0)
	var commands []op.Command
	for i := range uint64(op.MaxUnacknowledged) {
		commands = append(commands, in(i+1, incr("n")))
	}
	applyEntry(t, f, entryOfCommands(0, nil, commands...))
	next := in(op.MaxUnacknowledged+1, incr("n"))
	for range 2 {
		if res := run(t, f, 0, next); res.Err == nil || res.Err.Kind != op.KindUnavailable || !strings.Contains(res.Err.Message, fmt.Sprint(op.MaxUnacknowledged)) {
			t.Errorf("one more: %+v, want unavailable, naming the bound", res)
		}
	}
	if res := run(t, f, 0, in(17, incr("n"))); res.Number != 17 {
		t.Errorf("a repeat at the bound: %+v, want the first answer", res)
	}
	full := f.Stats().SessionBytes
	next.Acknowledged = op.MaxUnacknowledged
	if res := run(t, f, 0, next); res.Number != op.MaxUnacknowledged+1 {
		t.Errorf("after acknowledging: %+v", res)
	}
	// Left are the session and two answers: the last one acknowledges those below it.
	if got := f.Stats().SessionBytes; got >= sessionCost+2*(answerCost+32) || got >= full {
		t.Errorf("%d bytes of sessions are left of %d", got, full)
	}
}

func TestSessionsAreBounded(t *testing.T) {
	t.Parallel()
	f := New(Config{})
	short, long := op.OpenSession{TTL: op.MinSessionTTL}, op.OpenSession{TTL: op.MaxSessionTTL}
	opening := []op.Write{short, short}
	for range op.MaxSessions - 2 {
		opening = append(opening, long)
	}
	do(t, f, 0, opening...)
	if res := do(t, f, op.MinSessionTTL-1, long)[0]; res.Err == nil || res.Err.Kind != op.KindUnavailable || !strings.Contains(res.Err.Message, fmt.Sprint(op.MaxSessions)) {
		t.Errorf("one more: %+v, want unavailable, naming the bound", res)
	}
	results := do(t, f, op.MinSessionTTL, long, long, long)
	for i, want := range []int64{op.MaxSessions + 1, op.MaxSessions + 2} {
		if results[i].Number != want {
			t.Errorf("in the place of one that ended: %+v, want session %d", results[i], want)
		}
	}
	if results[2].Err == nil {
		t.Errorf("one more than ended: %+v", results[2])
	}
	if got := f.Stats(); got.Sessions != op.MaxSessions || got.SessionBytes != op.MaxSessions*sessionCost || got.Bytes != got.SessionBytes {
		t.Errorf("%+v, want %d sessions", got, op.MaxSessions)
	}
	restored(t, persist(t, takeSnapshot(t, f)))
}

// TestSweepRemovesEndedSessions by deadline and then id, within its limit.
func TestSweepRemovesEndedSessions(t *testing.T) {
	t.Parallel()
	f := New(Config{})
	for range 4 {
		open(t, f, 0)
	}
	do(t, f, 0, op.Set{Key: []byte("k"), TTL: op.MinSessionTTL})
	run(t, f, 5, op.Command{Session: 2, Sequence: 1, Op: incr("n")})
	if f.SweepDue(op.MinSessionTTL - 1) {
		t.Error("a sweep is due before anything has ended")
	}
	left := func() (ids []uint64) {
		for _, x := range f.state.sessions.copies() {
			ids = append(ids, x.id)
		}
		return ids
	}
	for _, step := range []struct {
		time   int64
		limit  int
		number int64
		left   []uint64
		due    bool // afterwards
	}{
		{op.MinSessionTTL, 3, 3, []uint64{2, 4}, true}, // the record, 1 and 3
		{op.MinSessionTTL, 9, 1, []uint64{2}, false},
		{op.MinSessionTTL + 4, 9, 0, []uint64{2}, false},
		{op.MinSessionTTL + 5, 9, 1, nil, false},
	} {
		if !f.SweepDue(step.time) && step.number > 0 {
			t.Errorf("no sweep is due at %d", step.time)
		}
		res := do(t, f, step.time, op.Sweep{Limit: step.limit})[0]
		if got := left(); res.Number != step.number || !slices.Equal(got, step.left) || f.SweepDue(0) != step.due {
			t.Errorf("at %d: %d removed, %d left, due %v; want %d, %d, %v", step.time, res.Number, got, f.SweepDue(0), step.number, step.left, step.due)
		}
	}
	if got := f.Stats(); got.SessionBytes != 0 || got.Sessions != 0 {
		t.Errorf("%+v, want no sessions", got)
	}
}

// TestAnswersAndRecordsShareTheLimit. Records of one-byte keys and values cost 66 bytes
// here, the session 128.
func TestAnswersAndRecordsShareTheLimit(t *testing.T) {
	t.Parallel()
	filler := func(size int64, protect bool) op.Set {
		return op.Set{Key: []byte("f"), Value: make([]byte, size-cost("f", "")), Protect: protect}
	}
	const limit = 4000
	for behaviour, tc := range map[string]struct {
		filler  op.Set // stands there when the session comes
		then    op.Op
		refused bool // for want of room
		keys    string
	}{
		"an answer evicts":                          {filler(limit-sessionCost, false), set("a", "1"), false, "a"},
		"room for an answer, to the byte":           {filler(limit-sessionCost-answerRoom-66, true), set("a", "1"), false, "a f"},
		"no room for a record and the answer":       {filler(limit-sessionCost-answerRoom-65, true), set("a", "1"), true, "f"},
		"no room for an answer":                     {filler(limit-sessionCost-answerRoom+1, true), incr("a"), true, "f"},
		"a delete needs no room":                    {filler(limit-sessionCost, true), op.Delete{Key: []byte("f")}, false, ""},
		"nor do deletes of many":                    {filler(limit-sessionCost, true), op.MDelete{Keys: [][]byte{[]byte("a"), []byte("f")}}, false, ""},
		"but one of nothing has no answer":          {filler(limit-sessionCost, true), op.Delete{Key: []byte("a")}, true, "f"},
		"nor has one whose condition does not hold": {filler(limit-sessionCost, true), op.Delete{Key: []byte("f"), Cond: op.Cond{Kind: op.CondAbsent, Show: true}}, true, "f"},
	} {
		t.Run(behaviour, func(t *testing.T) {
			t.Parallel()
			f := limited(limit)
			do(t, f, 0, tc.filler, op.OpenSession{TTL: op.MinSessionTTL})
			before := f.Stats()
			res := run(t, f, 0, in(1, tc.then))
			if refused := errors.Is(res.Err, op.ErrOutOfMemory); refused != tc.refused {
				t.Fatalf("%+v, want refused: %v", res, tc.refused)
			}
			if got := allKeys(f); got != tc.keys {
				t.Errorf("keys %q, want %q", got, tc.keys)
			}
			stats := f.Stats()
			if stats.Bytes > limit {
				t.Errorf("%d bytes, over the limit", stats.Bytes)
			}
			stored := !(errors.Is(res.Err, op.ErrOutOfMemory) && strings.Contains(res.Err.Message, fmt.Sprint(answerRoom)))
			if got := stats.SessionBytes > before.SessionBytes; got != stored {
				t.Errorf("the answer was kept: %v, want %v", got, stored)
			}
		})
	}
}

// TestWithoutRoomForTheAnswerNothingIsKept: when there is room, the same write is done.
func TestWithoutRoomForTheAnswerNothingIsKept(t *testing.T) {
	t.Parallel()
	f := limited(2000)
	open(t, f, 0)
	do(t, f, 0, op.Set{Key: []byte("f"), Value: make([]byte, 1500), Protect: true})
	for range 2 {
		if res := run(t, f, 0, in(1, incr("n"))); res.Err == nil || res.Err.Kind != op.KindOutOfMemory || !strings.Contains(res.Err.Message, "max-bytes") || !res.OfThisTry() {
			t.Fatalf("without room: %+v, want a refusal of this try alone", res)
		}
	}
	if res := run(t, f, 0, op.Command{Op: set("g", string(make([]byte, 1500)))}); !errors.Is(res.Err, op.ErrOutOfMemory) || res.OfThisTry() {
		t.Errorf("a record without room, in no session: %+v", res)
	}
	do(t, f, 0, op.Delete{Key: []byte("f")})
	if res := run(t, f, 0, in(1, incr("n"))); res.Number != 1 {
		t.Errorf("with room: %+v, want it done for the first time", res)
	}
}

// TestALargeAnswerMayExceedTheLimit by its own size, until it is acknowledged.
func TestALargeAnswerMayExceedTheLimit(t *testing.T) {
	t.Parallel()
	f := limited(4000)
	open(t, f, 0)
	do(t, f, 0, op.Set{Key: []byte("f"), Value: make([]byte, 2500), Protect: true})
	shows := op.Set{Key: []byte("f"), Cond: op.Cond{Kind: op.CondAbsent, Show: true}}
	if res := run(t, f, 0, in(1, shows)); !res.Unmet || len(res.Value) != 2500 {
		t.Fatalf("%+v", res.Err)
	}
	if got := f.Stats(); got.Bytes <= 4000 || got.Bytes > 4000+2500+100 {
		t.Errorf("%d bytes", got.Bytes)
	}
	if res := run(t, f, 0, in(2, shows)); !errors.Is(res.Err, op.ErrOutOfMemory) {
		t.Errorf("the next one: %+v, want out of memory", res)
	}
	done := in(3, op.Delete{Key: []byte("f")})
	done.Acknowledged = 2
	if res := run(t, f, 0, done); !res.Found {
		t.Errorf("acknowledged: %+v", res)
	}
	if got := f.Stats(); got.Bytes > 1000 {
		t.Errorf("%d bytes are left", got.Bytes)
	}
}

// TestReplicasAnswerRepeatsAlike, one of them restored from a snapshot in the middle.
func TestReplicasAnswerRepeatsAlike(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		steady := limited(1 << 20)
		open(t, steady, 0)
		moved := restored(t, persist(t, takeSnapshot(t, steady)))
		first := map[uint64][]byte{}
		var floor, sent uint64 = 1, 0
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			c := in(rapid.Uint64Range(floor, sent+3).Draw(t, "sequence"), anyTxn().Draw(t, "txn"))
			if rapid.IntRange(0, 5).Draw(t, "acknowledges") == 0 {
				c.Acknowledged = rapid.Uint64Range(floor, c.Sequence).Draw(t, "acknowledged")
				floor = c.Acknowledged
			}
			sent = max(sent, c.Sequence)
			if rapid.IntRange(0, 5).Draw(t, "moves") == 0 {
				moved = restored(t, persist(t, takeSnapshot(t, moved)))
			}
			got, other := encoded(run(t, steady, 0, c)), encoded(run(t, moved, 0, c))
			if !bytes.Equal(got, other) || steady.Mark() != moved.Mark() {
				t.Fatalf("%+v: one replica answers %x, the other %x", c, got, other)
			}
			if before, repeated := first[c.Sequence]; repeated && !bytes.Equal(got, before) {
				t.Fatalf("the repeat of %d is answered %x, first it was %x", c.Sequence, got, before)
			}
			first[c.Sequence] = got
		}
	})
}

func TestDigestTellsSessionsApart(t *testing.T) {
	t.Parallel()
	opened := op.Command{Op: op.OpenSession{TTL: op.MinSessionTTL}}
	longer := op.Command{Op: op.OpenSession{TTL: 2 * op.MinSessionTTL}}
	acknowledged := in(2, op.Delete{Key: []byte("a")})
	acknowledged.Acknowledged = 2
	sweep := op.Command{Op: op.Sweep{Limit: 9}}
	type step struct {
		time int64
		op.Command
	}
	const end = 3 * op.MinSessionTTL
	states := map[string][]step{
		"none":                  {{end, sweep}},
		"one that ended":        {{0, opened}, {end, sweep}},
		"a session":             {{end, opened}},
		"of another ttl":        {{end, longer}},
		"that ends with it":     {{end - op.MinSessionTTL, longer}, {end, sweep}},
		"of another deadline":   {{end - 1, opened}, {end, sweep}},
		"two":                   {{end, opened}, {end, opened}},
		"an answer":             {{end, opened}, {end, in(1, op.Delete{Key: []byte("a")})}},
		"to another sequence":   {{end, opened}, {end, in(2, op.Delete{Key: []byte("a")})}},
		"with another floor":    {{end, opened}, {end, acknowledged}},
		"another answer":        {{end, opened}, {end, in(1, op.Delete{Key: []byte("a"), Cond: op.Cond{Kind: op.CondPresent}})}},
		"of another session":    {{end, opened}, {end, opened}, {end, in(1, op.Delete{Key: []byte("a")})}},
		"the same, of the last": {{end, opened}, {end, opened}, {end, op.Command{Session: 2, Sequence: 1, Op: op.Delete{Key: []byte("a")}}}},
	}
	seen := map[uint64]string{}
	for what, steps := range states {
		f := New(Config{})
		for _, s := range steps {
			run(t, f, s.time, s.Command)
		}
		d := f.Mark().Digest
		if other, ok := seen[d]; ok {
			t.Errorf("%q and %q have one digest", what, other)
		}
		seen[d] = what
	}
}

func TestAnswersInASnapshotAreOfItsMoment(t *testing.T) {
	t.Parallel()
	f := New(Config{})
	open(t, f, 0)
	open(t, f, 0)
	for i := range uint64(20) {
		run(t, f, 0, in(2*i+1, incr("n")))
	}
	want := persist(t, takeSnapshot(t, f))
	snap := takeSnapshot(t, f)
	late := in(100, incr("n"))
	late.Acknowledged = 11
	for _, c := range []op.Command{in(4, incr("n")), in(50, incr("n")), late, {Op: op.OpenSession{TTL: op.MinSessionTTL}}} {
		run(t, f, 5, c)
	}
	do(t, f, op.MinSessionTTL, op.Sweep{Limit: 9})
	if got := persist(t, snap); !bytes.Equal(got, want) {
		t.Error("a snapshot written after sessions changed differs from one written before")
	}
	if reflect.DeepEqual(persist(t, takeSnapshot(t, f)), want) {
		t.Error("the sessions did not change: the test proves nothing")
	}
}
