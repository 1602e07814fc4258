package shard

import (
	"errors"
	"testing"

	"github.com/ringraft/ringraft/op"
	"github.com/ringraft/ringraft/placement"
	"github.com/ringraft/ringraft/shard/storage"
)

// placement may not import op, so what both must agree on is held together here.
func TestPlacementAgreesWithTheVocabulary(t *testing.T) {
	t.Parallel()
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

func TestNewClustersOfImpossibleShapesAreRefusedByName(t *testing.T) {
	t.Parallel()
	many := make([]Member, placement.MaxNodes+1)
	for name, tc := range map[string]struct {
		change func(*Config)
		field  string
	}{
		"too many groups":     {func(c *Config) { c.Groups = placement.MaxGroups + 1 }, "groups"},
		"fewer than no group": {func(c *Config) { c.Groups = -1 }, "groups"},
		"an even number":      {func(c *Config) { c.Replicas = 2 }, "replicas"},
		"too many replicas":   {func(c *Config) { c.Replicas = placement.MaxReplicas + 2 }, "replicas"},
		"too many members":    {func(c *Config) { c.Init = many }, "init"},
		"itself left out":     {func(c *Config) { c.Init = []Member{{ID: "n2", Peer: "p:2"}} }, "init"},
	} {
		store, err := storage.NewMemory(storage.Config{Node: "n1"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		cfg := Config{ID: "n1", Native: "n:1", Peer: "p:1", Store: store, Init: []Member{{ID: "n1", Peer: "p:1"}}}
		tc.change(&cfg)
		var refused *op.Error
		if _, err := New(cfg); !errors.As(err, &refused) || refused.Field != tc.field {
			t.Errorf("%s: %v, want a refusal that names %s", name, err, tc.field)
		}
	}
}
