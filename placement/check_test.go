package placement_test

import (
	"strings"
	"testing"

	"github.com/ringraft/ringraft/placement"
)

func TestCheckRefuses(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		damage       func(*placement.Map)
		field, bound string
	}{
		"no cluster id":        {func(m *placement.Map) { m.Cluster = "" }, "cluster", "1 to 128"},
		"no epoch":             {func(m *placement.Map) { m.Epoch = 0 }, "epoch", "at least 1"},
		"no feature level":     {func(m *placement.Map) { m.FeatureLevel = 0 }, "feature level", "at least 1"},
		"no nodes":             {func(m *placement.Map) { m.Nodes = nil }, "nodes", "1 to 256"},
		"too many nodes":       {func(m *placement.Map) { m.Nodes = testNodes(257) }, "nodes", "1 to 256"},
		"nodes out of order":   {func(m *placement.Map) { m.Nodes[0], m.Nodes[1] = m.Nodes[1], m.Nodes[0] }, "nodes", "ascend"},
		"a node twice":         {func(m *placement.Map) { m.Nodes[1] = m.Nodes[0] }, "nodes", "twice"},
		"a bad node id":        {func(m *placement.Map) { m.Nodes[2].ID = "n2/0/1" }, "node id", "character"},
		"no groups":            {func(m *placement.Map) { m.Groups = nil }, "groups", "1 to 1024"},
		"too many groups":      {func(m *placement.Map) { m.Groups = make([]placement.Group, 1025) }, "groups", "1 to 1024"},
		"the meta group":       {func(m *placement.Map) { m.Groups[0].ID = 0 }, "groups", "from 1 on"},
		"groups out of order":  {func(m *placement.Map) { m.Groups[0], m.Groups[1] = m.Groups[1], m.Groups[0] }, "groups", "ascend"},
		"a group twice":        {func(m *placement.Map) { m.Groups[1].ID = 1 }, "groups", "ascend"},
		"no replicas":          {func(m *placement.Map) { m.Groups[1].Replicas = nil }, "replicas", "1 to 7"},
		"too many replicas":    {func(m *placement.Map) { m.Groups[1].Replicas = make([]placement.Replica, 8) }, "replicas", "1 to 7"},
		"an unknown node":      {func(m *placement.Map) { m.Groups[1].Replicas[2].Node = "stranger" }, "replicas", `"stranger"`},
		"two on a node":        {func(m *placement.Map) { m.Groups[1].Replicas[2].Node = m.Groups[1].Replicas[0].Node }, "replicas", "two on node"},
		"no generation":        {func(m *placement.Map) { m.Groups[1].Replicas[2].Generation = 0 }, "replicas", "at least 1"},
		"a slot short":         {func(m *placement.Map) { m.Slots = m.Slots[1:] }, "slots", "must be 4096"},
		"a slot too many":      {func(m *placement.Map) { m.Slots = append(m.Slots, 1) }, "slots", "must be 4096"},
		"a slot of nobody":     {func(m *placement.Map) { m.Slots[17] = 0 }, "slots", "17 belongs to group 0"},
		"a slot of a stranger": {func(m *placement.Map) { m.Slots[4095] = 5 }, "slots", "4095 belongs to group 5"},
		"max-bytes":            {func(m *placement.Map) { m.Settings.MaxBytes = 1<<20 - 1 }, "max-bytes", "between 1MiB and 1PiB"},
		"max-value-bytes":      {func(m *placement.Map) { m.Settings.MaxValueBytes = 0 }, "max-value-bytes", "between 1 and 16MiB"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMap(t, 3, 4, 3)
			if err := m.Check(); err != nil {
				t.Fatalf("the undamaged map: %v", err)
			}
			tt.damage(&m)
			wantRefusal(t, m.Check(), tt.field, tt.bound)
		})
	}
}

// Decoders hand over whatever they were sent: an error must not repeat all of it.
func TestCheckKeepsErrorsShort(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1<<16)
	nodes, replicas := newMap(t, 3, 4, 3), newMap(t, 3, 4, 3)
	nodes.Nodes[0].ID = long
	replicas.Groups[0].Replicas[0].Node = long
	for _, m := range []placement.Map{nodes, replicas} {
		if err := m.Check(); err == nil || len(err.Error()) > 300 {
			t.Errorf("err = %.400v, want a short one", err)
		}
	}
}
