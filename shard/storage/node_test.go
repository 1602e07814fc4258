package storage

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestDirRemembersBirthsAndTheMap(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	d := openDir(t, path)
	if d.Born(7, 1) {
		t.Error("a replica is born before it was marked")
	}
	if m, err := d.LoadMap(); m != nil || err != nil {
		t.Errorf("map of a fresh directory: %q, %v", m, err)
	}
	if err := errors.Join(d.MarkBorn(7, 1), d.SaveMap([]byte("old")), d.SaveMap([]byte("map")), d.Close()); err != nil {
		t.Fatal(err)
	}
	d = openDir(t, path)
	if !d.Born(7, 1) || d.Born(7, 2) || d.Born(8, 1) {
		t.Error("births are not those that were marked")
	}
	if m, err := d.LoadMap(); string(m) != "map" || err != nil {
		t.Errorf("map %q, %v; want the last one saved", m, err)
	}
}

func TestDamagedMapIsRefused(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	d := openDir(t, path)
	if err := d.SaveMap([]byte("map")); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(path, mapFile)
	good, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for i := range good {
		bad := append([]byte(nil), good...)
		bad[i] ^= 1
		if err := os.WriteFile(file, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		if m, err := d.LoadMap(); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), path) {
			t.Errorf("byte %d flipped: %q, %v; want damage of %s", i, m, err, path)
		}
	}
}

func TestFullWhenLessIsFreeThanMustBe(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		min  int64
		full bool
	}{{1, false}, {math.MaxInt64, true}} {
		s, err := newSpace(t.TempDir(), tc.min)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.full(); (err != nil) != tc.full {
			t.Errorf("with a minimum of %d bytes: %v", tc.min, err)
		}
	}
}
