package strictjson_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/ringraft/ringraft/internal/strictjson"
)

type document struct {
	Text string     `json:"text"`
	List []document `json:"list"`
}

func TestDecode(t *testing.T) {
	t.Parallel()
	for _, good := range []string{`{}`, ` {"text":"a"} `, `{"list":[{"text":"\ud83d\ude00"},{"text":"\\ud800"}]}`, `{"text":"\ufffd"}`, `null`} {
		if err := strictjson.Decode([]byte(good), new(document)); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for _, test := range []struct {
		text   string
		syntax bool
		reason string
	}{
		{"", true, "document"}, {"{", true, "document"}, {`{}{}`, true, "follows"}, {`{} x`, true, "follows"}, {"\"\xff\"", true, "UTF-8"},
		{`[]`, false, "object"}, {`{"text":1}`, false, "text"}, {`{"list":[{"text":[]}]}`, false, "list.text"}, {`{"texts":""}`, false, `"texts"`},
		{`{"text":"","text":""}`, false, "twice"}, {`{"list":[{"text":"","TEXT":""}]}`, false, "twice"},
		{`{"text":"\ud83d"}`, false, "half"}, {`{"text":"\ud83dx"}`, false, "half"}, {`{"text":"\ude00\ud83d"}`, false, "half"}, {`{"text":"\ud83d\n"}`, false, "half"},
	} {
		err := strictjson.Decode([]byte(test.text), new(document))
		var syntax *strictjson.SyntaxError
		if err == nil || !strings.Contains(err.Error(), test.reason) || errors.As(err, &syntax) != test.syntax {
			t.Errorf("%s: %v; want %q, of syntax %v", test.text, err, test.reason, test.syntax)
		}
	}
}

// FuzzDecode: nothing panics, and what is taken is what is written: written again, it is
// read as the same.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{`{"text":"\ud83d\ude00","list":[{}]}`, `{"text":"\\u"}`, `"\ud800`, `{"list":[[]]}`, "\x00"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var doc, again document
		if strictjson.Decode(text, &doc) != nil {
			return
		}
		b, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		if err := strictjson.Decode(b, &again); err != nil {
			t.Fatalf("%s: %v", b, err)
		}
		if c, _ := json.Marshal(again); !bytes.Equal(b, c) {
			t.Fatalf("%s and %s", b, c)
		}
		if strings.Contains(doc.Text, "\ufffd") && !bytes.Contains(text, []byte("\ufffd")) && !bytes.Contains(bytes.ToLower(text), []byte(`\ufffd`)) {
			t.Fatalf("%q: a character was lost", text)
		}
	})
}
