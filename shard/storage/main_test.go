package storage

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/hashicorp/raft"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// testConfig has segments so small that a few entries of 1,000 bytes fill one.
func testConfig() Config {
	return Config{Node: "n1", SegmentBytes: 4096}
}

// eachLog runs a test with logs of every kind.
func eachLog(t *testing.T, test func(t *testing.T, cfg Config)) {
	t.Parallel()
	for _, kind := range LogKinds() {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			cfg := testConfig()
			cfg.Log = kind
			test(t, cfg)
		})
	}
}

func openDir(t *testing.T, path string) *Dir {
	t.Helper()
	return openDirWith(t, path, testConfig())
}

func openDirWith(t *testing.T, path string, cfg Config) *Dir {
	t.Helper()
	d, err := Open(path, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return d
}

func openReplica(t *testing.T, d *Dir) *Replica {
	t.Helper()
	r, err := d.OpenReplica(1, 1)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// entry returns the entry that belongs at an index, with about size bytes.
func entry(index, term uint64, size int) *raft.Log {
	data := bytes.Repeat([]byte{byte(index), byte(term)}, size/2)
	return &raft.Log{Index: index, Term: term, Data: append(data, fmt.Sprint(index, "/", term)...), Extensions: []byte{byte(index)}}
}

func store(t *testing.T, logs raft.LogStore, entries ...*raft.Log) {
	t.Helper()
	if err := logs.StoreLogs(entries); err != nil {
		t.Fatalf("store %d: %v", entries[0].Index, err)
	}
}

// wantEntry fails unless the log holds exactly this entry.
func wantEntry(t *testing.T, logs raft.LogStore, want *raft.Log) {
	t.Helper()
	var got raft.Log
	if err := logs.GetLog(want.Index, &got); err != nil {
		t.Fatalf("get %d: %v", want.Index, err)
	}
	if !sameEntry(&got, want) {
		t.Fatalf("entry %d: got term %d, %d bytes; want term %d, %d bytes", want.Index, got.Term, len(got.Data), want.Term, len(want.Data))
	}
}

func sameEntry(a, b *raft.Log) bool {
	return a.Index == b.Index && a.Term == b.Term && a.Type == b.Type && bytes.Equal(a.Data, b.Data) && bytes.Equal(a.Extensions, b.Extensions)
}

func wantRange(t *testing.T, logs raft.LogStore, first, last uint64) {
	t.Helper()
	f, err := logs.FirstIndex()
	if err != nil {
		t.Fatal(err)
	}
	l, err := logs.LastIndex()
	if err != nil {
		t.Fatal(err)
	}
	if f != first || l != last {
		t.Fatalf("log holds [%d, %d], want [%d, %d]", f, l, first, last)
	}
}
