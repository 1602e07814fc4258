package httpapi

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ringraft/ringraft/internal/fakenode"
	"github.com/ringraft/ringraft/op"
)

func TestManyKeysAreSetReadAndDeleted(t *testing.T) {
	t.Parallel()
	f := startFront(t, Config{})
	var items, keys []string
	for i := range 100 { // of all groups
		items = append(items, fmt.Sprintf(`{"key":"k%d","value":"v%d"}`, i, i))
		keys = append(keys, fmt.Sprintf(`"k%d"`, i))
	}
	r := f.send("POST", "/-/set", `{"items":[`+strings.Join(items, ",")+`]}`)
	var written versionsDocument
	if err := json.Unmarshal([]byte(r.body), &written); r.status != 200 || err != nil || len(written.Items) != 100 {
		t.Fatalf("%+v, %v", r, err)
	}
	r = f.send("POST", "/-/get", `{"keys":[`+strings.Join(keys, ",")+`,"missing","k1"],"keys_base64":["/w=="]}`)
	var read itemsDocument
	if err := json.Unmarshal([]byte(r.body), &read); r.status != 200 || err != nil || len(read.Items) != 103 {
		t.Fatalf("%+v, %v", r, err)
	}
	for i, w := range written.Items {
		it := read.Items[i]
		if *it.Key != fmt.Sprintf("k%d", i) || *it.Value != fmt.Sprintf("v%d", i) || it.Version == 0 || w.Found || w.Version != 0 && w.Version != it.Version { // the fake does not tell all
			t.Errorf("item %d: written %+v, read %+v", i, w, it)
		}
	}
	if it := read.Items[100]; it.Found || it.HasValue() {
		t.Errorf("missing: %+v", it)
	}
	if *read.Items[101].Key != "k1" || string(read.Items[102].KeyBase64) != "\xff" {
		t.Errorf("order: %+v", read.Items[101:])
	}
	r = f.send("POST", "/-/delete", `{"keys":[`+strings.Join(keys, ",")+`,"missing"]}`)
	var deleted deletedDocument
	if err := json.Unmarshal([]byte(r.body), &deleted); r.status != 200 || err != nil || deleted.Deleted != 100 || len(deleted.Items) != 101 {
		t.Fatalf("%+v, %v", r, err)
	}
}

// TestManyAreSetTogetherOrNotAtAll has one group refuse its part.
func TestManyAreSetTogetherOrNotAtAll(t *testing.T) {
	t.Parallel()
	f := startFront(t, Config{})
	f.send("POST", "/-/set", `{"items":[{"key":"a","value":"v"},{"key":"b","value":"v"},{"key":"a","value":"w"}]}`).wantProblem(t, 422, "invalid")
	for _, key := range []string{"a", "b"} {
		if _, found := f.value(key); found {
			t.Errorf("%s is there", key)
		}
	}
}

// TestTransactionIsTriedAgainWhileOthersHoldLocks also draws a new id for each try.
func TestTransactionIsTriedAgainWhileOthersHoldLocks(t *testing.T) {
	t.Parallel()
	f := startFront(t, Config{})
	ids := map[string]bool{}
	f.cluster.Intercept(func(_ string, req op.Request) *fakenode.Fault {
		if txn, ok := req.Op.(op.Txn); ok && len(ids) < 3 {
			ids[string(txn.ID)] = true
			return &fakenode.Fault{Err: op.Locked([]byte("k1"))}
		}
		return nil
	})
	r := f.send("POST", "/-/set", `{"items":[{"key":"k1","value":"v"},{"key":"k2","value":"v"},{"key":"k3","value":"v"},{"key":"k4","value":"v"}]}`)
	if r.status != 200 || len(ids) != 3 {
		t.Errorf("%+v after %d tries", r, len(ids))
	}
	f.cluster.Intercept(func(string, op.Request) *fakenode.Fault {
		return &fakenode.Fault{Err: op.UnknownOutcome("lost")}
	})
	f.send("POST", "/-/delete", `{"keys":["k1","k2","k3","k4"]}`).wantProblem(t, 504, "unknown-outcome")
}

func TestListsHaveLimits(t *testing.T) {
	t.Parallel()
	f := startFront(t, Config{})
	many := func(n int) string { return `{"keys":[` + strings.Repeat(`"k",`, n-1) + `"k"]}` }
	for _, test := range []struct {
		target, body string
		status       int
	}{
		{"/-/get", many(op.MaxKeys), 200}, {"/-/get", many(op.MaxKeys + 1), 422}, {"/-/get", `{"keys":[]}`, 422}, {"/-/get", `{}`, 422}, {"/-/get", `{"keys":[""]}`, 422},
		{"/-/delete", many(op.MaxTxnOps + 1), 422}, {"/-/set", `{"items":[]}`, 422}, {"/-/set", `{"items":[{"value":"v"}]}`, 422},
		{"/-/set", `{"items":[{"key":"a","key_base64":"YQ==","value":"v"}]}`, 422}, {"/-/set", `{"items":[{"key":"a","value":"v","ttl":"0s"}]}`, 422},
	} {
		if r := f.send("POST", test.target, test.body); r.status != test.status {
			t.Errorf("%s %.60s: %+v; want %d", test.target, test.body, r, test.status)
		}
	}
}

func TestScanFindsEveryKeyOnce(t *testing.T) {
	t.Parallel()
	f := startFront(t, Config{})
	want := []string{"\xff user"}
	f.put("\xff user", "v", 0)
	for i := range 250 {
		want = append(want, fmt.Sprintf("user:%d", i))
		f.put(want[len(want)-1], "v", 0)
		f.send("PUT", fmt.Sprintf("/other:%d", i), "v", "Content-Type: text/plain") // with a record beside it
	}
	for _, prefix := range []string{"user:", "%ff", "nothing"} {
		var got []string
		pages, cursor := 0, ""
		for next := true; next; pages++ {
			r := f.send("GET", "/-/scan?limit=7&prefix="+prefix+"&cursor="+cursor, "")
			var page pageDocument
			if err := json.Unmarshal([]byte(r.body), &page); err != nil || r.status != 200 || len(page.Items) > 7 {
				t.Fatalf("%+v, %v", r, err)
			}
			for _, it := range page.Items {
				key, _ := it.KeyBytes()
				got = append(got, string(key))
			}
			cursor, next = page.Next, page.Next != ""
		}
		var expected []string
		for _, key := range want {
			if (prefix == "%ff") == (key[0] == 0xff) && prefix != "nothing" {
				expected = append(expected, key)
			}
		}
		slices.Sort(got)
		slices.Sort(expected)
		if !slices.Equal(got, expected) {
			t.Errorf("prefix %s: %d keys in %d pages, want %d", prefix, len(got), pages, len(expected))
		}
	}
	f.put("{tag}a", "1", time.Hour)
	r := f.send("GET", "/-/scan?prefix={tag}&values=true", "")
	if r.status != 200 || !strings.HasPrefix(r.body, `{"items":[{"key":"{tag}a","value":"1","version":`) || !strings.Contains(r.body, `"ttl_ms":3`) {
		t.Errorf("%+v", r)
	}
	if n := f.cluster.Served(op.CodeScan); n == 0 {
		t.Error("no scan was served")
	}
}

func TestScanRefuses(t *testing.T) {
	t.Parallel()
	f := startFront(t, Config{})
	for _, query := range []string{"limit=0", "limit=1001", "limit=x", "limit=", "cursor=*", "cursor=AA", "cursor=__8", "prefix={tag}&cursor=AAA", "values=maybe", "prefix=" + strings.Repeat("x", op.MaxKey+1), "cursor=a;b"} {
		f.send("GET", "/-/scan?"+query, "").wantProblem(t, 400, "malformed")
	}
}

func TestCounters(t *testing.T) {
	t.Parallel()
	f := startFront(t, Config{})
	c := f.dial()
	number := func(body string, status int, want string) {
		t.Helper()
		r := c.send("POST", "/-/counters/visits", body)
		if r.status != status || !strings.Contains(r.body, want) {
			t.Errorf("%s: %+v; want %d, %s", body, r, status, want)
		}
	}
	number(`{}`, 200, `"number":1,`)
	number(`{"delta":10}`, 200, `"number":11,`)
	number(`{"delta":-1,"ttl":"1h"}`, 200, `"number":10,`)
	number(`{"at_most":10}`, 409, `the number is 10`)
	number(`{"delta":100,"at_most":50,"clamp":true}`, 200, `"number":50,`)
	number(`{"at_least":9,"at_most":1}`, 422, `min`)
	number(`{"delta":1.5}`, 422, `delta`)
	number(`{"delta":9223372036854775807}`, 409, `64`)
	if v, _ := f.value("visits"); v != "50" {
		t.Errorf("it holds %q", v)
	}
	tag := c.send("GET", "/visits", "").want(t, 200, `{"value":"50"}`).header.Get("ETag")
	c.send("POST", "/-/counters/visits", `{}`, `If-Match: "1"`).wantProblem(t, 412, "precondition")
	c.send("POST", "/-/counters/visits", `{"at_most":50}`, "If-Match: "+tag).wantProblem(t, 409, "bound")
	c.send("POST", "/-/counters/visits", `{"at_most":50}`, `If-Match: "9999", `+tag).wantProblem(t, 409, "bound")
	if r := c.send("POST", "/-/counters/visits", `{}`, "If-Match: "+tag); r.status != 200 || r.header.Get("ETag") == tag {
		t.Errorf("%+v", r)
	}
	f.put("visits", "no number", 0)
	number(`{}`, 409, `integer`)
}

func TestTransactions(t *testing.T) {
	t.Parallel()
	f := startFront(t, Config{})
	c := f.dial()
	r := c.send("POST", "/-/transactions", `{"if":[{"key":"{a}x","absent":true}],
		"then":[{"set":{"key":"{a}x","value":"1","ttl":"1h"}},{"add":{"key":"{a}n","delta":5}},{"get":{"key":"{a}x"}},{"delete":{"key":"{a}none"}},{"expire":{"key":"{a}none2","ttl":"never"}}]}`)
	if r.status != 200 || !strings.HasPrefix(r.body, `{"met":true,"results":[{"key":"{a}x","found":false,"version":1},`) || !strings.Contains(r.body, `"number":5`) || !strings.Contains(r.body, `"value":"1"`) {
		t.Fatalf("%+v", r)
	}
	r = c.send("POST", "/-/transactions", `{"if":[{"key":"{a}x","absent":true,"show":true}],"then":[{"delete":{"key":"{a}x"}}]}`)
	if r.status != 200 || !strings.HasPrefix(r.body, `{"met":false,"standing":[{"key":"{a}x","found":true,"value":"1","version":1,"ttl_ms":`) {
		t.Errorf("%+v", r)
	}
	r = c.send("POST", "/-/transactions", `{"if":[{"key":"{a}x","value":"2"}],"else":[{"get":{"key":"{a}x"}}]}`)
	if r.status != 200 || !strings.HasPrefix(r.body, `{"met":false,"results":[{"key":"{a}x","found":true,"value":"1"`) {
		t.Errorf("%+v", r)
	}
	// Over groups.
	r = c.send("POST", "/-/transactions", `{"if":[{"key":"{a}x","version":1},{"key":"k2","absent":true}],"then":[{"set":{"key":"k1","value":"v"}},{"set":{"key":"k2","value":"v"}},{"set":{"key":"k3","value":"v"}}]}`)
	if r.status != 200 || strings.Count(r.body, `"key":`) != 3 {
		t.Errorf("%+v", r)
	}
	if f.cluster.Served(op.CodeTxn) != 4 {
		t.Errorf("%d transactions were served", f.cluster.Served(op.CodeTxn))
	}
	for _, body := range []string{
		`{}`, `{"then":[{}]}`, `{"then":[{"get":{"key":"a"},"delete":{"key":"a"}}]}`, `{"if":[{"key":"a"}]}`, `{"if":[{"key":"a","absent":true,"present":true}]}`,
		`{"then":[{"get":{}}]}`, `{"then":[{"set":{"key":"a"}}]}`, `{"then":[{"expire":{"key":"a"}}]}`, `{"then":[{"add":{}}]}`, `{"then":[{"expire":{"key":"a","ttl":"5"}}]}`,
		`{"if":[{"key":"a","value":"v","value_base64":"YQ=="}]}`, `{"then":[{"delete":{}}]}`, `{"then":[{"expire":{}}]}`, `{"if":[{"absent":true}]}`,
	} {
		c.send("POST", "/-/transactions", body).wantProblem(t, 422, "invalid")
	}
	r = c.send("POST", "/-/transactions", `{"then":[{"get":{"key":"a"}},{"set":{"key":"a","value":"v","ttl":"5"}}]}`)
	if !strings.Contains(r.body, `"field":"then[1].ttl"`) {
		t.Errorf("%s: the part at fault is not named", r.body)
	}
}
