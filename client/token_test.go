package client_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/ringraft/ringraft/client"
	"github.com/ringraft/ringraft/internal/fakenode"
	"github.com/ringraft/ringraft/op"
)

// watchBounds collects the bounds of the reads at the level Session, by group.
func watchBounds(nodes *fakenode.Cluster) func(key string) uint64 {
	var mu sync.Mutex
	bounds := map[uint64]uint64{}
	nodes.Intercept(func(_ string, req op.Request) *fakenode.Fault {
		if get, ok := req.Op.(op.Get); ok && req.Level == op.Session {
			mu.Lock()
			defer mu.Unlock()
			bounds[nodes.GroupOf(string(get.Key))] = req.Bound
		}
		return nil
	})
	return func(key string) uint64 {
		mu.Lock()
		defer mu.Unlock()
		return bounds[nodes.GroupOf(key)]
	}
}

// TestTokenCarriesASessionToAnotherClient, given at its start or later; what that has
// seen itself is not forgotten.
func TestTokenCarriesASessionToAnotherClient(t *testing.T) {
	t.Parallel()
	nodes, writer := start(t, fakenode.Config{Groups: 2})
	bound := watchBounds(nodes)
	for range 3 {
		must[uint64](t)(writer.Set(t.Context(), "a", []byte("v")))
	}
	token := writer.SessionToken()
	fresh := connectTo(t, nodes, client.Config{SessionToken: token})
	must[client.Value](t)(fresh.Get(t.Context(), "a", client.At(client.Session)))
	seen := bound("a")
	if seen < 3 {
		t.Errorf("a fresh client asks for index %d after 3 writes", seen)
	}

	other := connectTo(t, nodes, client.Config{})
	must[uint64](t)(other.Set(t.Context(), "a", []byte("newer")))
	if err := other.AdoptToken(token); err != nil {
		t.Fatal(err)
	}
	must[client.Value](t)(other.Get(t.Context(), "a", client.At(client.Session)))
	if got := bound("a"); got <= seen {
		t.Errorf("an older token has taken the client back from over %d to %d", seen, got)
	}
	if err := fresh.AdoptToken(other.SessionToken()); err != nil {
		t.Fatal(err)
	}
	if v := must[client.Value](t)(fresh.Get(t.Context(), "a", client.At(client.Session))); string(v.Bytes) != "newer" {
		t.Errorf("read %q", v.Bytes)
	}
	if one, two := fresh.SessionToken(), other.SessionToken(); one != two {
		t.Errorf("tokens of clients that have seen the same differ: %s, %s", one, two)
	}
}

func TestTokensAreRefused(t *testing.T) {
	t.Parallel()
	nodes, c := start(t, fakenode.Config{Groups: 4})
	_, foreign := start(t, fakenode.Config{Groups: 4})
	must[uint64](t)(c.Set(t.Context(), "k", nil))
	token := c.SessionToken()
	larger, err := fakenode.Start(fakenode.Config{Cluster: nodes.Map().Cluster, Groups: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(larger.Close)
	for name, tc := range map[string]struct {
		c    *client.Client
		text string
	}{
		"of another cluster":   {foreign, token},
		"empty":                {c, ""},
		"of no kind":           {c, "token"},
		"cut off":              {c, token[:len(token)-1]},
		"without a body":       {c, client.TokenPrefix},
		"changed":              {c, token + "AAAA"},
		"of an unknown group":  {connectTo(t, larger, client.Config{}), token},
		"too long to be a one": {c, token + string(make([]byte, 1<<20))},
	} {
		if err := tc.c.AdoptToken(tc.text); !errors.Is(err, client.ErrRefused) {
			t.Errorf("%s: err = %v, want %v", name, err, client.ErrRefused)
		}
	}
	_, err = client.New(t.Context(), client.Config{Endpoints: nodes.Endpoints(), SessionToken: "token"})
	if !errors.Is(err, client.ErrRefused) {
		t.Errorf("New: err = %v, want %v", err, client.ErrRefused)
	}
}

// TestTokenOfAnotherPastIsRefused: nobody has what it saw, as after a restore.
func TestTokenOfAnotherPastIsRefused(t *testing.T) {
	t.Parallel()
	nodes, c := start(t, fakenode.Config{Groups: 1})
	for range 3 {
		must[uint64](t)(c.Set(t.Context(), "k", nil))
	}
	restored, err := fakenode.Start(fakenode.Config{Cluster: nodes.Map().Cluster, Groups: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(restored.Close)
	late := connectTo(t, restored, client.Config{SessionToken: c.SessionToken()})
	_, err = late.Get(t.Context(), "k", client.At(client.Session))
	if refusal := new(op.Error); !errors.As(err, &refusal) || refusal.Field != "bound" || !errors.Is(err, client.ErrRefused) {
		t.Errorf("err = %v, want %v that names the bound", err, client.ErrRefused)
	}
	if _, err := late.Get(t.Context(), "k", client.At(client.Local)); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("at the level local: err = %v, want %v", err, client.ErrNotFound)
	}
}
