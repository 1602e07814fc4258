package integration

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ringraft/ringraft/op"
	"github.com/ringraft/ringraft/placement"
)

const (
	maxRecordSize = 64 << 10 // bytes

	aptHelper = "/usr/lib/apt/apt-helper"
	aptLists  = "/var/lib/apt/lists/*_Packages*"
)

// realRecords returns Debian's package index, name to stanza, or, where there is
// none, the files of the Go module cache, path to first bytes.
func realRecords(t *testing.T) map[string][]byte {
	t.Helper()
	records := debianPackages(t)
	source := "Debian's package index"
	if len(records) == 0 {
		records, source = moduleFiles(t), "the Go module cache"
	}
	if len(records) < 100 {
		t.Skipf("%s has only %d records", source, len(records))
	}
	t.Logf("%d records of %s", len(records), source)
	return records
}

func debianPackages(t *testing.T) map[string][]byte {
	t.Helper()
	if _, err := os.Stat(aptHelper); err != nil {
		return nil
	}
	lists, _ := filepath.Glob(aptLists) // the pattern is well formed
	if len(lists) == 0 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := exec.CommandContext(ctx, "apt-get", "update").Run(); err != nil {
			t.Logf("apt-get update: %v", err)
		}
		lists, _ = filepath.Glob(aptLists)
	}
	records := map[string][]byte{}
	for _, list := range lists {
		readPackages(t, list, records)
	}
	return records
}

// readPackages adds a list's stanzas to records, as long as there is room. apt's own
// helper knows every compression that a list may have.
func readPackages(t *testing.T, list string, records map[string][]byte) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cmd := exec.CommandContext(ctx, aptHelper, "cat-file", list)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		cancel()
		_ = cmd.Wait() // killed once there is enough
	}()
	scanner := bufio.NewScanner(out)
	scanner.Buffer(nil, maxRecordSize)
	scanner.Split(splitStanzas)
	for len(records) < maxRecords && scanner.Scan() {
		name, _, _ := strings.Cut(strings.TrimPrefix(scanner.Text(), "Package: "), "\n")
		records[name] = bytes.Clone(scanner.Bytes())
	}
	if err := scanner.Err(); err != nil {
		t.Fatalf("%s: %v", list, err)
	}
}

// splitStanzas is a bufio.SplitFunc for paragraphs.
func splitStanzas(data []byte, atEOF bool) (advance int, token []byte, err error) {
	if i := bytes.Index(data, []byte("\n\n")); i >= 0 {
		return i + 2, data[:i+1], nil
	}
	if atEOF && len(data) > 0 {
		return len(data), data, nil
	}
	return 0, nil, nil
}

func moduleFiles(t *testing.T) map[string][]byte {
	t.Helper()
	out, err := exec.Command("go", "env", "GOMODCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	root := strings.TrimSpace(string(out))
	records := map[string][]byte{}
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		if len(records) == maxRecords {
			return fs.SkipAll
		}
		key := strings.TrimPrefix(path, root)
		records[key], err = firstBytes(path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return records
}

func firstBytes(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, 1<<10))
}

// keysByGroup sorts the records' keys by the group that owns them.
func keysByGroup(m placement.Map, records map[string][]byte) map[uint64][][]byte {
	groups := map[uint64][][]byte{}
	for key := range maps.Keys(records) {
		group := m.GroupOf(op.SlotOf([]byte(key)))
		groups[group] = append(groups[group], []byte(key))
	}
	return groups
}
