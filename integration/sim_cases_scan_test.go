package integration

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ringraft/ringraft/op"
)

// scanAll scans all slots in pages of limit keys and counts how often each key was
// found. It calls between after every page, and fails the test if there is no end.
func (c *simCluster) scanAll(prefix string, limit int, level op.Level, between func(page int)) map[string]int {
	c.t.Helper()
	found := map[string]int{}
	m := c.clusterMap()
	pages := 0
	for slot := 0; slot < op.Slots; {
		last := m.Run(uint16(slot))
		for cursor := op.ScanCursor(uint16(slot), nil); len(cursor) > 0; pages++ {
			res := c.do(op.Scan{Prefix: []byte(prefix), Cursor: cursor, Last: last, Limit: limit}, level)
			for _, item := range res.Items {
				found[string(item.Key)]++
			}
			if cursor = res.Next; pages > 20_000 {
				c.t.Fatalf("the scan goes on after %d pages", pages)
			}
			between(pages)
		}
		slot = int(last) + 1
	}
	return found
}

// TestSimScanOverAFailoverFindsEveryKeyThatStays, once each, while others come and go,
// with cursors that one leader gave and the next one takes.
func TestSimScanOverAFailoverFindsEveryKeyThatStays(t *testing.T) {
	for _, level := range []op.Level{op.Local, op.Linearizable} {
		t.Run(level.String(), func(t *testing.T) {
			simulate(t, 2, func(t *testing.T, c *simCluster) {
				const stay = 3000
				for i := range stay {
					c.do(op.Set{Key: fmt.Appendf(nil, "stays-%d", i)}, op.Local)
				}
				c.checkDigests() // so that no replica lacks one of them
				comes := 0
				found := c.scanAll("", 10, level, func(page int) {
					for range 3 {
						comes++
						c.do(op.Set{Key: fmt.Appendf(nil, "comes-%d", comes%500)}, op.Local)
						c.do(op.Delete{Key: fmt.Appendf(nil, "comes-%d", (comes+250)%500)}, op.Local)
					}
					switch page {
					case 60, 200: // in the middle of each group
						victim := c.leader(c.clusterMap().GroupOf(op.SlotOf(fmt.Appendf(nil, "stays-%d", page))))
						c.halt(victim)
						c.doAmong(c.without(victim), op.Set{Key: []byte("comes-0")}, op.Local)
						defer c.restart(victim)
					}
				})
				for i := range stay {
					if key := fmt.Sprintf("stays-%d", i); found[key] != 1 {
						t.Errorf("%s was found %d times, want once", key, found[key])
					}
				}
			})
		})
	}
}

func TestSimScanEndsWhateverHappensMeanwhile(t *testing.T) {
	simulate(t, 1, func(t *testing.T, c *simCluster) {
		fill := func() {
			for i := range 2000 {
				c.do(op.Set{Key: fmt.Appendf(nil, "k%d", i)}, op.Local)
			}
		}
		fill()
		c.do(op.Set{Key: []byte("*?[a]\\ only")}, op.Local)
		if found := c.scanAll("*?[", 10, op.Linearizable, func(int) {}); len(found) != 1 || found["*?[a]\\ only"] != 1 {
			t.Errorf("a prefix of one key in 2000: found %v", found)
		}
		c.scanAll("", 10, op.Linearizable, func(page int) {
			if page == 50 {
				for i := range 2000 {
					c.do(op.Delete{Key: fmt.Appendf(nil, "k%d", i)}, op.Local)
				}
			}
		})
		fill()
		c.scanAll("", 10, op.Linearizable, func(page int) { // it must not run after keys that are added behind it
			c.do(op.Set{Key: fmt.Appendf(nil, "more-%d", page)}, op.Local)
		})
		for i := range 2000 {
			c.do(op.Expire{Key: fmt.Appendf(nil, "k%d", i), TTL: 1000}, op.Local)
		}
		found := c.scanAll("k", 10, op.Linearizable, func(page int) {
			if page == 0 {
				time.Sleep(2 * time.Second)
			}
		})
		if len(found) > 10 {
			t.Errorf("%d keys were found of which all but a page had expired", len(found))
		}
	})
}

// TestSimCursorsThatNobodyGave are refused by name, or end like any other.
func TestSimCursorsThatNobodyGave(t *testing.T) {
	simulate(t, 1, func(t *testing.T, c *simCluster) {
		c.do(op.Set{Key: []byte("k")}, op.Local)
		c.readFromTheStart("n1", []byte("k"), "")
		for name, tc := range map[string]struct {
			cursor []byte
			limit  int
			field  string // at fault; "" if it is none
		}{
			"none":                 {nil, 10, "cursor"},
			"half a slot":          {[]byte{1}, 10, "cursor"},
			"a slot too high":      {op.ScanCursor(op.Slots, nil), 10, "cursor"},
			"the highest number":   {[]byte{0xff, 0xff, 0xff}, 10, "cursor"},
			"too long":             {op.ScanCursor(0, make([]byte, op.MaxKey+1)), 10, "cursor"},
			"the longest key":      {op.ScanCursor(0, []byte(strings.Repeat("\xff", op.MaxKey))), 10, ""},
			"of another slot":      {op.ScanCursor(77, []byte("k")), 10, ""},
			"a page of nothing":    {op.ScanCursor(0, nil), 0, "limit"},
			"less than nothing":    {op.ScanCursor(0, nil), -1, "limit"},
			"more than can be":     {op.ScanCursor(0, nil), op.MaxKeys + 1, "limit"},
			"far more than can be": {op.ScanCursor(0, nil), 1 << 62, "limit"},
		} {
			res := c.at("n1", op.Scan{Cursor: tc.cursor, Last: op.Slots - 1, Limit: tc.limit}, op.Local)
			if (res.Err == nil) != (tc.field == "") || res.Err != nil && res.Err.Field != tc.field {
				t.Errorf("%s: %v, want %q at fault", name, res.Err, tc.field)
			}
		}
		if res := c.do(op.Get{Key: []byte("k")}, op.Linearizable); !res.Found {
			t.Error("the key is gone")
		}
	})
}
