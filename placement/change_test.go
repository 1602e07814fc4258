package placement_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/ringraft/ringraft/placement"
)

// checkChange asserts what all changes promise: the old map is as it was, and the
// epoch grows by one if and only if something differs. It returns a copy of the new
// map at the old epoch, for a look at the rest.
func checkChange(t *testing.T, before, after placement.Map, changed bool) placement.Map {
	t.Helper()
	if want := newMap(t, 3, 4, 3); !reflect.DeepEqual(before, want) {
		t.Errorf("the change wrote to the old map:\n%+v, want\n%+v", before, want)
	}
	want := before.Epoch
	if changed {
		want++
	}
	if after.Epoch != want {
		t.Errorf("epoch %d, want %d", after.Epoch, want)
	}
	if err := after.Check(); err != nil {
		t.Errorf("the change made a bad map: %v", err)
	}
	after.Epoch = before.Epoch
	if reflect.DeepEqual(before, after) == changed {
		t.Errorf("changed = %v is wrong: before and after are\n%+v\n%+v", changed, before, after)
	}
	return after
}

func TestWithNode(t *testing.T) {
	t.Parallel()
	moved := testNodes(3)[1]
	moved.Native = "10.9.9.9:7401"
	tests := map[string]struct {
		node    placement.Node
		want    []string // ids
		changed bool
	}{
		"the same again":   {testNodes(3)[1], []string{"n000", "n001", "n002"}, false},
		"new addresses":    {moved, []string{"n000", "n001", "n002"}, true},
		"first of all":     {placement.Node{ID: "a"}, []string{"a", "n000", "n001", "n002"}, true},
		"between two":      {placement.Node{ID: "n0011"}, []string{"n000", "n001", "n0011", "n002"}, true},
		"behind all":       {placement.Node{ID: "z"}, []string{"n000", "n001", "n002", "z"}, true},
		"new incarnations": {placement.Node{ID: "n002", Incarnation: "reborn"}, []string{"n000", "n001", "n002"}, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := newMap(t, 3, 4, 3)
			after := checkChange(t, before, before.WithNode(tt.node), tt.changed)
			var ids []string
			for _, n := range after.Nodes {
				ids = append(ids, n.ID)
			}
			if !slices.Equal(ids, tt.want) {
				t.Errorf("nodes %v, want %v", ids, tt.want)
			}
			if got, _ := after.Node(tt.node.ID); got != tt.node {
				t.Errorf("node %+v, want %+v", got, tt.node)
			}
		})
	}
}

func TestWithPreferred(t *testing.T) {
	t.Parallel()
	for place := range 3 {
		before := newMap(t, 3, 4, 3)
		order := slices.Clone(before.Groups[2].Replicas)
		after, err := before.WithPreferred(3, order[place].Node)
		if err != nil {
			t.Fatal(err)
		}
		after = checkChange(t, before, after, place > 0)
		want := slices.Insert(slices.Delete(slices.Clone(order), place, place+1), 0, order[place])
		if got := after.Groups[2].Replicas; !slices.Equal(got, want) {
			t.Errorf("prefer %s of %v: %v, want %v", order[place].Node, order, got, want)
		}
		after.Groups[2].Replicas = order
		if !reflect.DeepEqual(after, before) {
			t.Errorf("prefer %s: more changed than the order:\n%+v, want\n%+v", order[place].Node, after, before)
		}
	}
}

func TestWithPreferredRefuses(t *testing.T) {
	t.Parallel()
	m := newMap(t, 5, 1, 3)
	_, err := m.WithPreferred(2, "n000")
	wantRefusal(t, err, "group", "2 is not in the cluster")
	for _, n := range m.Nodes {
		if len(m.Replicas(n.ID)) == 0 {
			_, err := m.WithPreferred(1, n.ID)
			wantRefusal(t, err, "node", "has no replica of group 1")
		}
	}
}

func TestWithSetting(t *testing.T) {
	t.Parallel()
	before := newMap(t, 3, 4, 3)
	after, err := before.WithSetting("max-bytes", "1GiB")
	if err != nil {
		t.Fatal(err)
	}
	if got := checkChange(t, before, after, true).Settings.MaxBytes; got != 1<<30 {
		t.Errorf("max-bytes %d, want %d", got, 1<<30)
	}
	same, err := before.WithSetting("max-bytes", "256MiB")
	if err != nil {
		t.Fatal(err)
	}
	checkChange(t, before, same, false)
	refused, err := before.WithSetting("max-bytes", "1")
	wantRefusal(t, err, "max-bytes", "between 1MiB and 1PiB")
	checkChange(t, before, refused, false)
}
