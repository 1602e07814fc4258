package main

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/ringraft/ringraft/internal/fakenode"
	"github.com/ringraft/ringraft/op"
)

// TestSessionTokenCarriesOver what one command has seen to the next, by its file or
// its text.
func TestSessionTokenCarriesOver(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	file := filepath.Join(t.TempDir(), "token")
	var mu sync.Mutex
	var bounds []uint64
	s.cluster.Intercept(func(_ string, req op.Request) *fakenode.Fault {
		mu.Lock()
		defer mu.Unlock()
		if req.Level == op.Session {
			bounds = append(bounds, req.Bound)
		}
		return nil
	})
	s.put(t, "", "k", "1", "--session-token", file)
	s.run(t, "get", "k", "--read", "session", "--session-token", file).check(t, exitDone, "1", "")
	s.put(t, "", "k", "2", "--session-token", file)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s.run(t, "get", "k", "--read", "session", "--session-token", strings.TrimSpace(string(text))).check(t, exitDone, "2", "")
	if len(bounds) != 2 || bounds[0] < 1 || bounds[1] <= bounds[0] {
		t.Errorf("asked for the indexes %v; want one that grows with what was written", bounds)
	}
	if entries, err := os.ReadDir(filepath.Dir(file)); err != nil || len(entries) != 1 {
		t.Errorf("%v left in the folder (%v), want the token alone", entries, err)
	}
}

func TestSessionTokensThatAreNoneAreRefused(t *testing.T) {
	t.Parallel()
	s, foreign := newShell(t), newShell(t)
	folder := t.TempDir()
	file, other := filepath.Join(folder, "token"), filepath.Join(folder, "other")
	foreign.put(t, "", "k", "v", "--session-token", other)
	if err := os.WriteFile(file, []byte("my shopping list"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.run(t, "get", "k", "--session-token", file).check(t, exitUsage, "", "no session token")
	s.run(t, "get", "k", "--session-token", other).check(t, exitUsage, "", "cluster")
	s.run(t, "get", "k", "--session-token", "ringraft-session.x").check(t, exitUsage, "", "damaged")
	if text, err := os.ReadFile(file); err != nil || string(text) != "my shopping list" {
		t.Errorf("the file holds %q (%v): a file that is no token was overwritten", text, err)
	}
}

func TestReadLevels(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.put(t, "", "k", "v")
	for _, level := range []string{"local", "bounded=2s", "linearizable"} {
		s.run(t, "get", "k", "--read", level).check(t, exitDone, "v", "")
	}
}
