package raftfsm

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/hashicorp/raft"

	"github.com/ringraft/ringraft/op"
)

func TestApplyBatchAnswersEachLog(t *testing.T) {
	t.Parallel()
	f := New(Config{})
	answers := f.ApplyBatch([]*raft.Log{
		command(3, entryOf(1, nil, set("a", "1"), op.Delete{Key: []byte("b")})),
		{Index: 4, Type: raft.LogConfiguration, Data: []byte("not an entry")},
		command(7, entryOf(1, nil)),
		command(8, entryOf(1, nil, op.Add{Key: []byte("a"), Delta: 2})),
	})
	want := []any{
		[]op.Result{{Version: 1}, {}},
		nil,
		[]op.Result{},
		[]op.Result{{Version: 2, Found: true, Number: 3}},
	}
	if !reflect.DeepEqual(answers, want) {
		t.Errorf("answers %+v, want %+v", answers, want)
	}
	if got := f.Applied(); got != 8 {
		t.Errorf("applied %d, want 8", got)
	}
}

func TestConfigurationAdvancesTheIndexOnly(t *testing.T) {
	t.Parallel()
	f := New(Config{})
	do(t, f, 5, set("a", "1"))
	before := f.Mark()
	if answer := f.Apply(&raft.Log{Index: 9, Type: raft.LogConfiguration}); answer != nil {
		t.Errorf("answer %v, want nil", answer)
	}
	if got, want := f.Mark(), (Mark{Index: 9, Digest: before.Digest}); got != want {
		t.Errorf("mark %+v, want %+v", got, want)
	}
}

func TestHalt(t *testing.T) {
	t.Parallel()
	good := entryOf(7, [][]byte{[]byte("a")}, set("a", "2"))
	withOp := func(raw ...byte) []byte {
		var eb op.EntryBuilder
		eb.Add(op.AppendCommand(nil, op.Command{Op: set("a", "2")}))
		eb.Add(raw)
		return eb.Build(7, nil)
	}
	otherFormat := append([]byte(nil), good...)
	otherFormat[1]++
	tests := []struct {
		behaviour string
		log       *raft.Log
		want      string // part of the error
	}{
		{"an unknown operation", command(5, withOp(0x94, 0, 0, 0, 0x91, 127)), "command 1: operation code 127 is unknown here"},
		{"an operation that does not write", command(5, withOp(op.AppendCommand(nil, op.Command{Op: op.Get{Key: []byte("a")}})...)), "get, which does not write"},
		{"a cut operation", command(5, withOp(0x94, 0, 0, 0, 0x93, byte(op.CodeDelete), 0xc4, 9, 9)), "truncated"},
		{"another format", command(5, otherFormat), "format 3"},
		{"no entry", command(5, nil), "truncated"},
		{"a cut entry", command(5, good[:len(good)-1]), "command 0"},
		{"bytes behind the entry", command(5, append(good[:len(good):len(good)], 0)), "bytes follow"},
		{"an index that was applied", command(4, good), "comes after index 4"},
		{"a configuration's index that was applied", &raft.Log{Index: 3, Type: raft.LogConfiguration}, "comes after index 4"},
	}
	for _, test := range tests {
		t.Run(test.behaviour, func(t *testing.T) {
			t.Parallel()
			var halts []error
			f := New(Config{Group: "g7", OnHalt: func(err error) { halts = append(halts, err) }})
			for range 4 {
				do(t, f, 5, set("a", "1"), set("b", "1"))
			}
			before := dump(f)
			answers := f.ApplyBatch([]*raft.Log{
				test.log,
				command(test.log.Index+1, good),
				{Index: test.log.Index + 2, Type: raft.LogConfiguration},
			})
			for i, answer := range answers {
				err, _ := answer.(error)
				if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "g7") {
					t.Errorf("answer %d is %v, want an error with %q that names the group", i, answer, test.want)
				}
			}
			if len(halts) != 1 || fmt.Sprint(halts[0]) != fmt.Sprint(answers[0]) {
				t.Errorf("OnHalt got %v, want %v once", halts, answers[0])
			}
			if got := dump(f); got != before {
				t.Errorf("state\n%swant\n%s", got, before)
			}
			checkHalted(t, f)
		})
	}
}

// checkHalted expects that f, once halted, neither goes on nor hands out its state.
func checkHalted(t *testing.T, f *FSM) {
	t.Helper()
	if _, err := f.Snapshot(); err == nil {
		t.Error("it takes a snapshot")
	}
	if err := restore(f, persist(t, takeSnapshot(t, New(Config{})))); err == nil {
		t.Error("it restores a snapshot")
	}
	if err := f.Wait(t.Context(), f.Applied()+1); err == nil {
		t.Error("Wait for an index that never comes returns nil")
	}
	if err := f.Wait(t.Context(), f.Applied()); err != nil {
		t.Errorf("Wait for an index applied before: %v", err)
	}
	if res := get(f, "a", 0); !res.Found {
		t.Error("reads do not find what was applied before")
	}
}

func TestUnknownCodeIsFoundInTheError(t *testing.T) {
	t.Parallel()
	var eb op.EntryBuilder
	eb.Add([]byte{0x94, 0, 0, 0, 0x91, 127})
	err, _ := New(Config{}).Apply(command(1, eb.Build(0, nil))).(error)
	var unknown *op.UnknownCodeError
	if !errors.As(err, &unknown) || unknown.Code != 127 {
		t.Errorf("error %v, want an UnknownCodeError of code 127", err)
	}
}

func TestSettings(t *testing.T) {
	t.Parallel()
	f := New(Config{})
	if got := f.Stats().Settings.MaxBytes; got != op.DefaultMaxBytes {
		t.Errorf("limit %d of a new group, want %d", got, int64(op.DefaultMaxBytes))
	}
	want := op.GroupSettings{MaxBytes: 5 << 20}
	do(t, f, 0, op.Configure{Settings: want})
	if got := f.Stats().Settings; got != want {
		t.Errorf("settings %+v, want %+v", got, want)
	}
	if got := restored(t, persist(t, takeSnapshot(t, f))).Stats().Settings; got != want {
		t.Errorf("restored settings %+v, want %+v", got, want)
	}
}

func TestDigestTellsStatesApart(t *testing.T) {
	t.Parallel()
	protected := op.Set{Key: []byte("a"), Value: []byte("1"), Protect: true}
	states := []struct {
		what    string
		entries [][]byte
	}{
		{"empty", nil},
		{"a record", [][]byte{entryOf(0, nil, set("a", "1"))}},
		{"another value", [][]byte{entryOf(0, nil, set("a", "2"))}},
		{"another key", [][]byte{entryOf(0, nil, set("b", "1"))}},
		{"another version", [][]byte{entryOf(0, nil, set("a", "1"), set("a", "1"))}},
		{"a deadline", [][]byte{entryOf(0, nil, op.Set{Key: []byte("a"), Value: []byte("1"), TTL: 9})}},
		{"protection", [][]byte{entryOf(0, nil, protected)}},
		{"a time", [][]byte{entryOf(1, nil, set("a", "1"))}},
		{"a limit", [][]byte{entryOf(0, nil, set("a", "1"), op.Configure{Settings: op.GroupSettings{MaxBytes: 1 << 30}})}},
		{"a removed record", [][]byte{entryOf(0, nil, set("a", "1"), op.Delete{Key: []byte("a")})}},
		{"two records", [][]byte{entryOf(0, nil, set("a", "1"), set("b", "1"))}},
		{"in another order", [][]byte{entryOf(0, nil, set("b", "1"), set("a", "1"))}},
		{"touched", [][]byte{entryOf(0, nil, set("a", "1"), set("b", "1")), entryOf(0, [][]byte{[]byte("a")})}},
	}
	seen := map[uint64]string{}
	for _, s := range states {
		f := New(Config{})
		for _, e := range s.entries {
			applyEntry(t, f, e)
		}
		d := f.Mark().Digest
		if other, ok := seen[d]; ok {
			t.Errorf("%q and %q have one digest", s.what, other)
		}
		seen[d] = s.what
	}
}

func TestHistory(t *testing.T) {
	t.Parallel()
	f := New(Config{})
	if _, ok := f.DigestAt(0); ok {
		t.Error("a new state machine has a mark")
	}
	marks := map[uint64]uint64{}
	const first, last = 10, 10 + 2*historyLen
	for index := uint64(first); index <= last; index += 2 {
		f.Apply(command(index, entryOf(int64(index), nil)))
		marks[index] = f.Mark().Digest
	}
	for index := range uint64(last + historyLen) {
		got, ok := f.DigestAt(index)
		_, applied := marks[index]
		want := applied && index > last-historyLen
		if ok != want || ok && got != marks[index] {
			t.Fatalf("DigestAt(%d) = %016x, %v, want %016x, %v", index, got, ok, marks[index], want)
		}
	}
	f2 := restored(t, persist(t, takeSnapshot(t, f)))
	if got, ok := f2.DigestAt(last); !ok || got != marks[last] {
		t.Errorf("DigestAt(%d) after a restore = %016x, %v, want %016x", last, got, ok, marks[last])
	}
	if err := restore(f, persist(t, takeSnapshot(t, f2))); err != nil {
		t.Fatal(err)
	}
	if _, ok := f.DigestAt(last - 2); ok {
		t.Error("a mark from before a restore is known after it")
	}
}
