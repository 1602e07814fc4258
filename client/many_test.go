package client_test

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ringraft/ringraft/client"
	"github.com/ringraft/ringraft/internal/fakenode"
	"github.com/ringraft/ringraft/op"
	"github.com/ringraft/ringraft/placement"
)

func TestManyKeysAgreeWithSingleOnes(t *testing.T) {
	t.Parallel()
	_, c := start(t, fakenode.Config{})
	key := rapid.Map(rapid.IntRange(0, 30), strconv.Itoa)
	rapid.Check(t, func(rt *rapid.T) {
		pairs := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) client.Pair {
			return client.Pair{Key: key.Draw(rt, "key"), Value: rapid.SliceOfN(rapid.Byte(), 0, 4).Draw(rt, "value")}
		}), 0, 40).Draw(rt, "pairs")
		deleted := rapid.SliceOfN(key, 0, 10).Draw(rt, "deleted")
		asked := rapid.SliceOfN(key, 0, 40).Draw(rt, "asked")

		want := map[string][]byte{}
		for _, r := range check(rt, "clear")(c.DeleteMany(t.Context(), numbers(0, 31))) {
			want[r.Key] = nil
		}
		for _, p := range pairs {
			want[p.Key] = p.Value
		}
		check(rt, "set")(c.SetMany(t.Context(), pairs))
		for _, r := range check(rt, "delete")(c.DeleteMany(t.Context(), deleted)) {
			if r.Existed != (want[r.Key] != nil) {
				rt.Errorf("deleted %s: existed = %v", r.Key, r.Existed)
			}
			want[r.Key] = nil
		}
		results := check(rt, "get")(c.GetMany(t.Context(), asked))
		for i, r := range results {
			if r.Key != asked[i] || r.Existed != (want[r.Key] != nil) || !bytes.Equal(r.Value.Bytes, want[r.Key]) {
				rt.Errorf("result %d is %+v, want key %s with %v", i, r, asked[i], want[asked[i]])
			}
		}
	})
}

func check(t *rapid.T, what string) func([]client.Result, error) []client.Result {
	return func(results []client.Result, err error) []client.Result {
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		return results
	}
}

func numbers(from, to int) (keys []string) {
	for n := from; n < to; n++ {
		keys = append(keys, strconv.Itoa(n))
	}
	return keys
}

// sizes collects how many keys the operations of a kind had.
type sizes struct {
	mu   sync.Mutex
	keys []int
}

func (s *sizes) watch(_ string, req op.Request) *fakenode.Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch o := req.Op.(type) {
	case op.MGet, op.MSet, op.MDelete:
		s.keys = append(s.keys, o.(op.Routed).NumSlots())
	}
	return nil
}

func TestManyKeysAreSplit(t *testing.T) {
	t.Parallel()
	nodes, _ := start(t, fakenode.Config{Groups: 1})
	c := connectTo(t, nodes, client.Config{AttemptTimeout: time.Minute}) // a slow machine repeats nothing
	if err := c.SetConfig(t.Context(), "max-value-bytes", "16MiB"); err != nil {
		t.Fatal(err)
	}
	half := make([]byte, op.MaxPayload/2-100)
	large := []client.Pair{{Key: "a", Value: half}, {Key: "b", Value: half}, {Key: "c", Value: half}}
	for name, tc := range map[string]struct {
		call func() ([]client.Result, error)
		want []int
	}{
		"by count": {func() ([]client.Result, error) { return c.GetMany(t.Context(), numbers(0, 2001)) }, []int{1000, 1000, 1}},
		"by bytes": {func() ([]client.Result, error) { return c.SetMany(t.Context(), large) }, []int{2, 1}},
		"none":     {func() ([]client.Result, error) { return c.DeleteMany(t.Context(), nil) }, nil},
	} {
		var seen sizes
		nodes.Intercept(seen.watch)
		if _, err := tc.call(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if len(seen.keys) != len(tc.want) {
			t.Fatalf("%s: split into %v, want %v", name, seen.keys, tc.want)
		}
		for i := range tc.want {
			if seen.keys[i] != tc.want[i] {
				t.Errorf("%s: split into %v, want %v", name, seen.keys, tc.want)
			}
		}
	}
	nodes.Intercept(nil)
	must[[]client.Result](t)(c.SetMany(t.Context(), large))
	results := must[[]client.Result](t)(c.GetMany(t.Context(), []string{"a", "b", "c"}))
	for _, r := range results {
		if !r.Existed || !bytes.Equal(r.Value.Bytes, half) {
			t.Errorf("%s: %d bytes; answers over the limit must be asked for in parts", r.Key, len(r.Value.Bytes))
		}
	}
}

func TestErrorsAreTheKeysOwn(t *testing.T) {
	t.Parallel()
	nodes, c := start(t, fakenode.Config{})
	bad := nodes.GroupOf("0")
	nodes.Intercept(func(_ string, req op.Request) *fakenode.Fault {
		if o, ok := req.Op.(op.MSet); ok && nodes.GroupOf(string(o.Pairs[0].Key)) == bad {
			return &fakenode.Fault{Err: &op.Error{Kind: op.KindOutOfMemory, Message: "no room"}}
		}
		return nil
	})
	pairs := []client.Pair{{Key: ""}}
	for _, key := range numbers(0, 100) {
		pairs = append(pairs, client.Pair{Key: key})
	}
	results, err := c.SetMany(t.Context(), pairs)
	if !errors.Is(err, client.ErrOutOfMemory) || !strings.Contains(err.Error(), "key: is empty") {
		t.Errorf("err = %v, want both errors", err)
	}
	for i, r := range results {
		var want error
		switch {
		case i == 0:
			want = client.ErrRefused
		case nodes.GroupOf(r.Key) == bad:
			want = client.ErrOutOfMemory
		}
		if !errors.Is(r.Err, want) {
			t.Errorf("key %q: err = %v, want %v", r.Key, r.Err, want)
		}
	}
}

func TestManyKeysAreSplitAnewByANewMap(t *testing.T) {
	t.Parallel()
	nodes, c := start(t, fakenode.Config{Groups: 1})
	old := nodes.Map()
	m, err := placement.New(old.Cluster, old.Nodes, 4, 3, old.Settings)
	if err != nil {
		t.Fatal(err)
	}
	m.Epoch = old.Epoch + 1
	nodes.Install(m)
	for group := range uint64(4) {
		nodes.Lead(group+1, "n2")
	}
	results := must[[]client.Result](t)(c.SetMany(t.Context(), []client.Pair{{Key: "a"}, {Key: "b"}, {Key: "c"}, {Key: "d"}, {Key: "e"}}))
	for _, r := range results {
		if r.Value.Version == 0 {
			t.Errorf("%s was not stored", r.Key)
		}
	}
	if n := nodes.Served(op.CodeMSet); n < 2 {
		t.Errorf("%d operations, want one per group", n)
	}
}
