package httpapi

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringraft/ringraft/internal/media"
	"github.com/ringraft/ringraft/op"
)

const (
	asIs       = "Accept: application/octet-stream"
	jsonHeader = "Content-Type: application/json"
)

func TestKeysAreTakenByteForByte(t *testing.T) {
	t.Parallel()
	f := startFront(t, Config{})
	for _, test := range []struct{ target, key string }{
		{"/50%25", "50%"},
		{"/a%252Fb", "a%2Fb"},
		{"/a%2Fb", "a/b"},
		{"/a/b", "a/b"},
		{"/a%2Bb", "a+b"},
		{"/a+b", "a+b"},
		{"/a%20b", "a b"},
		{"/a%3Fb", "a?b"},
		{"/a%23b", "a#b"},
		{"/a;b=c", "a;b=c"},
		{"/a%00b", "a\x00b"},
		{"/a%0d%0ab", "a\r\nb"},
		{"/%ff%fe", "\xff\xfe"},
		{"/a//b", "a//b"},
		{"//a", "/a"},
		{"/a/../b", "a/../b"},
		{"/..", ".."},
		{"/.", "."},
		{"/a/", "a/"},
		{"/-", "-"},
		{"/-/kv/-/x", "-/x"},
		{"/-/kv/a%2Fb", "a/b"},
		{"/%2D%2Fkv%2Fplain", "plain"},
		{"http://some.host/absolute", "absolute"},
		{"/%E4%BD%A0", "你"},
	} {
		t.Run(test.target, func(t *testing.T) {
			value := "from another front: " + test.key
			f.put(test.key, value, 0)
			f.send("GET", test.target, "", asIs).want(t, 200, value)
			r := f.send("POST", test.target, `{"value":"from here"}`, jsonHeader)
			if r.status != 200 {
				t.Fatalf("POST: %+v; want one that replaces", r)
			}
			if got, _ := f.value(test.key); got != "from here" {
				t.Errorf("POST wrote another key: %q holds %q", test.key, got)
			}
			if r := f.send("DELETE", test.target, ""); r.status != 204 {
				t.Errorf("DELETE: %+v", r)
			}
			if _, found := f.value(test.key); found {
				t.Errorf("DELETE took another key")
			}
		})
	}
}

func TestTargetsThatAreNoKey(t *testing.T) {
	t.Parallel()
	f := startFront(t, Config{})
	for _, test := range []struct {
		target string
		status int
	}{
		{"/50%", 400},
		{"/%zz", 400},
		{"/", 400},
		{"/-/kv/", 400},
		{"/-/nothing", 404},
		{"/-/scan/more", 404},
		{"/-/", 404},
		{"/%2D/x", 404},
		{"/" + strings.Repeat("k", op.MaxKey+1), 414},
		{"/k?tll=30s", 400},
		{"/k?read=local&read=local", 400},
		{"/k?read=%zz", 400},
	} {
		for _, method := range []string{"GET", "POST", "DELETE"} {
			if r := f.send(method, test.target, `{"value":""}`); r.status != test.status && r.status != 405 {
				t.Errorf("%s %.40s: status %d %s; want %d", method, test.target, r.status, r.body, test.status)
			}
		}
	}
}

// TestKeyOfLineBreaksStaysOutOfHeaders reads, writes and misses a key of CR and LF.
func TestKeyOfLineBreaksStaysOutOfHeaders(t *testing.T) {
	t.Parallel()
	f := startFront(t, Config{})
	c := f.dial()
	const target = "/x%0d%0aInjected:%20yes%0d%0a"
	for _, r := range []reply{
		c.send("GET", target, ""), c.send("POST", target, `{"value":"v"}`), c.send("GET", target, "", `If-Match: "0"`),
		c.send("DELETE", target, ""), c.send("GET", target+"?a%0d%0aInjected:b=1", ""),
	} {
		if r.header.Get("Injected") != "" || strings.Contains(r.body, "\r\n") {
			t.Errorf("%+v: the key broke out", r)
		}
	}
}

func TestHeadIsGetWithoutBody(t *testing.T) {
	t.Parallel()
	f := startFront(t, Config{})
	f.put("k", "12345", time.Hour)
	c := f.dial()
	head := c.send("HEAD", "/k", "", asIs).want(t, 200, "")
	c.send("HEAD", "/missing", "").want(t, 404, "")
	get := c.send("GET", "/k", "", asIs).want(t, 200, "12345")
	for _, name := range []string{"Content-Length", "ETag", "Content-Type", "Vary"} {
		if head.header.Get(name) != get.header.Get(name) || get.header.Get(name) == "" {
			t.Errorf("%s: HEAD says %q, GET %q", name, head.header.Get(name), get.header.Get(name))
		}
	}
	if ttl, err := time.ParseDuration(head.header.Get("Ringraft-Ttl")); err != nil || ttl > time.Hour || ttl < 50*time.Minute {
		t.Errorf("Ringraft-Ttl %q, %v; want an hour", head.header.Get("Ringraft-Ttl"), err)
	}
	if n := f.cluster.Served(op.CodeTxn); n != 0 {
		t.Errorf("HEAD and GET wrote %d times", n)
	}
}

func TestMethods(t *testing.T) {
	t.Parallel()
	f := startFront(t, Config{})
	c := f.dial()
	const key = "GET, HEAD, POST, PUT, DELETE, OPTIONS"
	for _, test := range []struct {
		method, target string
		status         int
		allow          string
	}{
		{"OPTIONS", "/k", 204, key},
		{"OPTIONS", "/-/scan", 204, "GET, OPTIONS"},
		{"PATCH", "/k", 405, key},
		{"FOO", "/k", 405, key},
		{"DELETE", "/-/set", 405, "POST, OPTIONS"},
		{"PATCH", "/-/kv/k", 405, key},
	} {
		r := c.send(test.method, test.target, "")
		if r.status != test.status || r.header.Get("Allow") != test.allow {
			t.Errorf("%s %s: status %d, Allow %q; want %d, %q", test.method, test.target, r.status, r.header.Get("Allow"), test.status, test.allow)
		}
	}
	if r := c.send("OPTIONS", "*", ""); r.status != 200 {
		t.Errorf("OPTIONS *: %+v", r)
	}
}

func TestMediaTypeIsKept(t *testing.T) {
	t.Parallel()
	f := startFront(t, Config{})
	want := func(media, value string) {
		t.Helper()
		r := f.send("GET", "/page", "", asIs).want(t, 200, value)
		if got := r.header.Get("Content-Type"); got != media {
			t.Errorf("Content-Type %q, want %q", got, media)
		}
	}
	const html = "text/html; charset=\"utf-8\""
	if r := f.send("PUT", "/page", "<p>", "Content-Type: "+html); r.status != 201 {
		t.Fatalf("%+v", r)
	}
	want(html, "<p>")
	if v, _ := f.value("page"); v != "<p>" {
		t.Errorf("other fronts see %q; want the plain bytes", v)
	}
	f.send("GET", "/page", "").want(t, 200, `{"value":"<p>"}`)

	f.put("page", "plain", 0) // by a front that knows of no types
	want(bytesType, "plain")
	if r := f.send("PUT", "/page", "<p>", "Content-Type: "+html); r.status != 200 {
		t.Fatalf("%+v", r)
	}
	if r := f.send("POST", "/page", `{"value":"<p>"}`); r.status != 200 {
		t.Fatalf("%+v", r)
	}
	want(bytesType, "<p>")
	f.send("GET", "/-/scan", "").want(t, 200, `{"items":[{"key":"page","version":`+strings.Trim(f.send("HEAD", "/page", "").header.Get("ETag"), `"`)+`}]}`)
	f.send("PUT", "/page", "x", "Content-Type: no type").wantProblem(t, 400, "malformed")
	f.send("PUT", "/page", "x", "Content-Type: text/"+strings.Repeat("x", media.MaxType)).wantProblem(t, 400, "malformed")
}

func TestAnyBytesAreValues(t *testing.T) {
	t.Parallel()
	f := startFront(t, Config{})
	for _, value := range []string{"", "\x00", "\xff\xfe", "a\r\nb", "你", `"`} {
		if r := f.send("PUT", "/k", value); r.status/100 != 2 {
			t.Fatalf("%q: %+v", value, r)
		}
		f.send("GET", "/k", "", asIs).want(t, 200, value)
	}
	f.put("k", "\xff", 0)
	f.send("GET", "/k", "").want(t, 200, `{"value_base64":"/w=="}`)
	f.send("POST", "/k", `{"value_base64":"AP8="}`)
	f.send("GET", "/k", "", asIs).want(t, 200, "\x00\xff")
}

func TestFailedPreconditionChangesNothing(t *testing.T) {
	t.Parallel()
	f := startFront(t, Config{})
	f.put("k", "first", 0)
	f.put("k", "second", 0)
	f.put("old", "v", time.Second)
	f.cluster.Advance(time.Minute) // past its end, and not swept
	current := f.send("HEAD", "/k", "").header.Get("ETag")
	for _, header := range []string{
		`If-Match: "1"`, `If-Match: W/` + current, `If-Match: "1", "17"`, "If-Match:", "If-Match: garbage", `If-Match: ` + current + `x`,
		"If-None-Match: *", "If-None-Match: " + current, `If-None-Match: "1", W/` + current,
		`If-Match: "1", ` + current + "\r\nIf-None-Match: " + current,
	} {
		for _, method := range []string{"POST", "PUT", "DELETE"} {
			r := f.send(method, "/k", `{"value":"third"}`, header).wantProblem(t, 412, "precondition")
			if r.header.Get("ETag") != current {
				t.Errorf("%s with %q: ETag %q, want the current %q", method, header, r.header.Get("ETag"), current)
			}
		}
	}
	if v, _ := f.value("k"); v != "second" {
		t.Errorf("the key holds %q; want what it held", v)
	}
	for _, key := range []string{"/gone", "/old"} {
		for _, header := range []string{"If-Match: *", `If-Match: "1"`, `If-Match: "1", "2"`, "If-Match: garbage"} {
			for _, method := range []string{"POST", "PUT", "DELETE"} {
				r := f.send(method, key, `{"value":"v"}`, header).wantProblem(t, 412, "precondition")
				if r.header.Get("ETag") != "" {
					t.Errorf("%s %s has the ETag %q", method, key, r.header.Get("ETag"))
				}
			}
		}
		if _, found := f.value(key[1:]); found {
			t.Errorf("%s is there", key)
		}
		f.send("GET", key, "").wantProblem(t, 404, "not-found")
		f.send("DELETE", key, "").wantProblem(t, 404, "not-found")
	}
	f.send("POST", "/k", `{"value":"v"}`, "If-None-Match: 5").wantProblem(t, 400, "malformed")
}

func TestPreconditionThatHolds(t *testing.T) {
	t.Parallel()
	f := startFront(t, Config{})
	for _, header := range []string{
		"If-Match: *", "If-Match: %s", `If-Match: "4711", %s`, "If-Match: \"4711\"\r\nIf-Match: %s", `If-None-Match: "4711"`,
		"If-None-Match: \"4711\"\r\nIf-Match: %s",
	} {
		f.put("k", "v", 0)
		tag := f.send("HEAD", "/k", "").header.Get("ETag")
		header = strings.ReplaceAll(header, "%s", tag)
		if r := f.send("POST", "/k", `{"value":"w"}`, header); r.status != 200 {
			t.Errorf("%q: %+v", header, r)
		}
	}
	f.send("POST", "/new", `{"value":"w"}`, `If-None-Match: "1", "2"`)
	if v, _ := f.value("new"); v != "w" {
		t.Errorf("the new key holds %q", v)
	}
}

func TestConditionalReads(t *testing.T) {
	t.Parallel()
	f := startFront(t, Config{})
	f.put("k", "v", 0)
	tag := f.send("GET", "/k", "").header.Get("ETag")
	for _, method := range []string{"GET", "HEAD"} {
		for _, test := range []struct {
			header string
			status int
		}{
			{"If-None-Match: " + tag, 304}, {"If-None-Match: W/" + tag, 304}, {"If-None-Match: *", 304},
			{`If-None-Match: "9", ` + tag, 304}, {`If-None-Match: "9"`, 200}, {"If-Match: " + tag, 200}, {"If-Match: *", 200},
			{`If-Match: "9"`, 412}, {"If-Match: W/" + tag, 412}, {"If-Match:", 412},
		} {
			r := f.send(method, "/k", "", test.header)
			if r.status != test.status || r.header.Get("ETag") != tag {
				t.Errorf("%s with %q: status %d, ETag %q; want %d, %q", method, test.header, r.status, r.header.Get("ETag"), test.status, tag)
			}
		}
	}
}

// TestOnlyOneCreates has many clients create the same key.
func TestOnlyOneCreates(t *testing.T) {
	t.Parallel()
	f := startFront(t, Config{})
	var wg sync.WaitGroup
	var created atomic.Int64
	for i := range 50 {
		wg.Go(func() {
			r := f.send("POST", "/once", fmt.Sprintf(`{"value":"%d"}`, i), "If-None-Match: *")
			switch r.status {
			case 201:
				created.Add(1)
				if v, _ := f.value("once"); v != fmt.Sprint(i) {
					t.Errorf("%d created it, and it holds %s", i, v)
				}
			case 412:
			default:
				t.Errorf("%+v", r)
			}
		})
	}
	wg.Wait()
	if created.Load() != 1 {
		t.Errorf("%d created it", created.Load())
	}
}

// TestListIsJudgedInTheEntry lets another write slip in between the look at the key and
// the write under a condition that needs one.
func TestListIsJudgedInTheEntry(t *testing.T) {
	t.Parallel()
	f := startFront(t, Config{})
	f.put("k", "v", 0)
	tag := f.send("HEAD", "/k", "").header.Get("ETag")
	slip := true
	f.cluster.Intercept(nil)
	node := &slippingNode{Node: f.cluster, slip: func() {
		if slip {
			slip = false
			f.put("k", "between", 0)
		}
	}}
	g := serveFront(t, f.cluster, Config{Node: node})
	g.send("POST", "/k", `{"value":"late"}`, `If-Match: "99999", `+tag).wantProblem(t, 412, "precondition")
	if v, _ := f.value("k"); v != "between" {
		t.Errorf("the key holds %q", v)
	}
	slip = true
	if r := g.send("POST", "/k", `{"value":"later"}`, `If-None-Match: "99999", "99998"`); r.status != 200 {
		t.Errorf("%+v; want it tried again", r)
	}
}

func TestDurations(t *testing.T) {
	t.Parallel()
	f := startFront(t, Config{})
	for _, test := range []struct {
		ttl    string // JSON
		status int
	}{
		{`"500ms"`, 201}, {`"1500ms"`, 200}, {`"1h"`, 200}, {`null`, 200}, {`"1ms"`, 200},
		{`"999us"`, 422}, {`"1ns"`, 422}, {`"1500us"`, 422}, {`"0s"`, 422}, {`"-1s"`, 422}, {`"5"`, 422}, {`5`, 422}, {`""`, 422}, {`"300000h5"`, 422},
		{`"9223372036854775807s"`, 422}, {`"10000000000000000s"`, 422}, {`"9999999h"`, 422}, {`"-9223372036854775808ns"`, 422}, {`9223372036854775807`, 422},
	} {
		if r := f.send("POST", "/k", `{"value":"v","ttl":`+test.ttl+`}`); r.status != test.status {
			t.Errorf("ttl %s: %+v; want %d", test.ttl, r, test.status)
		}
	}
	for _, test := range []struct {
		query  string
		status int
	}{{"ttl=500ms", 201}, {"ttl=5", 400}, {"ttl=", 400}, {"ttl=0s", 400}, {"ttl=1h&keep_ttl=true", 422}, {"keep_ttl=yes", 400}, {"protect=true", 200}} {
		if r := f.send("PUT", "/q?"+test.query, "v"); r.status != test.status {
			t.Errorf("%s: %+v; want %d", test.query, r, test.status)
		}
	}
	f.put("kept", "v", time.Hour)
	f.send("POST", "/kept", `{"value":"w","ttl":"9223372036854775807s"}`).wantProblem(t, 422, "invalid")
	if r := f.send("GET", "/kept", "", asIs); r.body != "v" || r.header.Get("Ringraft-Ttl") == "" {
		t.Errorf("%+v; want value and time to live as before the refusal", r)
	}
	f.send("POST", "/half", `{"value":"v","ttl":"500ms"}`)
	left, err := time.ParseDuration(f.send("GET", "/half", "").header.Get("Ringraft-Ttl"))
	if err != nil || left <= 0 || left > 500*time.Millisecond {
		t.Errorf("of 500ms, %v are left, %v", left, err)
	}
}

func TestBodiesThatAreRefused(t *testing.T) {
	t.Parallel()
	f := startFront(t, Config{})
	for _, test := range []struct {
		body   string
		status int
	}{
		{"", 400}, {"{", 400}, {"\xff", 400}, {`{"value":"v"} x`, 400}, {`{"value":"v"}{}`, 400},
		{`[]`, 422}, {`"v"`, 422}, {`{}`, 422}, {`{"value":1}`, 422}, {`{"value":{"a":1}}`, 422}, {`{"value":null}`, 422}, {`{"value":"a","value":"b"}`, 422},
		{`{"value":"a","Value":"b"}`, 422}, {`{"value":"a","tll":"1s"}`, 422}, {`{"value":"\ud800"}`, 422}, {`{"value":"a","value_base64":"YQ=="}`, 422},
		{`{"value_base64":"*"}`, 422},
	} {
		if r := f.send("POST", "/k", test.body, jsonHeader); r.status != test.status {
			t.Errorf("%q: %+v; want %d", test.body, r, test.status)
		}
	}
	if _, found := f.value("k"); found {
		t.Error("something was written")
	}
	for _, header := range []string{"Content-Type: text/plain", "Content-Type: application/x-www-form-urlencoded", "Content-Encoding: gzip", "Content-Type: ;"} {
		f.send("POST", "/k", `{"value":"v"}`, header).wantProblem(t, 415, "media-type")
	}
	if r := f.send("POST", "/k", `{"value":"😀"}`, "Content-Type: application/json; charset=utf-8", "Content-Encoding: identity"); r.status != 201 {
		t.Errorf("%+v", r)
	}
	if v, _ := f.value("k"); v != "😀" {
		t.Errorf("it holds %q", v)
	}
}

func TestBodiesThatAreTooLong(t *testing.T) {
	t.Parallel()
	f := startFront(t, Config{MaxBody: 1000, MaxBodies: 40 << 10})
	long := strings.Repeat("x", 1001)
	f.send("PUT", "/k", long).wantProblem(t, 413, "too-large")
	f.send("PUT", "/k", "3e9\r\n"+long+"\r\n0\r\n\r\n", "Transfer-Encoding: chunked").wantProblem(t, 413, "too-large")
	if r := f.send("PUT", "/k", "3e8\r\n"+long[:1000]+"\r\n0\r\n\r\n", "Transfer-Encoding: chunked"); r.status != 201 {
		t.Errorf("%+v; want a chunked body at the limit taken", r)
	}
	for range 200 { // what bodies take of the budget is given back
		if r := f.send("PUT", "/k", long[:1000]); r.status != 200 {
			t.Fatalf("%+v", r)
		}
	}
	if left := f.server.bodies.left.Load(); left != 40<<10 {
		t.Errorf("%d bytes of the budget are left of %d", left, 40<<10)
	}
	g := startFront(t, Config{})
	r := g.send("PUT", "/k", strings.Repeat("x", op.DefaultMaxValue+1)).wantProblem(t, 413, "too-large")
	if !strings.Contains(r.body, fmt.Sprint(op.DefaultMaxValue)) {
		t.Errorf("%s: it does not tell the limit", r.body)
	}
	if r := g.send("PUT", "/k", strings.Repeat("x", op.DefaultMaxValue)); r.status != 201 {
		t.Errorf("%+v; want a value at the limit taken", r)
	}
}

func TestAcceptChooses(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		accept string
		bytes  bool
	}{
		{"", false}, {"*/*", false}, {"application/json", false}, {"application/*", false}, {"application/octet-stream", true},
		{"application/octet-stream, */*", true}, {"application/octet-stream;q=0.5, application/json", false},
		{"application/octet-stream, application/json;q=0.9", true}, {"text/html, */*;q=0.8", false}, {"image/png", true},
		{"application/json;q=0, */*", true}, {"application/octet-stream, application/json", false}, {"garbage;;", true}, {"*/*;q=2", true},
	} {
		h := http.Header{}
		if test.accept != "" {
			h.Set("Accept", test.accept)
		}
		if got := wantsBytes(h); got != test.bytes {
			t.Errorf("Accept %q: bytes %v, want %v", test.accept, got, test.bytes)
		}
	}
}
