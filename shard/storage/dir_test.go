package storage

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFreshDirectoryGetsAnIdentityThatStays(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a", "data")
	d := openDir(t, path)
	id := d.Identity()
	if id.Node != "n1" || len(id.Incarnation) != 32 || id.Cluster != "" {
		t.Fatalf("identity = %+v", id)
	}
	if stat, err := os.Stat(path); err != nil || stat.Mode().Perm() != 0o700 {
		t.Errorf("mode = %v, %v; want 0700", stat.Mode(), err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if again := openDir(t, path).Identity(); again.Incarnation != id.Incarnation {
		t.Errorf("incarnation after reopen = %s, want %s", again.Incarnation, id.Incarnation)
	}
	if other := openDir(t, t.TempDir()).Identity(); other.Incarnation == id.Incarnation {
		t.Error("two directories have the same incarnation")
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	const incarnation = `"incarnation": "00112233445566778899aabbccddeeff"`
	identity := func(content string) func(*testing.T, string) {
		return func(t *testing.T, path string) { write(t, filepath.Join(path, identityFile), content) }
	}
	for name, tc := range map[string]struct {
		prepare func(t *testing.T, path string)
		want    error
		says    string
	}{
		"another node's directory": {identity(`{"format": 1, "node": "n2", ` + incarnation + `}`), ErrForeign, "n2"},
		"a newer format":           {identity(`{"format": 2, "node": "n1", "more": []}`), ErrNewer, "this program knows 1"},
		"no JSON":                  {identity(`{"format": 1, "no`), ErrDamaged, "refuses a node that was emptied"},
		"an empty file":            {identity(``), ErrDamaged, "refuses a node that was emptied"},
		"an oversized file":        {identity(strings.Repeat(" ", maxIdentity+1)), ErrDamaged, "more than"},
		"format 0":                 {identity(`{"node": "n1", ` + incarnation + `}`), ErrDamaged, "format is 0"},
		"an unknown log":           {identity(`{"format": 1, "node": "n1", "log": "tape", ` + incarnation + `}`), ErrDamaged, "log is"},
		"an unknown field":         {identity(`{"format": 1, "node": "n1", "x": 1, ` + incarnation + `}`), ErrDamaged, "unknown field"},
		"a short incarnation":      {identity(`{"format": 1, "node": "n1", "incarnation": "00"}`), ErrDamaged, "incarnation"},
		"a cluster of nobody":      {identity(`{"format": 1, "node": "n1", "cluster": "c", ` + incarnation + `}`), ErrDamaged, "members"},
		"groups without identity": {func(t *testing.T, path string) {
			if err := os.Mkdir(filepath.Join(path, groupsDir), dirMode); err != nil {
				t.Fatal(err)
			}
		}, ErrDamaged, "identity.json is missing"},
		"an open directory": {func(t *testing.T, path string) { openDir(t, path) }, ErrLocked, "choose another --data"},
		"a file": {func(t *testing.T, path string) {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			write(t, path, "")
		}, nil, "is not a directory"},
		"a directory it cannot write": {func(t *testing.T, path string) {
			if os.Getuid() == 0 {
				t.Skip("root may write everywhere")
			}
			if err := os.Chmod(path, 0o500); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.Chmod(path, dirMode) })
		}, nil, "permissions"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := t.TempDir()
			tc.prepare(t, path)
			d, err := Open(path, testConfig())
			if err == nil {
				d.Close()
				t.Fatal("it was opened")
			}
			if tc.want != nil && !errors.Is(err, tc.want) {
				t.Errorf("err = %v, want %v", err, tc.want)
			}
			if !strings.Contains(err.Error(), tc.says) || !strings.Contains(err.Error(), path) {
				t.Errorf("err = %q, want it to say %q and the path", err, tc.says)
			}
		})
	}
}

func TestRefusedDirectoryIsNotLeftLocked(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	openDir(t, path).Close()
	for range 2 {
		if _, err := Open(path, Config{Node: "n2"}); !errors.Is(err, ErrForeign) {
			t.Fatalf("err = %v, want %v", err, ErrForeign)
		}
	}
}

func TestOpenRefusesConfig(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]Config{
		"no node":        {},
		"negative stall": {Node: "n1", StallAfter: -1},
		"negative cache": {Node: "n1", CacheBytes: -1},
		"negative free":  {Node: "n1", MinFree: -1},
		"tiny segment":   {Node: "n1", SegmentBytes: 1},
		"huge segment":   {Node: "n1", SegmentBytes: 2 << 30},
		"unknown log":    {Node: "n1", Log: "tape"},
	} {
		path := filepath.Join(t.TempDir(), "data")
		if _, err := Open(path, cfg); err == nil {
			t.Errorf("%s: opened", name)
		}
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s: a refused configuration created the directory", name)
		}
	}
}

func TestFormOnce(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	d := openDir(t, path)
	members := map[string]string{"n1": d.Identity().Incarnation, "n2": "other"}
	if err := d.Form("c1", map[string]string{"n1": "another incarnation"}); err == nil {
		t.Error("formed with members that do not hold this incarnation")
	}
	if err := d.Form("", members); err == nil {
		t.Error("formed without a cluster id")
	}
	if err := d.Form("c1", members); err != nil {
		t.Fatal(err)
	}
	d.Identity().Members["n2"] = "changed by a reader"
	if err := d.Form("c1", members); err != nil {
		t.Errorf("the same again: %v", err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	d = openDir(t, path)
	if id := d.Identity(); id.Cluster != "c1" || !maps.Equal(id.Members, members) {
		t.Errorf("identity after reopen = %+v", id)
	}
	more := maps.Clone(members)
	more["n3"] = "third"
	for name, err := range map[string]error{
		"another cluster": d.Form("c2", members),
		"another member":  d.Form("c1", more),
	} {
		if !errors.Is(err, ErrFormed) {
			t.Errorf("%s: err = %v, want %v", name, err, ErrFormed)
		}
	}
}

func TestQuarantineOutlivesReopen(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	d := openDir(t, path)
	if reason, ok := d.Quarantined(7); ok {
		t.Fatalf("a fresh group is in quarantine: %q", reason)
	}
	if err := d.Quarantine(7, "digest differs at 100"); err != nil {
		t.Fatal(err)
	}
	if err := d.Quarantine(8, strings.Repeat("x", maxReason+1)); err != nil {
		t.Fatal(err)
	}
	d.Close()
	d = openDir(t, path)
	if reason, ok := d.Quarantined(7); !ok || reason != "digest differs at 100" {
		t.Errorf("Quarantined(7) = %q, %v", reason, ok)
	}
	if reason, ok := d.Quarantined(8); !ok || len(reason) != maxReason {
		t.Errorf("Quarantined(8) = %d bytes, %v; want %d, true", len(reason), ok, maxReason)
	}
	if _, ok := d.Quarantined(70); ok {
		t.Error("another group is in quarantine")
	}
}

func TestUnreadableQuarantineCounts(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	d := openDir(t, path)
	if err := os.Mkdir(d.quarantineFile(7), dirMode); err != nil {
		t.Fatal(err)
	}
	if reason, ok := d.Quarantined(7); !ok || reason == "" {
		t.Errorf("Quarantined = %q, %v; want a reason, true", reason, ok)
	}
}

func TestCloseTwice(t *testing.T) {
	eachLog(t, func(t *testing.T, cfg Config) {
		d := openDirWith(t, t.TempDir(), cfg)
		r := openReplica(t, d)
		for range 2 {
			if err := d.Close(); err != nil {
				t.Fatal(err)
			}
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if err := r.Logs.StoreLog(entry(1, 1, 10)); !errors.Is(err, ErrClosed) {
			t.Errorf("store after close: err = %v, want %v", err, ErrClosed)
		}
		if err := r.Stable.SetUint64([]byte("k"), 1); !errors.Is(err, ErrClosed) {
			t.Errorf("set after close: err = %v, want %v", err, ErrClosed)
		}
		if _, err := d.OpenReplica(1, 1); !errors.Is(err, ErrClosed) {
			t.Errorf("open after close: err = %v, want %v", err, ErrClosed)
		}
	})
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), fileMode); err != nil {
		t.Fatal(err)
	}
}

// FuzzDecodeIdentity: any bytes are an identity that this package could have
// written, or an error.
func FuzzDecodeIdentity(f *testing.F) {
	f.Add([]byte(`{"format": 1, "node": "n1", "incarnation": "00112233445566778899aabbccddeeff"}`))
	f.Add([]byte(`{"format": 9}`))
	f.Add([]byte(`{"format": 1, "node": "n1", "members": {"a": null}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		id, err := decodeIdentity(b)
		if err != nil {
			if !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrNewer) {
				t.Fatalf("err = %v, want one that says what it is", err)
			}
			return
		}
		if err := id.check(); err != nil {
			t.Fatalf("%q decodes to %+v: %v", b, id, err)
		}
	})
}
