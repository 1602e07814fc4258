package lru

import (
	"errors"
	"strings"
	"testing"
)

func TestRestoreRefuses(t *testing.T) {
	t.Parallel()
	ref := func(slot uint16, key string, stamp uint64) Ref {
		return Ref{Slot: slot, Key: []byte(key), Item: Item{Stamp: stamp}}
	}
	tests := []struct {
		behaviour string
		refs      []Ref
		want      string // part of the error, "" if there is none
	}{
		{"nothing to restore", nil, ""},
		{"stamps up to the cache's in any order", []Ref{ref(1, "a", 9), ref(1, "b", 1)}, ""},
		{"one key in two slots", []Ref{ref(1, "a", 1), ref(2, "a", 2)}, ""},
		{"one key twice in a slot", []Ref{ref(1, "a", 1), ref(1, "a", 2)}, `item 1, key "a" of slot 1: the key comes twice`},
		{"stamp zero", []Ref{ref(1, "a", 0)}, `item 0, key "a" of slot 1: stamp 0 is not within 1 and 9`},
		{"a stamp over the cache's", []Ref{ref(1, "a", 10)}, "stamp 10 is not within 1 and 9"},
		{"one stamp twice", []Ref{ref(1, "a", 3), ref(4, "b", 2), ref(2, "c", 3)}, "both have stamp 3"},
		{"one stamp twice, once protected",
			[]Ref{ref(1, "a", 3), {Slot: 1, Key: []byte("b"), Item: Item{Stamp: 3, Protected: true}}}, "both have stamp 3"},
	}
	for _, test := range tests {
		t.Run(test.behaviour, func(t *testing.T) {
			t.Parallel()
			c, err := Restore(9, whole(test.refs))
			if test.want == "" {
				if err != nil || c.Len() != len(test.refs) || c.Stamp() != 9 {
					t.Errorf("Restore: %v, %v, want a cache of %d at stamp 9", c, err, len(test.refs))
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), test.want) || c != nil {
				t.Errorf("Restore: %v, %v, want an error with %q", c, err, test.want)
			}
		})
	}
}

func TestRestorePassesOnAnError(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	_, err := Restore(9, func(yield func(Ref, error) bool) {
		if yield(Ref{Key: []byte("a"), Item: Item{Stamp: 1}}, nil) && yield(Ref{}, broken) {
			t.Error("Restore goes on after an error")
		}
	})
	if !errors.Is(err, broken) {
		t.Errorf("Restore: %v, want %v", err, broken)
	}
}
