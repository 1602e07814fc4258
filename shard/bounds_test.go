package shard

import (
	"testing"

	"github.com/ringraft/ringraft/op"
	"github.com/ringraft/ringraft/placement"
)

// placement may not import op, so what both must agree on is held together here.
func TestPlacementAgreesWithTheVocabulary(t *testing.T) {
	if op.Slots != placement.Slots {
		t.Errorf("op has %d slots, placement %d", op.Slots, placement.Slots)
	}
	m, err := placement.New("c", []placement.Node{{ID: "n1", Incarnation: "i", Peer: "p:1"}}, 1, 1, placement.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	if s := m.Settings; s.MaxBytes != op.DefaultMaxBytes || s.MaxValueBytes != op.DefaultMaxValue {
		t.Errorf("default settings %+v, want %d and %d", s, op.DefaultMaxBytes, op.DefaultMaxValue)
	}
	for name, bound := range map[string]struct{ good, bad int64 }{
		"max-bytes":       {op.MinMaxBytes, op.MinMaxBytes - 1},
		"max-value-bytes": {op.MaxValueLimit, op.MaxValueLimit + 1},
	} {
		if _, err := m.WithSetting(name, placement.FormatSize(bound.good)); err != nil {
			t.Errorf("%s %d: %v", name, bound.good, err)
		}
		if _, err := m.WithSetting(name, placement.FormatSize(bound.bad)); err == nil {
			t.Errorf("%s %d is allowed", name, bound.bad)
		}
	}
}
