package shard

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"
	"testing"

	"github.com/hashicorp/raft"

	"github.com/ringraft/ringraft/op"
	"github.com/ringraft/ringraft/placement"
	"github.com/ringraft/ringraft/shard/storage"
)

// fuzzedMap returns a map of three nodes and two groups.
func fuzzedMap(tb testing.TB) placement.Map {
	tb.Helper()
	nodes := []placement.Node{{ID: "n1", Incarnation: "a"}, {ID: "n2", Incarnation: "b"}, {ID: "n3", Incarnation: "c"}}
	m, err := placement.New("c", nodes, 2, 3, placement.Settings{MaxBytes: op.DefaultMaxBytes, MaxValueBytes: op.DefaultMaxValue})
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

// seedDocuments adds the document of every kind of call, of the map and of its changes.
func seedDocuments(f *testing.F) {
	m := fuzzedMap(f)
	for _, v := range []any{
		greeting{Node: "n1", Incarnation: "a", Members: map[string]string{"n1": "a"}, Init: []string{"n1"}},
		digestQuestion{}, digestAnswer{}, touchRequest{Group: 1, Keys: [][]byte{[]byte("k")}},
		proposal{Epoch: 3, Kind: op.KindInvalid, Field: "f", Text: "t"}, op.Transfer{Group: 1, To: "n2"}, op.NodeStatus{},
		m, metaCommand{Init: &m}, metaCommand{Node: &m.Nodes[0]},
		metaCommand{Setting: &setting{"max-bytes", "9MiB"}}, metaCommand{Prefer: &preference{1, "n2"}},
	} {
		f.Add(op.EncodeDetail(v))
	}
	f.Add(bytes.Repeat([]byte{0x81, 0xa1, 'x'}, 1000)) // deep
	f.Add([]byte{0x81, 0xa4, 'k', 'e', 'y', 's', 0xdd, 0xff, 0xff, 0xff, 0xff})
}

// FuzzHandleCall: whatever a node sends, known or not, is answered or refused by one
// that is just starting, and never takes it down.
func FuzzHandleCall(f *testing.F) {
	seedDocuments(f)
	store, err := storage.NewMemory(storage.Config{Node: "n1"}, nil)
	if err != nil {
		f.Fatal(err)
	}
	n, err := New(Config{ID: "n1", Native: "n1:1", Peer: "n1:2", Store: store, Init: []Member{{"n1", "n1:2"}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, document []byte) {
		for kind := range callServe + 2 {
			for _, member := range []bool{false, true} {
				b, err := n.HandleCall(t.Context(), Caller{Node: "n2", Member: member}, append([]byte{byte(kind)}, document...))
				if (b == nil) == (err == nil) {
					t.Fatalf("kind %d: answer %v, err %v; want one of them", kind, b, err)
				}
			}
		}
	})
}

// FuzzMetaCommand: any entry of the meta group's log leaves a map that is valid, and
// changes its epoch or nothing.
func FuzzMetaCommand(f *testing.F) {
	seedDocuments(f)
	f.Fuzz(func(t *testing.T, entry []byte) {
		fsm := newMetaFSM(func(placement.Map) {})
		first := fuzzedMap(t)
		fsm.set(first, 1, true)
		fsm.Apply(&raft.Log{Type: raft.LogCommand, Index: 2, Data: entry})
		after := fsm.Map()
		if err := after.Check(); err != nil {
			t.Fatalf("the map is %v", err)
		}
		if after.Epoch == first.Epoch && !bytes.Equal(op.EncodeDetail(after), op.EncodeDetail(first)) {
			t.Fatal("the map changed, and its epoch did not")
		}
	})
}

// FuzzMetaSnapshot: a body with a checksum that is right is a valid map or refused.
func FuzzMetaSnapshot(f *testing.F) {
	seedDocuments(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		b := binary.BigEndian.AppendUint64([]byte(metaMagic), 7)
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(body))), body...)
		b = binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
		fsm := newMetaFSM(func(placement.Map) {})
		fsm.set(fuzzedMap(t), 1, true)
		before := fsm.Map()
		if fsm.Restore(io.NopCloser(bytes.NewReader(b))) != nil {
			if !bytes.Equal(op.EncodeDetail(fsm.Map()), op.EncodeDetail(before)) {
				t.Fatal("a refused snapshot changed the map")
			}
			return
		}
		if m := fsm.Map(); m.Epoch != 0 && m.Check() != nil {
			t.Fatalf("restored a map that is %v", m.Check())
		}
	})
}
