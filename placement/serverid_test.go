package placement_test

import (
	"math"
	"strings"
	"testing"

	"github.com/ringraft/ringraft/placement"
)

func TestCheckNodeID(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"a", "n1", "Node-1.rack_2", "..", strings.Repeat("x", 64)} {
		if err := placement.CheckNodeID(id); err != nil {
			t.Errorf("CheckNodeID(%q): %v", id, err)
		}
	}
	for _, id := range []string{"", strings.Repeat("x", 65)} {
		wantRefusal(t, placement.CheckNodeID(id), "node id", "1 to 64")
	}
	for _, id := range []string{"a/b", "a b", "ä", "a\x00", "a\xff", "a:1", "a=b", "a,b"} {
		wantRefusal(t, placement.CheckNodeID(id), "node id", "A-Z, a-z, 0-9")
	}
}

func TestServerID(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		replica placement.Replica
		group   uint64
	}{
		"n1/0/1":         {placement.Replica{Node: "n1", Generation: 1}, 0},
		"a.b-c_D/12/345": {placement.Replica{Node: "a.b-c_D", Generation: 345}, 12},
		"n1/18446744073709551615/18446744073709551615": {placement.Replica{Node: "n1", Generation: math.MaxUint64}, math.MaxUint64},
	}
	for want, tt := range tests {
		if got := tt.replica.ServerID(tt.group); got != want {
			t.Errorf("%+v of group %d: %q, want %q", tt.replica, tt.group, got, want)
		}
		node, group, generation, err := placement.ParseServerID(want)
		if err != nil || node != tt.replica.Node || group != tt.group || generation != tt.replica.Generation {
			t.Errorf("ParseServerID(%q) = %q, %d, %d, %v", want, node, group, generation, err)
		}
	}
}

func TestParseServerIDRefuses(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"":                          "node/group/generation",
		"n1":                        "node/group/generation",
		"n1/1":                      "node/group/generation",
		"/1/1":                      "node id",
		"n 1/1/1":                   "node id",
		"n1//1":                     "group",
		"n1/x/1":                    "group",
		"n1/01/1":                   "group",
		"n1/+1/1":                   "group",
		"n1/-1/1":                   "group",
		"n1/18446744073709551616/1": "group",
		"n1/1/":                     "generation",
		"n1/1/00":                   "generation",
		"n1/1/1/":                   "generation",
		"n1/1/1/1":                  "generation",
	}
	for s, want := range tests {
		node, group, generation, err := placement.ParseServerID(s)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseServerID(%q): err = %v, want one about the %s", s, err, want)
		}
		if node != "" || group != 0 || generation != 0 {
			t.Errorf("ParseServerID(%q) = %q, %d, %d with an error", s, node, group, generation)
		}
	}
}

// Two texts never name the same replica.
func FuzzParseServerID(f *testing.F) {
	for _, s := range []string{"", "n1/0/1", "a.b-c_D/12/345", "n1/01/1", "n1/1/1/1", "//", "n1/18446744073709551616/1", "\xff/1/1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		node, group, generation, err := placement.ParseServerID(s)
		if err != nil {
			if len(err.Error()) > 700 {
				t.Fatalf("an error of %d bytes", len(err.Error()))
			}
			return
		}
		if again := (placement.Replica{Node: node, Generation: generation}).ServerID(group); again != s {
			t.Fatalf("%q was read as %q", s, again)
		}
	})
}
