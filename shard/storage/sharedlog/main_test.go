package sharedlog

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/hashicorp/raft"
	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// testSegment is so small that a few entries fill a segment, in bytes.
const testSegment = 4096

// openLog opens the log of a disk until the end of the test.
func openLog(t *testing.T, d disk) *Log {
	t.Helper()
	l, err := open(d, Config{SegmentBytes: testSegment})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return l
}

// createView makes a view, in a log that takes it.
func createView(t rapid.TB, l *Log, id ID) *View {
	t.Helper()
	if err := l.Create(id); err != nil {
		t.Fatal(err)
	}
	v, err := l.View(id)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func store(t rapid.TB, v *View, entries ...*raft.Log) {
	t.Helper()
	if err := v.StoreLogs(entries); err != nil {
		t.Fatalf("store %d: %v", entries[0].Index, err)
	}
}

// run returns the entries from first to last.
func run(first, last, term uint64, size int) state {
	s := state{}
	for i := first; i <= last; i++ {
		s = append(s, entry(i, term, size))
	}
	return s
}

// want fails unless the view holds exactly these entries.
func want(t rapid.TB, l *Log, id ID, s state) {
	t.Helper()
	if got, err := readState(l, id); err != nil || !got.same(s) {
		t.Fatalf("replica %s holds %v, %v; want %v", id, got, err, s)
	}
}

// entry returns the entry that belongs at an index, with about size bytes.
func entry(index, term uint64, size int) *raft.Log {
	data := bytes.Repeat([]byte{byte(index), byte(term)}, size/2)
	return &raft.Log{Index: index, Term: term, Data: append(data, fmt.Sprint(index, "/", term)...), Extensions: []byte{byte(index)}}
}

func sameEntry(a, b *raft.Log) bool {
	return a.Index == b.Index && a.Term == b.Term && a.Type == b.Type && a.AppendedAt.Equal(b.AppendedAt) &&
		bytes.Equal(a.Data, b.Data) && bytes.Equal(a.Extensions, b.Extensions)
}

// state is what a view holds; nil is a view that is not there.
type state []*raft.Log

func (s state) bounds() (first, last uint64) {
	if len(s) == 0 {
		return 0, 0
	}
	return s[0].Index, s[len(s)-1].Index
}

func (s state) same(other state) bool {
	if (s == nil) != (other == nil) || len(s) != len(other) {
		return false
	}
	for i := range s {
		if !sameEntry(s[i], other[i]) {
			return false
		}
	}
	return true
}

func (s state) String() string {
	if s == nil {
		return "none"
	}
	text := "["
	for _, e := range s {
		text += fmt.Sprintf(" %d/%d", e.Index, e.Term)
	}
	return text + " ]"
}

// readState reads a whole view.
func readState(l *Log, id ID) (state, error) {
	v, err := l.View(id)
	if err != nil {
		return nil, nil
	}
	first, last := v.bounds()
	s := state{}
	for i := first; i != 0 && i <= last; i++ {
		e := new(raft.Log)
		if err := v.GetLog(i, e); err != nil {
			return s, fmt.Errorf("replica %s holds %d to %d: get %d: %w", id, first, last, i, err)
		}
		s = append(s, e)
	}
	return s, nil
}
