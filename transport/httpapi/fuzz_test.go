package httpapi

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// FuzzParseTags: what is accepted is written and read again as the same, and no tag
// holds what could end it.
func FuzzParseTags(f *testing.F) {
	for _, seed := range []string{`"1"`, `W/"1", "2"`, "*", "", `,, "1" ,`, `"a`, `"\xff"`, `""`, `"1"x`, `*, "1"`, `W/`, "\"\n\""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		list, ok := parseTags([]string{text})
		if !ok {
			if len(list.tags) > 0 || list.any {
				t.Fatalf("%q is refused, and has %+v", text, list)
			}
			return
		}
		if list.any {
			return
		}
		var parts []string
		for _, tag := range list.tags {
			if strings.ContainsAny(tag.opaque, "\" \r\n") {
				t.Fatalf("%q has the tag %q", text, tag.opaque)
			}
			part := `"` + tag.opaque + `"`
			if tag.weak {
				part = "W/" + part
			}
			parts = append(parts, part)
		}
		again, ok := parseTags(parts)
		if !ok || fmt.Sprint(again) != fmt.Sprint(list) {
			t.Fatalf("%q: %+v, and read again %+v, %v", text, list, again, ok)
		}
		if len(list.versions(false)) > len(list.versions(true)) {
			t.Fatal("a strong tag is no weak one")
		}
	})
}

// FuzzTarget: each key is found again at the target that encodes it.
func FuzzTarget(f *testing.F) {
	for _, seed := range []string{"a", "a//b", "..", "50%", "-/x", "\x00\xff", "a?b#c", "-", "http://h/x", "/"} {
		f.Add(seed)
	}
	all := resources()
	f.Fuzz(func(t *testing.T, key string) {
		for _, base := range []string{"/", "/-/kv/", "http://host:1", "/-/counters/"} {
			if base == "http://host:1" {
				base += "/"
			}
			target := base + url.PathEscape(key)
			path, query, ok := splitTarget(target + "?q")
			decoded, err := url.PathUnescape(path)
			if !ok || err != nil || query != "q" {
				t.Fatalf("%q: %q, %q, %v, %v", target, path, query, ok, err)
			}
			r, got := find(all, decoded)
			if strings.HasPrefix(key, "-/") && len(base) != len("/-/kv/") && base != "/-/counters/" {
				continue // the front's own
			}
			if r == nil || got != key {
				t.Fatalf("%q leads to %q", target, got)
			}
		}
		if path, _, ok := splitTarget(key); ok { // whatever comes, nothing panics
			if decoded, err := url.PathUnescape(path); err == nil {
				find(all, decoded)
			}
		}
	})
}

// FuzzAccept: weights lie between 0 and 1000, whatever is written.
func FuzzAccept(f *testing.F) {
	for _, seed := range []string{"*/*", "application/json;q=0.5, */*;q=0", ";;", "a/b;q=NaN", "application/*;q=1e3", "application/json;q=-1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if q, _ := quality(text, jsonType); q < 0 || q > 1000 {
			t.Fatalf("%q has the weight %d", text, q)
		}
		wantsBytes(http.Header{"Accept": {text}})
	})
}
