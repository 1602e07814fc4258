package placement_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/ringraft/ringraft/placement"
	"pgregory.net/rapid"
)

// newMap returns the map of a new cluster with nodes n000, n001 and so on.
func newMap(t testing.TB, nodes, groups, replicas int) placement.Map {
	t.Helper()
	m, err := placement.New("c1", testNodes(nodes), groups, replicas, placement.Settings{})
	if err != nil {
		t.Fatalf("New(%d nodes, %d groups, %d replicas): %v", nodes, groups, replicas, err)
	}
	return m
}

func testNodes(n int) []placement.Node {
	nodes := make([]placement.Node, n)
	for i := range nodes {
		nodes[i] = placement.Node{
			ID:          fmt.Sprintf("n%03d", i),
			Incarnation: fmt.Sprintf("born-%d", i),
			Native:      fmt.Sprintf("10.0.0.%d:7401", i),
			Peer:        fmt.Sprintf("10.0.0.%d:7411", i),
		}
	}
	return nodes
}

// wantRefusal fails unless err is a FieldError that names field and says bound.
func wantRefusal(t *testing.T, err error, field, bound string) {
	t.Helper()
	var refusal *placement.FieldError
	if !errors.As(err, &refusal) || refusal.Field != field || !strings.Contains(refusal.Message, bound) {
		t.Errorf("err = %v, want one of field %q that says %q", err, field, bound)
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("n", 65)
	tests := map[string]struct {
		cluster          string
		nodes            []placement.Node
		groups, replicas int
		settings         placement.Settings
		field, bound     string
	}{
		"no cluster id":      {cluster: "", nodes: testNodes(3), groups: 4, replicas: 3, field: "cluster", bound: "1 to 128"},
		"a long cluster id":  {cluster: strings.Repeat("c", 129), nodes: testNodes(3), groups: 4, replicas: 3, field: "cluster", bound: "1 to 128"},
		"no nodes":           {cluster: "c1", groups: 4, replicas: 3, field: "nodes", bound: "1 to 256"},
		"too many nodes":     {cluster: "c1", nodes: testNodes(257), groups: 4, replicas: 3, field: "nodes", bound: "1 to 256"},
		"a node twice":       {cluster: "c1", nodes: append(testNodes(3), testNodes(1)...), groups: 4, replicas: 3, field: "nodes", bound: "n000 is there twice"},
		"a long node id":     {cluster: "c1", nodes: []placement.Node{{ID: long}}, groups: 4, replicas: 3, field: "node id", bound: "1 to 64"},
		"no groups":          {cluster: "c1", nodes: testNodes(3), groups: 0, replicas: 3, field: "groups", bound: "1 and 1024"},
		"too many groups":    {cluster: "c1", nodes: testNodes(3), groups: 1025, replicas: 3, field: "groups", bound: "1 and 1024"},
		"no replicas":        {cluster: "c1", nodes: testNodes(3), groups: 4, replicas: 0, field: "replicas", bound: "1 and 7"},
		"an even number":     {cluster: "c1", nodes: testNodes(3), groups: 4, replicas: 2, field: "replicas", bound: "odd"},
		"too many replicas":  {cluster: "c1", nodes: testNodes(9), groups: 4, replicas: 9, field: "replicas", bound: "1 and 7"},
		"settings too small": {cluster: "c1", nodes: testNodes(3), groups: 4, replicas: 3, settings: placement.Settings{MaxBytes: 1}, field: "max-bytes", bound: "1MiB"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, err := placement.New(tt.cluster, tt.nodes, tt.groups, tt.replicas, tt.settings)
			wantRefusal(t, err, tt.field, tt.bound)
			if !reflect.DeepEqual(m, placement.Map{}) {
				t.Errorf("a map came with the error: %+v", m)
			}
		})
	}
}

func TestNewFillsTheMap(t *testing.T) {
	t.Parallel()
	m := newMap(t, 3, 4, 3)
	if m.Cluster != "c1" || m.Epoch != 1 || m.FeatureLevel != 1 {
		t.Errorf("cluster %q, epoch %d, feature level %d; want c1, 1, 1", m.Cluster, m.Epoch, m.FeatureLevel)
	}
	if want := (placement.Settings{MaxBytes: 256 << 20, MaxValueBytes: 1 << 20}); m.Settings != want {
		t.Errorf("settings %+v, want the defaults %+v", m.Settings, want)
	}
	if !slices.Equal(m.Nodes, testNodes(3)) {
		t.Errorf("nodes %+v, want those given", m.Nodes)
	}
	for i, g := range m.Groups {
		if g.ID != uint64(i)+1 {
			t.Errorf("group at %d has id %d, want %d", i, g.ID, i+1)
		}
		for _, r := range g.Replicas {
			if r.Generation != 1 {
				t.Errorf("group %d: replica on %s has generation %d, want 1", g.ID, r.Node, r.Generation)
			}
		}
	}
}

func TestNewUsesAllNodesWhereReplicasExceedThem(t *testing.T) {
	t.Parallel()
	for nodes := 1; nodes <= 8; nodes++ {
		for _, replicas := range []int{1, 3, 5, 7} {
			for _, g := range newMap(t, nodes, 5, replicas).Groups {
				if got, want := len(g.Replicas), min(nodes, replicas); got != want {
					t.Errorf("%d nodes, %d replicas: group %d has %d, want %d", nodes, replicas, g.ID, got, want)
				}
			}
		}
	}
}

// A map depends on the set of nodes, not on their order.
func TestNewIsDeterministic(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SliceOfNDistinct(rapid.StringMatching(`[A-Za-z0-9._-]{1,12}`), 1, 12, rapid.ID).Draw(t, "ids")
		groups := rapid.IntRange(1, 40).Draw(t, "groups")
		replicas := rapid.SampledFrom([]int{1, 3, 5, 7}).Draw(t, "replicas")
		var nodes []placement.Node
		for _, id := range ids {
			nodes = append(nodes, placement.Node{ID: id})
		}
		a, errA := placement.New("c1", nodes, groups, replicas, placement.Settings{})
		slices.Reverse(nodes)
		b, errB := placement.New("c1", nodes, groups, replicas, placement.Settings{})
		if err := errors.Join(errA, errB, a.Check()); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(a, b) {
			t.Fatalf("the order of nodes changed the map:\n%+v\n%+v", a, b)
		}
	})
}

func TestNewLeavesItsInputAlone(t *testing.T) {
	t.Parallel()
	nodes := testNodes(3)
	slices.Reverse(nodes)
	m, err := placement.New("c1", nodes, 4, 3, placement.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	if nodes[0].ID != "n002" {
		t.Errorf("New sorted the caller's nodes: %+v", nodes)
	}
	nodes[0].ID = "overwritten"
	if !slices.Equal(m.Nodes, testNodes(3)) {
		t.Errorf("the map shares the caller's nodes: %+v", m.Nodes)
	}
}

func TestLookups(t *testing.T) {
	t.Parallel()
	m := newMap(t, 5, 7, 3)
	for _, want := range m.Nodes {
		if got, ok := m.Node(want.ID); !ok || got != want {
			t.Errorf("Node(%q) = %+v, %v", want.ID, got, ok)
		}
	}
	for _, want := range m.Groups {
		if got, ok := m.Group(want.ID); !ok || !reflect.DeepEqual(got, want) {
			t.Errorf("Group(%d) = %+v, %v", want.ID, got, ok)
		}
	}
	for _, id := range []string{"", "n", "n005", "zzz"} {
		if got, ok := m.Node(id); ok || got != (placement.Node{}) {
			t.Errorf("Node(%q) = %+v, %v, want none", id, got, ok)
		}
	}
	for _, id := range []uint64{0, 8, 1 << 63} {
		if got, ok := m.Group(id); ok || got.ID != 0 || got.Replicas != nil {
			t.Errorf("Group(%d) = %+v, %v, want none", id, got, ok)
		}
	}
}

func TestReplicasOfNode(t *testing.T) {
	t.Parallel()
	m := newMap(t, 5, 7, 3)
	total := 0
	for _, n := range m.Nodes {
		groups := m.Replicas(n.ID)
		total += len(groups)
		if !slices.IsSorted(groups) {
			t.Errorf("Replicas(%s) = %v, want ascending", n.ID, groups)
		}
		for _, id := range groups {
			g, _ := m.Group(id)
			if !slices.ContainsFunc(g.Replicas, func(r placement.Replica) bool { return r.Node == n.ID }) {
				t.Errorf("Replicas(%s) names group %d, whose replicas are %v", n.ID, id, g.Replicas)
			}
		}
	}
	if total != 7*3 {
		t.Errorf("the nodes have %d replicas in all, want %d", total, 7*3)
	}
	if got := m.Replicas("stranger"); got != nil {
		t.Errorf("Replicas(stranger) = %v, want none", got)
	}
}

func TestRunsCoverAllSlots(t *testing.T) {
	t.Parallel()
	m := newMap(t, 3, 4, 3)
	for slot := 0; slot < placement.Slots; {
		last := int(m.Run(uint16(slot)))
		for i := slot; i <= last; i++ {
			if m.GroupOf(uint16(i)) != m.GroupOf(uint16(slot)) {
				t.Fatalf("Run(%d) = %d, but slot %d has another owner", slot, last, i)
			}
		}
		if last+1 < placement.Slots && m.GroupOf(uint16(last+1)) == m.GroupOf(uint16(slot)) {
			t.Fatalf("Run(%d) = %d, but slot %d has the same owner", slot, last, last+1)
		}
		slot = last + 1
	}
}

func TestZeroMapOwnsNothing(t *testing.T) {
	t.Parallel()
	var m placement.Map
	if got := m.GroupOf(17); got != 0 {
		t.Errorf("GroupOf(17) = %d, want 0", got)
	}
	if got := newMap(t, 1, 1, 1).GroupOf(placement.Slots); got != 0 {
		t.Errorf("GroupOf(%d) = %d, want 0", placement.Slots, got)
	}
	if got := m.Run(17); got != 17 {
		t.Errorf("Run(17) = %d, want 17", got)
	}
	if m.Check() == nil {
		t.Error("Check accepts the zero map")
	}
}

// Maps are stored and sent by these names: to change one is to lose the field.
func TestFieldNamesOnTheWire(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		value any
		want  []string
	}{
		"map":      {placement.Map{}, []string{"cluster", "epoch", "feature_level", "nodes", "groups", "slots", "settings"}},
		"node":     {placement.Node{}, []string{"id", "incarnation", "native", "peer"}},
		"group":    {placement.Group{}, []string{"id", "replicas"}},
		"replica":  {placement.Replica{}, []string{"node", "generation"}},
		"settings": {placement.Settings{}, []string{"max_bytes", "max_value_bytes"}},
	}
	for name, tt := range tests {
		var got []string
		for _, f := range reflect.VisibleFields(reflect.TypeOf(tt.value)) {
			got = append(got, f.Tag.Get("codec"))
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: fields %v, want %v", name, got, tt.want)
		}
	}
}
