package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTxn(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	const txn = `{
		"if":   [{"key": "{t}a", "absent": true}, {"key_base64": "e3R9/w==", "absent": true}],
		"then": [{"set": {"key": "{t}a", "value": "1", "ttl": "1h"}}, {"add": {"key": "{t}n", "delta": 8, "at_most": 5, "clamp": true}},
		         {"set": {"key_base64": "e3R9/w==", "value_base64": "/wA="}}, {"expire": {"key": "{t}none", "ttl": "never"}}, {"get": {"key": "{t}a"}}],
		"else": [{"get": {"key_base64": "e3R9/w=="}}, {"delete": {"key": "{t}a"}}, {"get": {"key": "{t}a"}}]
	}`
	o := s.runWith(t, txn, "txn")
	if o.code != exitDone || !strings.HasPrefix(o.out, `{"met":true,"results":[{"key":"{t}a","found":false,"version":1},`+
		`{"key":"{t}n","found":false,"version":2,"number":5},{"key_base64":"e3R9/w==","found":false,"version":3},`+
		`{"key":"{t}none","found":false},{"key":"{t}a","value":"1","found":true,"version":1,"ttl_ms":`) {
		t.Errorf("exit code %d, output %s, messages %s", o.code, o.out, o.err)
	}
	file := filepath.Join(t.TempDir(), "txn.json")
	if err := os.WriteFile(file, []byte(txn), 0o600); err != nil {
		t.Fatal(err)
	}
	s.run(t, "txn", file).check(t, exitCondition, `{"met":false,"results":[{"key_base64":"e3R9/w==","value_base64":"/wA=","found":true,"version":3},`+
		`{"key":"{t}a","found":true,"version":4},{"key":"{t}a","found":false}]}`+"\n", "condition not met")
}

func TestTxnWithoutElseTellsWhatStands(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.put(t, "", "{t}a", "secret")
	s.put(t, "", "{t}b", "open")
	s.runWith(t, `{"if": [{"key": "{t}a", "version": 9}, {"key": "{t}b", "value": "x", "show": true}, {"key": "{t}c", "present": true}]}`, "txn", "-").
		check(t, exitCondition, `{"met":false,"standing":[{"key":"{t}a","found":true,"version":1,"ttl_ms":null},`+
			`{"key":"{t}b","value":"open","found":true,"version":2,"ttl_ms":null},{"key":"{t}c","found":false,"ttl_ms":null}]}`+"\n", "condition not met")
}

func TestTxnThatCannotBeDoneChangesNothing(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.put(t, "", "{t}text", "no number")
	s.runWith(t, `{"then": [{"set": {"key": "{t}a", "value": "x"}}, {"add": {"key": "{t}text", "delta": 1}}]}`, "txn").
		check(t, exitCondition, "", "integer")
	s.run(t, "exists", "{t}a").check(t, exitNotFound, "0\n", "none of 1")
}

// TestTxnOverGroups: without a tag the keys lie in several groups.
func TestTxnOverGroups(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	doc := `{"if": [{"key": "a", "absent": true, "show": true}, {"key": "b", "absent": true, "show": true}, {"key": "c", "absent": true}, {"key": "d", "absent": true}],
		"then": [{"set": {"key": "a", "value": "x"}}, {"set": {"key": "b", "value": "y"}}, {"add": {"key": "c", "delta": 4}}, {"get": {"key": "d"}}]}`
	first := s.runWith(t, doc, "txn")
	if got := strings.ReplaceAll(first.out, `,"version":1`, ""); got != `{"met":true,"results":[{"key":"a","found":false},{"key":"b","found":false},`+
		`{"key":"c","found":false,"number":4},{"key":"d","found":false}]}`+"\n" {
		t.Errorf("exit code %d, output %s, messages %s", first.code, first.out, first.err)
	}
	again := s.runWith(t, doc, "txn")
	if again.code != exitCondition || !strings.Contains(again.out, `{"met":false,"standing":[{"key":`) || !strings.Contains(again.out, `"found":true,"version":1`) {
		t.Errorf("again: %+v", again)
	}
}

// TestTxnDocumentsAreRefused with the part at fault.
func TestTxnDocumentsAreRefused(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	for _, c := range []struct{ doc, message string }{
		{``, "no JSON object"},
		{`[]`, "no JSON object"},
		{`{}`, "neither compares nor operations"},
		{`{"than": []}`, "than"},
		{`{"then": [{"get": {"key": "a"}}]} {}`, "follows"},
		{`{"then": [{"get": {"key": "a"}}]} ]`, "follows"},
		{`{"then": [{"get": {"key": "a"}}], "then": [{"get": {"key": "b"}}]}`, `"then" twice`},
		{`{"then": [{"get": {"key": "a"}}], "Then": [{"get": {"key": "b"}}]}`, `"then" twice`},
		{`{"then": [{"get": {"key": "a"}}, {"set": {"key": "b", "value": "1", "value": "2"}}]}`, `"value" twice`},
		{`{"then": [{"get": {"key": "a"}, "get": {"key": "b"}}]}`, `"get" twice`},
		{`{"if": [{"key": "a"}]}`, "if[0].cond: must be exactly one"},
		{`{"if": [{"key": "a", "absent": true, "version": 1}]}`, "if[0].cond: must be exactly one"},
		{`{"if": [{"key": "a", "version": 0}]}`, "version 0"},
		{`{"if": [{"key": "a", "version": -1}]}`, "version"},
		{`{"if": [{"absent": true}]}`, "if[0].key"},
		{`{"if": [{"key": "a", "absent": true}, {"key": "a", "present": true}]}`, "twice"},
		{`{"then": [{}]}`, "then[0].operation: must be exactly one"},
		{`{"then": [{"get": {"key": "a"}, "delete": {"key": "a"}}]}`, "then[0].operation: must be exactly one"},
		{`{"then": [{"get": {"key": "a"}}, {"get": {"key": "a", "value": "b"}}]}`, "value"},
		{`{"then": [{"set": {"key": "a"}}]}`, "then[0].set: lacks its value"},
		{`{"then": [{"set": {"key": "a", "value": "b", "value_base64": "Yg=="}}]}`, "then[0].value_base64: is given beside"},
		{`{"then": [{"set": {"key": "a", "value": "b", "ttl": "0s"}}]}`, "ttl"},
		{`{"then": [{"set": {"key": "a", "value": "b", "ttl": "1s", "keep_ttl": true}}]}`, "KeepTTL"},
		{`{"then": [{"add": {"key": "a", "delta": 1.5}}]}`, "delta"},
		{`{"then": [{"add": {"key": "a", "delta": "1"}}]}`, "delta"},
		{`{"then": [{"add": {"key": "a", "delta": 1, "clamp": true}}]}`, "clamp"},
		{`{"else": [{"expire": {"key": "a"}}]}`, "else[0].ttl: is missing"},
		{`{"then": [{"set": {"key": "a", "value": "b"}}, {"delete": {"key": "a"}}]}`, "twice"},
		{`{"then": [{"set": {"key": "a", "value": "\ud800"}}]}`, "surrogate"},
		{"{\"then\": [{\"get\": {\"key\": \"\xff\"}}]}", "UTF-8"},
		{`{"then": [{"get": {"key": "a"}}, {"get": {"key": "b"}}, {"get": {"key": "c"}}], "else": [{"get": {"key": "d"}}]}`, "{tag}"},
	} {
		s.runWith(t, c.doc, "txn").check(t, exitUsage, "", c.message)
	}
	s.run(t, "txn", filepath.Join(t.TempDir(), "none")).check(t, exitFailed, "", "none")
}
