package shard

import (
	"errors"
	"fmt"
	"testing"

	"github.com/hashicorp/raft"
	"pgregory.net/rapid"
)

// brittleLogs fails its next append when told to.
type brittleLogs struct {
	raft.LogStore
	broken bool
}

func (l *brittleLogs) StoreLogs(entries []*raft.Log) error {
	if l.broken {
		return errors.New("input/output error")
	}
	return l.LogStore.StoreLogs(entries)
}

func termed(first, last, term uint64) (entries []*raft.Log) {
	for i := first; i <= last; i++ {
		entries = append(entries, &raft.Log{Index: i, Term: term})
	}
	return entries
}

// terms returns the log as "index:term" of each entry, and fails if its bounds differ
// from what can be read.
func terms(t interface{ Fatalf(string, ...any) }, logs raft.LogStore) (list []string) {
	first, err := logs.FirstIndex()
	if err != nil {
		t.Fatalf("first index: %v", err)
	}
	last, err := logs.LastIndex()
	if err != nil {
		t.Fatalf("last index: %v", err)
	}
	for i := first; i <= last && i > 0; i++ {
		var entry raft.Log
		if err := logs.GetLog(i, &entry); err != nil || entry.Index != i {
			t.Fatalf("entry %d of [%d, %d]: %+v, %v", i, first, last, entry, err)
		}
		list = append(list, fmt.Sprintf("%d:%d", i, entry.Term))
	}
	for _, i := range []uint64{first - 1, last + 1} {
		if err := logs.GetLog(i, new(raft.Log)); !errors.Is(err, raft.ErrLogNotFound) {
			t.Fatalf("entry %d beside [%d, %d]: %v", i, first, last, err)
		}
	}
	return list
}

func TestTailStaysUntilSomethingElseIsStored(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		next func(l *tailLogs) error // after entries 3 to 5 of 1 to 5 were to be replaced in vain
		want string
	}{
		"nothing else":     {func(*tailLogs) error { return nil }, "[1:1 2:1 3:1 4:1 5:1]"},
		"what was to come": {func(l *tailLogs) error { return l.StoreLogs(termed(3, 4, 2)) }, "[1:1 2:1 3:2 4:2]"},
		"a later conflict": {func(l *tailLogs) error {
			return errors.Join(l.DeleteRange(4, 5), l.StoreLogs(termed(4, 4, 3)))
		}, "[1:1 2:1 3:1 4:3]"},
		"an earlier conflict": {func(l *tailLogs) error {
			return errors.Join(l.DeleteRange(2, 5), l.StoreLogs(termed(2, 2, 3)))
		}, "[1:1 2:3]"},
		"an entry behind the tail": {func(l *tailLogs) error { return l.StoreLogs(termed(6, 6, 3)) }, "[1:1 2:1 3:1 4:1 5:1 6:3]"},
		"entries far behind it":    {func(l *tailLogs) error { return l.StoreLogs(termed(8, 9, 3)) }, "[8:3 9:3]"},
		"compaction before it":     {func(l *tailLogs) error { return l.DeleteRange(1, 1) }, "[2:1 3:1 4:1 5:1]"},
		"compaction into it":       {func(l *tailLogs) error { return l.DeleteRange(1, 3) }, "[4:1 5:1]"},
		"removal of all":           {func(l *tailLogs) error { return l.DeleteRange(1, 5) }, "[]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			disk := &brittleLogs{LogStore: raft.NewInmemStore()}
			logs := &tailLogs{LogStore: gapLogs{disk}}
			if err := logs.StoreLogs(termed(1, 5, 1)); err != nil {
				t.Fatal(err)
			}
			disk.broken = true
			if err := logs.DeleteRange(3, 5); err != nil {
				t.Fatal(err)
			}
			if err := logs.StoreLogs(termed(3, 3, 2)); err == nil {
				t.Fatal("the append succeeded")
			}
			disk.broken = false
			if err := tc.next(logs); err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprint(terms(t, logs)); got != tc.want {
				t.Errorf("the log is %s, want %s", got, tc.want)
			}
		})
	}
}

// TestTailLogsAreWhatRaftBelieves: whatever fails, the log shown is the one in which the
// removals and appends that failed have not happened.
func TestTailLogsAreWhatRaftBelieves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		disk := &brittleLogs{LogStore: raft.NewInmemStore()}
		logs := &tailLogs{LogStore: gapLogs{disk}}
		var want []*raft.Log
		for term := uint64(1); term < 30; term++ {
			first, last := uint64(1), uint64(0)
			if len(want) > 0 {
				first, last = want[0].Index, want[len(want)-1].Index
			}
			disk.broken = rapid.Bool().Draw(t, "broken")
			if len(want) > 2 && rapid.IntRange(0, 3).Draw(t, "kind") == 0 {
				to := rapid.Uint64Range(first, last-1).Draw(t, "compacted to")
				if err := logs.DeleteRange(first, to); err != nil {
					t.Fatal(err)
				}
				want = want[to-first+1:]
				continue
			}
			from := last + 1
			if len(want) > 1 {
				from = rapid.Uint64Range(first+1, last+1).Draw(t, "from")
			}
			if from <= last {
				if err := logs.DeleteRange(from, last); err != nil {
					t.Fatal(err)
				}
			}
			entries := termed(from, from+rapid.Uint64Range(0, 4).Draw(t, "more"), term)
			if err := logs.StoreLogs(entries); (err != nil) != disk.broken {
				t.Fatalf("append: %v, broken: %v", err, disk.broken)
			}
			if !disk.broken {
				want = append(want[:from-first:from-first], entries...)
			}
			var list []string
			for _, entry := range want {
				list = append(list, fmt.Sprintf("%d:%d", entry.Index, entry.Term))
			}
			if got := terms(t, logs); fmt.Sprint(got) != fmt.Sprint(list) {
				t.Fatalf("the log is %v, want %v", got, list)
			}
		}
	})
}
