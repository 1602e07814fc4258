package lru

import (
	"fmt"
	"testing"
)

// TestChangesFindWhatWasWarmed changes items in the order of their places, though some of
// these are passed over.
func TestChangesFindWhatWasWarmed(t *testing.T) {
	t.Parallel()
	c := New()
	var places []Place
	for i := range warmTogether {
		at := Place{uint16(i % 3), fmt.Appendf(nil, "key %d", i)}
		if i%8 != 2 { // the others are to be inserted
			c.Put(at.Slot, at.Key, Item{})
		}
		places = append(places, at)
	}
	c.Warm(places)
	for i, p := range places {
		if i%8 >= 8-(warmedAhead-1) {
			continue
		}
		if got, want := c.recall(p.Slot, p.Key), c.find(p.Slot, p.Key); got != want {
			t.Errorf("place %d: node %d, want %d", i, got, want)
		}
		c.Put(p.Slot, p.Key, Item{})
	}
	c.Warm(places)
	c.Remove(places[0].Slot, places[0].Key)
	if n := c.recall(places[1].Slot, places[1].Key); n != 0 {
		t.Errorf("a node is recalled though numbers have changed: %d", n)
	}
}
