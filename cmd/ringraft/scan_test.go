package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

type scanDocument struct {
	Items []struct {
		Key, Value *string
		KeyBase64  []byte `json:"key_base64"`
		TTL        *int64 `json:"ttl_ms"`
		Version    uint64
	}
	Next string
}

func TestScanFindsAllKeysWithThePrefix(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	var want []string
	for i := range 30 {
		key := fmt.Sprintf("user:%02d", i)
		s.put(t, "", key, "v")
		want = append(want, key)
	}
	s.put(t, "", "other", "v")
	o := s.run(t, "scan", "user:")
	got := strings.Split(strings.TrimSuffix(o.out, "\n"), "\n")
	slices.Sort(got)
	if o.code != exitDone || !slices.Equal(got, want) {
		t.Errorf("exit code %d, keys %q; want %q", o.code, got, want)
	}
}

func TestScanGoesOnFromItsCursor(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	for i := range 20 {
		s.put(t, "", fmt.Sprint("k", i), "v")
	}
	seen := make(map[string]bool)
	cursor := ""
	for pages := 0; ; pages++ {
		var doc scanDocument
		s.run(t, "scan", "--limit", "7", "--cursor", cursor, "-o", "json").parse(t, &doc)
		if len(doc.Items) > 7 || pages > 20 {
			t.Fatalf("page %d has %d items; the limit is 7", pages, len(doc.Items))
		}
		for _, item := range doc.Items {
			seen[*item.Key] = true
		}
		if cursor = doc.Next; cursor == "" {
			break
		}
	}
	if len(seen) != 20 {
		t.Errorf("found %d keys, want 20", len(seen))
	}
	if o := s.run(t, "scan", "--limit", "3"); !strings.Contains(o.err, "--cursor") {
		t.Errorf("messages %q; want the cursor in them", o.err)
	}
}

func TestScanPrintsAnyBytes(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.put(t, "a\tb\\\n", "--key-base64", "/wo=", "-")
	s.run(t, "scan").check(t, exitDone, `\xff\n`+"\n", "")
	s.run(t, "scan", "--values").check(t, exitDone, `\xff\n`+"\t"+`a\tb\\\n`+"\n", "")
	var doc scanDocument
	s.run(t, "scan", "--values", "-o", "json").parse(t, &doc)
	if len(doc.Items) != 1 || string(doc.Items[0].KeyBase64) != "\xff\n" || *doc.Items[0].Value != "a\tb\\\n" {
		t.Errorf("document %+v", doc)
	}
}

func TestScanOfNothingIsADocument(t *testing.T) {
	t.Parallel()
	newShell(t).run(t, "scan", "-o", "json").check(t, exitDone, `{"items":[],"next":""}`+"\n", "")
}

func TestEscapeCanBeUndone(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain": "plain", `say "hi"`: `say "hi"`, `a\b`: `a\\b`, "é\u00a0\n": `é\u00a0\n`, "\x00\xff": `\x00\xff`,
	} {
		if got := escape(in); got != want {
			t.Errorf("escape(%q) = %s, want %s", in, got, want)
		}
	}
}
