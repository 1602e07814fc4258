package raftfsm

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/ringraft/ringraft/op"
)

// txnDeadline is the deadline of the attempts of these tests.
const txnDeadline = 5000

func attemptOf(id byte, number uint64) op.Attempt {
	return op.Attempt{ID: bytes.Repeat([]byte{id}, op.TxnIDSize), Number: number, Home: 7, Deadline: txnDeadline}
}

func add(key string) op.Add { return op.Add{Key: []byte(key), Delta: 1} }

// kindOf returns the kind of a result's error, 0 for none.
func kindOf(res op.Result) op.Kind {
	if res.Err == nil {
		return 0
	}
	return res.Err.Kind
}

// TestPreparedKeysAreLocked from Prepare to Finish, whether compared, read or written,
// and hidden from whole reads if they may change.
func TestPreparedKeysAreLocked(t *testing.T) {
	t.Parallel()
	for _, commit := range []bool{false, true} {
		f := limited(1 << 20)
		do(t, f, 1, set("compared", "c"), set("written", "old"), set("deleted", "d"), set("free", "1"))
		session := open(t, f, 1)
		a := attemptOf(1, 1)
		prepare := op.Prepare{
			Attempt:  a,
			Compares: []op.Compare{{Key: []byte("compared"), Cond: op.Cond{Kind: op.CondPresent}}},
			Ops:      []op.Op{op.Get{Key: []byte("read")}, op.Set{Key: []byte("written"), Value: []byte("new"), TTL: 900}, op.Delete{Key: []byte("deleted")}, add("added")},
		}
		res := do(t, f, 2, prepare)[0]
		if res.Err != nil || len(res.Results) != 4 || !res.Results[2].Found || res.Results[3].Number != 1 {
			t.Fatalf("prepared: %+v", res)
		}
		before := f.Stats()
		if before.Locks != 5 || before.TxnBytes == 0 || get(f, "written", 0).Found != true || string(get(f, "written", 0).Value) != "old" {
			t.Errorf("%+v", before)
		}
		locked := map[string]op.Write{
			"set": set("written", "x"), "delete": op.Delete{Key: []byte("compared")}, "expire": op.Expire{Key: []byte("read")}, "add": add("added"),
			"mset":          op.MSet{Pairs: []op.Pair{{Key: []byte("free")}, {Key: []byte("read")}}},
			"mdelete":       op.MDelete{Keys: [][]byte{[]byte("free"), []byte("written")}},
			"txn":           op.Txn{Compares: []op.Compare{{Key: []byte("deleted"), Cond: op.Cond{Kind: op.CondAbsent}}}, Else: []op.Op{set("free", "2")}},
			"txn that sees": op.Txn{Then: []op.Op{op.Get{Key: []byte("written")}}},
			"prepare":       op.Prepare{Attempt: attemptOf(2, 1), Ops: []op.Op{add("added")}},
			"decide":        op.Decide{Attempt: attemptOf(3, 1), Commit: true, Ops: []op.Op{add("free"), add("read")}},
		}
		for name, o := range locked {
			if res := do(t, f, 3, o)[0]; kindOf(res) != op.KindLocked || !errors.Is(res.Err, op.ErrUnavailable) {
				t.Errorf("%s: %+v, want locked", name, res)
			}
		}
		numbered := op.Command{Session: session, Sequence: 1, Op: set("written", "later")}
		if res := run(t, f, 3, numbered); kindOf(res) != op.KindLocked {
			t.Errorf("in a session: %+v", res)
		}
		hidden := []op.Read{
			op.Get{Key: []byte("written")}, op.Stat{Key: []byte("added")}, op.MGet{Keys: [][]byte{[]byte("free"), []byte("deleted")}},
			op.Scan{Prefix: []byte("w"), Cursor: op.ScanCursor(0, nil), Last: op.Slots - 1, Limit: 9},
		}
		var released []<-chan struct{}
		for _, o := range hidden {
			_, wait := f.ReadWhole(o, 0, nil)
			if wait == nil {
				t.Fatalf("%s does not wait", o.Code())
			}
			released = append(released, wait)
		}
		for _, o := range []op.Read{
			op.Get{Key: []byte("compared")}, op.Get{Key: []byte("read")}, op.Get{Key: []byte("free")},
			op.Scan{Prefix: []byte("f"), Cursor: op.ScanCursor(0, nil), Last: op.Slots - 1, Limit: 9},
		} {
			if _, wait := f.ReadWhole(o, 0, nil); wait != nil {
				t.Errorf("%s waits for what does not change", o.Code())
			}
		}
		res = do(t, f, 4, op.Finish{Attempt: a, Commit: commit})[0]
		if versions := len(res.Items); commit && versions != 3 || !commit && versions != 0 {
			t.Errorf("finished: %+v", res)
		}
		for _, wait := range released {
			<-wait
		}
		if got := f.Stats(); got.Locks != 0 || got.Transactions != 1 {
			t.Errorf("after: %+v", got)
		}
		if written := get(f, "written", 0); commit != (string(written.Value) == "new" && written.TTL == 898) || get(f, "deleted", 0).Found == commit || get(f, "added", 0).Found != commit {
			t.Errorf("commit %v: written %+v", commit, written)
		}
		if res := run(t, f, 5, numbered); res.Err != nil {
			t.Errorf("the write refused before: %+v", res)
		}
		if again := do(t, f, 5, op.Finish{Attempt: a, Commit: !commit})[0]; len(again.Items) != len(res.Items) {
			t.Errorf("finished again: %+v, want %+v", again, res)
		}
		if res := do(t, f, 5, prepare)[0]; !errors.Is(res.Err, op.ErrUnavailable) || f.Stats().Locks != 0 {
			t.Errorf("prepared after it has finished: %+v", res)
		}
	}
}

// TestNothingIsKeptOfWhatCannotBePrepared.
func TestNothingIsKeptOfWhatCannotBePrepared(t *testing.T) {
	t.Parallel()
	f := limited(20_000)
	do(t, f, 1000, set("a", "1"), set("text", "x"))
	before := f.Mark().Digest
	early, late := attemptOf(1, 1), attemptOf(1, 1)
	early.Deadline, late.Deadline = 999, 1001+op.MaxTxnSkew
	ops := []op.Op{set("b", "2")}
	for name, tc := range map[string]struct {
		o    op.Write
		kind op.Kind // 0: unmet
	}{
		"a compare that does not hold": {op.Prepare{Attempt: attemptOf(1, 1), Compares: []op.Compare{{Key: []byte("a"), Cond: op.Cond{Kind: op.CondAbsent}}}, Ops: ops}, 0},
		"a condition":                  {op.Prepare{Attempt: attemptOf(1, 1), Ops: []op.Op{op.Set{Key: []byte("a"), Cond: op.Cond{Kind: op.CondAbsent}}}}, op.KindConflict},
		"no number":                    {op.Prepare{Attempt: attemptOf(1, 1), Ops: []op.Op{add("text")}}, op.KindConflict},
		"too late":                     {op.Prepare{Attempt: early, Ops: ops}, op.KindUnavailable},
		"a deadline far ahead":         {op.Prepare{Attempt: late, Ops: ops}, op.KindUnavailable},
		"no room":                      {op.Prepare{Attempt: attemptOf(1, 1), Ops: []op.Op{set("b", string(make([]byte, 10_000)))}}, op.KindOutOfMemory},
		"nothing to prepare":           {op.Prepare{Attempt: attemptOf(1, 1)}, op.KindInvalid},
		"no id":                        {op.Prepare{Attempt: op.Attempt{Deadline: 2000}, Ops: ops}, op.KindInvalid},
		"deciding, a compare":          {op.Decide{Attempt: attemptOf(1, 1), Commit: true, Compares: []op.Compare{{Key: []byte("a"), Cond: op.Cond{Kind: op.CondAbsent}}}}, 0},
		"deciding, a condition":        {op.Decide{Attempt: attemptOf(1, 1), Commit: true, Ops: []op.Op{add("text")}}, op.KindConflict},
		"deciding, no room":            {op.Decide{Attempt: attemptOf(1, 1), Commit: true, Ops: []op.Op{op.Set{Key: []byte("b"), Value: make([]byte, 19_000), Protect: true}}}, op.KindOutOfMemory},
		"deciding, a large answer":     {op.Decide{Attempt: attemptOf(1, 1), Commit: true, Ops: []op.Op{op.Get{Key: []byte("a")}}, Payload: op.MaxPayload}, op.KindInvalid},
		"aborting far ahead":           {op.Decide{Attempt: late}, op.KindUnavailable},
		"forgetting what is unknown":   {op.Forget{Attempt: attemptOf(9, 9)}, 99},
		"finishing what is unknown":    {op.Finish{Attempt: attemptOf(9, 9), Commit: true}, 99},
	} {
		res := do(t, f, 1000, tc.o)[0]
		switch {
		case tc.kind == 99:
			if res.Err != nil {
				t.Errorf("%s: %v", name, res.Err)
			}
		case kindOf(res) != tc.kind || tc.kind == 0 && !(res.Unmet && len(res.Items) == 1 && res.Items[0].Version == 1):
			t.Errorf("%s: %+v", name, res)
		}
		if f.Mark().Digest != before {
			t.Fatalf("%s: the state has changed", name)
		}
	}
}

// TestTheFirstDecisionStands for all attempts at a transaction.
func TestTheFirstDecisionStands(t *testing.T) {
	t.Parallel()
	commit := func(number uint64) op.Decide {
		return op.Decide{Attempt: attemptOf(1, number), Commit: true, Ops: []op.Op{add("n")}, Participants: []uint16{9}}
	}
	abort := func(number uint64) op.Decide { return op.Decide{Attempt: attemptOf(1, number)} }
	for name, tc := range map[string]struct {
		at      int64
		ops     []op.Write
		answers string // outcome of each, + for one that another attempt committed
		outcome op.Outcome
		n       string
	}{
		"commit, then all else":     {10, []op.Write{commit(1), commit(1), abort(1), commit(2), abort(2)}, "1 1 1 2+ 2+", op.Committed, "1"},
		"abort, then all else":      {10, []op.Write{abort(1), commit(1), abort(1), commit(2)}, "2 2 2 2", op.Aborted, ""},
		"after it is forgotten":     {10, []op.Write{commit(1), op.Forget{Attempt: attemptOf(1, 1)}, commit(1), commit(2), abort(1)}, "1 0 1 2+ 1", op.Committed, "1"},
		"forget of another attempt": {10, []op.Write{commit(1), op.Forget{Attempt: attemptOf(1, 2)}, commit(1)}, "1 0 1", op.Committed, "1"},
		"abandoned, then commit":    {10, []op.Write{op.AbortTxn{ID: attemptOf(1, 1).ID, Home: 7}, commit(1), abort(1)}, "2 2 2", op.Aborted, ""},
		"commit, then abandoned":    {10, []op.Write{commit(1), op.AbortTxn{ID: attemptOf(1, 1).ID, Home: 7}}, "1 1", op.Committed, "1"},
		"at the deadline":           {txnDeadline, []op.Write{commit(1)}, "1", op.Committed, "1"},
		"past the deadline":         {txnDeadline + 1, []op.Write{commit(1)}, "2", op.Undecided, ""},
		"past it, aborted":          {txnDeadline + 1, []op.Write{abort(1), commit(1)}, "2 2", op.Aborted, ""},
	} {
		f := limited(1 << 20)
		var answers []byte
		for i, o := range tc.ops {
			res := do(t, f, tc.at, o)[0]
			if i > 0 {
				answers = append(answers, ' ')
			}
			answers = strconv.AppendInt(answers, res.Number, 10)
			if res.Found {
				answers = append(answers, '+')
			}
			if res.Err != nil {
				t.Errorf("%s: %d: %v", name, i, res.Err)
			}
		}
		if string(answers) != tc.answers {
			t.Errorf("%s: answers %s, want %s", name, answers, tc.answers)
		}
		f = restored(t, persist(t, takeSnapshot(t, f)))
		outcome := op.Outcome(f.Read(op.GetTxn{ID: attemptOf(1, 1).ID, Home: 7}, 0, nil).Number)
		if got := string(get(f, "n", 0).Value); got != tc.n || outcome != tc.outcome {
			t.Errorf("%s: n is %q and the outcome %v, want %q and %v", name, got, outcome, tc.n, tc.outcome)
		}
	}
}

// TestWhatIsLeftOfTransactionsEnds: finished parts with the deadline, decisions after
// an hour, and never what is not carried out.
func TestWhatIsLeftOfTransactionsEnds(t *testing.T) {
	t.Parallel()
	f := limited(1 << 20)
	prepared, finished, pending, done := attemptOf(1, 1), attemptOf(2, 1), attemptOf(3, 1), attemptOf(4, 1)
	do(t, f, 10, op.Prepare{Attempt: prepared, Ops: []op.Op{add("a")}}, op.Prepare{Attempt: finished, Ops: []op.Op{add("b")}},
		op.Finish{Attempt: finished, Commit: true}, op.Decide{Attempt: pending, Commit: true, Ops: []op.Op{add("c")}, Participants: []uint16{9, 12}},
		op.Decide{Attempt: done, Commit: true, Ops: []op.Op{add("d")}, Participants: []uint16{9}}, op.Forget{Attempt: done}, op.Decide{Attempt: attemptOf(5, 1)})
	if f.SweepDue(txnDeadline) || len(f.Unresolved(txnDeadline, 9)) != 0 {
		t.Error("something is due at the deadline")
	}
	left := f.Unresolved(txnDeadline+1, 9)
	if len(left) != 2 || len(f.Unresolved(txnDeadline+1, 1)) != 1 {
		t.Fatalf("unresolved: %+v", left)
	}
	for _, u := range left {
		if u.Part != (u.Attempt.ID[0] == 1) || u.Part && u.Slot != op.SlotOf([]byte("a")) || !u.Part && !slices.Equal(u.Participants, []uint16{9, 12}) {
			t.Errorf("unresolved: %+v", u)
		}
	}
	if !f.SweepDue(txnDeadline+1) || do(t, f, txnDeadline+1, op.Sweep{Limit: 9})[0].Number != 1 || f.SweepDue(txnDeadline+1) {
		t.Error("the finished part does not end after the deadline")
	}
	hour := int64(txnDeadline + op.DecisionTTL)
	if f.SweepDue(hour-1) || do(t, f, hour, op.Sweep{Limit: 9})[0].Number != 2 || f.Stats().Transactions != 2 {
		t.Errorf("after an hour: %+v", f.Stats())
	}
	for id, want := range map[byte]op.Outcome{3: op.Committed, 4: op.Undecided, 5: op.Undecided, 6: op.Undecided} {
		if res := f.Read(op.GetTxn{ID: attemptOf(id, 1).ID, Home: 7}, 0, nil); res.Err != nil || op.Outcome(res.Number) != want {
			t.Errorf("after an hour transaction %d is %v (%v), want %v", id, op.Outcome(res.Number), res.Err, want)
		}
	}
}

// TestRoomIsKeptForWhatIsPrepared: nothing that happens meanwhile makes Finish fail.
func TestRoomIsKeptForWhatIsPrepared(t *testing.T) {
	t.Parallel()
	f := limited(4000)
	a := attemptOf(1, 1)
	large := op.Set{Key: []byte("a"), Value: make([]byte, 700), Protect: true}
	if res := do(t, f, 1, op.Prepare{Attempt: a, Ops: []op.Op{large}})[0]; res.Err != nil {
		t.Fatal(res.Err)
	}
	filler := op.Set{Value: make([]byte, 200), Protect: true}
	for i := range 30 {
		filler.Key = fmt.Appendf(nil, "filler-%d", i)
		if res := do(t, f, 2, filler)[0]; res.Err != nil && !errors.Is(res.Err, op.ErrOutOfMemory) {
			t.Fatal(res.Err)
		}
	}
	if got := f.Stats(); got.Bytes > 4000 || got.Keys == 30 {
		t.Fatalf("%+v", got)
	}
	do(t, f, 3, op.Configure{Settings: op.GroupSettings{MaxBytes: 500}}, op.Finish{Attempt: a, Commit: true})
	if got := get(f, "a", 0); len(got.Value) != 700 {
		t.Errorf("a: %+v", got)
	}
}

// TestDecisionsMakeRoomForRecords once no attempt can miss them.
func TestDecisionsMakeRoomForRecords(t *testing.T) {
	t.Parallel()
	f := limited(10_000)
	do(t, f, 1, op.Decide{Attempt: attemptOf(1, 1), Commit: true, Ops: []op.Op{add("a")}})
	large := op.Set{Key: []byte("b"), Value: make([]byte, 9800), Protect: true}
	if res := do(t, f, txnDeadline+op.TxnLateness, large)[0]; !errors.Is(res.Err, op.ErrOutOfMemory) {
		t.Errorf("while it may be asked for: %+v", res)
	}
	if res := do(t, f, txnDeadline+op.TxnLateness+1, large)[0]; res.Err != nil || f.Stats().Transactions != 0 {
		t.Errorf("after it: %+v, %+v", res, f.Stats())
	}
}

// TestCountsOfTransactionsAreBounded.
func TestCountsOfTransactionsAreBounded(t *testing.T) {
	t.Parallel()
	f := New(Config{})
	id := func(i int) op.Attempt {
		a := attemptOf(0, 1)
		copy(a.ID, fmt.Sprintf("%08d", i))
		return a
	}
	fill := func(limit int, o func(i int) op.Write) {
		for i := 0; i < limit; {
			var ops []op.Write
			for ; i < limit && len(ops) < 512; i++ {
				ops = append(ops, o(i))
			}
			for _, res := range do(t, f, 1, ops...) {
				if res.Err != nil {
					t.Fatal(res.Err)
				}
			}
		}
		if res := do(t, f, 1, o(limit))[0]; kindOf(res) != op.KindUnavailable {
			t.Errorf("one more: %+v", res)
		}
	}
	prepare := func(i int) op.Write { return op.Prepare{Attempt: id(i), Ops: []op.Op{add(strconv.Itoa(i))}} }
	decide := func(i int) op.Write { return op.Decide{Attempt: id(i), Commit: i%2 == 0} }
	fill(op.MaxParts, prepare)
	fill(op.MaxDecisions, decide)
	last := id(1 << 20)
	last.Deadline = txnDeadline + op.TxnLateness + 99
	do(t, f, 1, op.Finish{Attempt: id(0)})
	for _, o := range []op.Write{op.Decide{Attempt: last}, op.Prepare{Attempt: last, Ops: []op.Op{add("one more")}}} {
		if res := do(t, f, txnDeadline+op.TxnLateness+1, o)[0]; res.Err != nil {
			t.Errorf("%s, with room made by time: %+v", o.Code(), res)
		}
	}
}

// txnModel is what a group that is home and participant at once must show of counters
// that transactions raise.
type txnModel struct {
	now       int64
	values    map[string]int
	prepared  map[string][]string // keys, by attempt
	finished  map[string]bool
	decisions map[string]string // "2" for an abort, else the attempt
}

func (m *txnModel) locked(keys []string) bool {
	for _, held := range m.prepared {
		for _, key := range keys {
			if slices.Contains(held, key) {
				return true
			}
		}
	}
	return false
}

// step returns the kind of error, or the number, to expect of o.
func (m *txnModel) step(o op.Write, keys []string) (kind op.Kind, number int64) {
	raise := func(keys []string) {
		for _, key := range keys {
			m.values[key]++
		}
	}
	switch o := o.(type) {
	case op.Add:
		if m.locked(keys) {
			return op.KindLocked, 0
		}
		raise(keys)
		return 0, int64(m.values[keys[0]])
	case op.Prepare:
		a := fmt.Sprint(o.Attempt)
		switch {
		case m.prepared[a] != nil:
			return 0, 0
		case m.finished[a] || m.now > o.Attempt.Deadline:
			return op.KindUnavailable, 0
		case m.locked(keys):
			return op.KindLocked, 0
		}
		m.prepared[a] = keys
	case op.Decide:
		a, id := fmt.Sprint(o.Attempt), string(o.Attempt.ID)
		switch d := m.decisions[id]; {
		case d == a:
			return 0, int64(op.Committed)
		case d != "":
			return 0, int64(op.Aborted)
		case !o.Commit:
			m.decisions[id] = "2"
			return 0, int64(op.Aborted)
		case m.now > o.Attempt.Deadline:
			return 0, int64(op.Aborted)
		case m.locked(keys):
			return op.KindLocked, 0
		}
		m.decisions[id] = a
		raise(keys)
		return 0, int64(op.Committed)
	case op.Finish:
		a := fmt.Sprint(o.Attempt)
		if m.prepared[a] != nil {
			if o.Commit {
				raise(m.prepared[a])
			}
			delete(m.prepared, a)
			m.finished[a] = true
		}
	}
	return 0, 0
}

// TestTransactionsInAnyOrder: requests come in any order, late and again, snapshots are
// restored in between, and each part is done as often as it should be, all replicas
// agreeing.
func TestTransactionsInAnyOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := &txnModel{values: map[string]int{}, prepared: map[string][]string{}, finished: map[string]bool{}, decisions: map[string]string{}}
		f := limited(1 << 20)
		step := func(t *rapid.T) {
			a := attemptOf(byte(rapid.IntRange(1, 3).Draw(t, "id")), uint64(rapid.IntRange(1, 2).Draw(t, "number")))
			a.Deadline = 1000 * int64(a.Number) * int64(a.ID[0])
			keys := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}), 1, 3, rapid.ID).Draw(t, "keys")
			var ops []op.Op
			for _, key := range keys {
				ops = append(ops, add(key))
			}
			var o op.Write
			switch rapid.IntRange(0, 9).Draw(t, "kind") {
			case 0, 1:
				o, keys = add(keys[0]), keys[:1]
			case 2, 3, 4:
				o = op.Prepare{Attempt: a, Ops: ops}
			case 5:
				o = op.Decide{Attempt: a, Commit: true, Ops: ops, Participants: []uint16{1}}
			case 6:
				o = op.Decide{Attempt: a}
			case 7, 8:
				o = op.Finish{Attempt: a, Commit: rapid.Bool().Draw(t, "commit")}
			default:
				o = op.Forget{Attempt: a}
			}
			m.now += rapid.Int64Range(0, 200).Draw(t, "time")
			res := do(t, f, m.now, o)[0]
			kind, number := m.step(o, keys)
			if kindOf(res) != kind || res.Number != number {
				t.Fatalf("%+v = %+v, want the error %d, or %d", o, res, kind, number)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"step": step, "step2": step, "step3": step,
			"sweep": func(t *rapid.T) { do(t, f, m.now, op.Sweep{Limit: 3}) },
			"restore": func(t *rapid.T) {
				next := restored(t, persist(t, takeSnapshot(t, f)))
				if got, want := dump(next), dump(f); got != want {
					t.Fatalf("restored:\n%swant:\n%s", got, want)
				}
				f = next
			},
			"": func(t *rapid.T) {
				for key, n := range m.values {
					if got := string(get(f, key, 0).Value); got != strconv.Itoa(n) {
						t.Fatalf("%s is %s, want %d", key, got, n)
					}
				}
				locks := 0
				for _, keys := range m.prepared {
					locks += len(keys)
				}
				if got := f.Stats().Locks; got != int64(locks) {
					t.Fatalf("%d locks, want those of %v", got, slices.Collect(maps.Values(m.prepared)))
				}
				if got, want := f.Mark().Digest, recount(t, f); got != want {
					t.Fatalf("digest %016x, from the blocks %016x", got, want)
				}
			},
		})
	})
}

// FuzzTxnBlock decodes any bytes as a transaction's block of a snapshot: they are
// refused, or give the same block again.
func FuzzTxnBlock(f *testing.F) {
	f.Add(newPartRecord(op.Part{Attempt: attemptOf(1, 1), Keys: [][]byte{[]byte("a")}, Effects: []op.Effect{{Key: []byte("a"), Removes: true}}}).block(nil))
	f.Add(newPartRecord(op.Part{Attempt: attemptOf(2, 1), Finished: true, Answer: op.Result{Items: []op.Item{{Key: []byte("a"), Version: 3}}}}).block(nil))
	f.Add(newDecisionRecord(op.Decision{Attempt: attemptOf(3, 1), Outcome: op.Committed, Participants: []uint16{1, 2}}).block(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := decodeTxn(bytes.Clone(b))
		if err != nil {
			return
		}
		if r.bytes < int64(len(b)) || !bytes.Equal(r.block(nil), b) {
			t.Fatalf("%x became %x, of %d bytes", b, r.block(nil), r.bytes)
		}
	})
}
