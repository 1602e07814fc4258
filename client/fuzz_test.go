package client

import (
	"testing"

	"github.com/ringraft/ringraft/op"
	"github.com/ringraft/ringraft/placement"
)

// FuzzDecodeMap: a cluster map that a node sends is refused, or routes every slot to a
// group with replicas on nodes that it names.
func FuzzDecodeMap(f *testing.F) {
	nodes := []placement.Node{{ID: "n1", Incarnation: "a"}, {ID: "n2", Incarnation: "b"}, {ID: "n3", Incarnation: "c"}}
	m, err := placement.New("c", nodes, 2, 3, placement.Settings{MaxBytes: op.DefaultMaxBytes, MaxValueBytes: op.DefaultMaxValue})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(op.EncodeDetail(m))
	m.Nodes = m.Nodes[:1]
	f.Add(op.EncodeDetail(m))
	f.Add([]byte{})
	f.Add([]byte{0xdd, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, detail []byte) {
		m, err := decodeMap(detail)
		if err != nil || m.Epoch == 0 {
			return
		}
		for slot := range uint16(op.Slots) {
			g, ok := m.Group(m.GroupOf(slot))
			if !ok || len(g.Replicas) == 0 {
				t.Fatalf("slot %d belongs to group %d, of which the map has %v", slot, m.GroupOf(slot), g)
			}
			for _, r := range g.Replicas {
				if _, ok := m.Node(r.Node); !ok {
					t.Fatalf("group %d has a replica on %q, which the map does not name", g.ID, r.Node)
				}
			}
		}
	})
}
