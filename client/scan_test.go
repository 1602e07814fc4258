package client_test

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"testing"

	"github.com/ringraft/ringraft/client"
	"github.com/ringraft/ringraft/internal/fakenode"
	"github.com/ringraft/ringraft/op"
)

// fill stores n keys with the prefix and returns them, sorted.
func fill(t *testing.T, c *client.Client, prefix string, n int) []string {
	t.Helper()
	pairs := make([]client.Pair, n)
	keys := make([]string, n)
	for i := range n {
		keys[i] = prefix + strconv.Itoa(i)
		pairs[i] = client.Pair{Key: keys[i], Value: []byte("value of " + keys[i])}
	}
	must[[]client.Result](t)(c.SetMany(t.Context(), pairs))
	slices.Sort(keys)
	return keys
}

func TestScanFindsAllKeysWhileLeadersMove(t *testing.T) {
	t.Parallel()
	for _, level := range []client.Level{client.Local, client.Linearizable} {
		t.Run(level.String(), func(t *testing.T) {
			t.Parallel()
			nodes, c := start(t, fakenode.Config{})
			want := fill(t, c, "user/", 500)
			fill(t, c, "other/", 50)
			var found []string
			for e, err := range c.Scan(t.Context(), "user/", client.At(level), client.WithValues()) {
				if err != nil {
					t.Fatal(err)
				}
				if string(e.Bytes) != "value of "+e.Key || e.Version == 0 {
					t.Fatalf("entry %+v", e)
				}
				found = append(found, e.Key)
				if len(found) == 100 {
					for group := range uint64(4) {
						nodes.Lead(group+1, "n3")
					}
					nodes.Stop("n1")
				}
			}
			slices.Sort(found)
			if !slices.Equal(found, want) {
				t.Errorf("found %d keys, want %d, each once", len(found), len(want))
			}
		})
	}
}

func TestScanPages(t *testing.T) {
	t.Parallel()
	_, c := start(t, fakenode.Config{})
	want := fill(t, c, "k", 100)
	var found []string
	for cursor := ""; ; {
		page, next, err := c.ScanPage(t.Context(), "k", cursor, 7)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) != 7 && next != "" {
			t.Fatalf("a page of %d before the last one, want 7", len(page))
		}
		for _, e := range page {
			found = append(found, e.Key)
			if len(e.Bytes) > 0 {
				t.Errorf("%s came with a value that nobody asked for", e.Key)
			}
		}
		if cursor = next; cursor == "" {
			break
		}
	}
	slices.Sort(found)
	if !slices.Equal(found, want) {
		t.Errorf("found %d keys, want %d, each once", len(found), len(want))
	}
}

func TestScanPagesAreBoundedInBytes(t *testing.T) {
	t.Parallel()
	_, c := start(t, fakenode.Config{})
	pairs := make([]client.Pair, 12)
	for i := range pairs {
		pairs[i] = client.Pair{Key: strconv.Itoa(i), Value: make([]byte, 400<<10)}
	}
	must[[]client.Result](t)(c.SetMany(t.Context(), pairs))
	found := 0
	for cursor := ""; ; {
		page, next, err := c.ScanPage(t.Context(), "", cursor, 1000, client.WithValues())
		if err != nil {
			t.Fatal(err)
		}
		if len(page) > 6 { // 1 MiB, and at most as much again in the last answer
			t.Errorf("a page of %d × 400 KiB", len(page))
		}
		found += len(page)
		if cursor = next; cursor == "" {
			break
		}
	}
	if found != len(pairs) {
		t.Errorf("found %d keys, want %d", found, len(pairs))
	}
}

func TestScanOfAHashTagAsksOneSlot(t *testing.T) {
	t.Parallel()
	nodes, c := start(t, fakenode.Config{})
	want := fill(t, c, "{user7}/", 20)
	found := map[string]bool{}
	for e, err := range c.Scan(t.Context(), "{user7}") {
		if err != nil {
			t.Fatal(err)
		}
		found[e.Key] = true
	}
	if got := slices.Sorted(maps.Keys(found)); !slices.Equal(got, want) {
		t.Errorf("found %v, want %v", got, want)
	}
	if n := nodes.Served(op.CodeScan); n != 1 {
		t.Errorf("%d requests, want 1", n)
	}
}

func TestScanRefusesWhatIsOutOfBounds(t *testing.T) {
	t.Parallel()
	_, c := start(t, fakenode.Config{})
	for name, tc := range map[string]struct {
		prefix, cursor string
		limit          int
		field          string
	}{
		"no limit":             {limit: 0, field: "limit"},
		"negative limit":       {limit: -1, field: "limit"},
		"limit too high":       {limit: op.MaxKeys + 1, field: "limit"},
		"cursor no base64":     {limit: 1, cursor: "!", field: "cursor"},
		"cursor too short":     {limit: 1, cursor: "AA", field: "cursor"},
		"cursor beyond slots":  {limit: 1, cursor: "__8", field: "cursor"},
		"cursor of other scan": {limit: 1, prefix: "{tag}", cursor: "AAA", field: "cursor"},
		"prefix too long":      {limit: 1, prefix: string(make([]byte, op.MaxKey+1)), field: "prefix"},
	} {
		_, _, err := c.ScanPage(t.Context(), tc.prefix, tc.cursor, tc.limit)
		var e *op.Error
		if !errors.As(err, &e) || e.Field != tc.field || !errors.Is(err, client.ErrRefused) {
			t.Errorf("%s: err = %v, want a refusal that names %s", name, err, tc.field)
		}
	}
}

func TestScanStopsWithTheLoop(t *testing.T) {
	t.Parallel()
	_, c := start(t, fakenode.Config{})
	fill(t, c, "k", 10)
	n := 0
	for range c.Scan(t.Context(), "") {
		if n++; n == 3 {
			break
		}
	}
	if n != 3 {
		t.Errorf("%d entries, want 3", n)
	}
}
