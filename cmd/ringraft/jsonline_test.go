package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestParsePair(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, line string
		want       pair
	}{
		{"text", `{"key":"a","value":"b"}`, pair{key: "a", value: []byte("b")}},
		{"empty value", `{"key":"a","value":""}`, pair{key: "a", value: []byte{}}},
		{"binary", `{"key_base64":"/w==","value_base64":"AP8="}`, pair{key: "\xff", value: []byte("\x00\xff")}},
		{"empty binary value", `{"key":"a","value_base64":""}`, pair{key: "a", value: []byte{}}},
		{"ttl", `{"key":"a","value":"b","ttl":"1m30s"}`, pair{key: "a", value: []byte("b"), ttl: 90 * time.Second}},
		{"escapes", `{"key":"\u00e9\n","value":"\ud83d\ude00"}`, pair{key: "é\n", value: []byte("😀")}},
		{"the replacement character itself", `{"key":"a\ufffd","value":"` + "\ufffd" + `"}`, pair{key: "a\ufffd", value: []byte("\ufffd")}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := parsePair([]byte(c.line))
			if err != nil || got.key != c.want.key || !bytes.Equal(got.value, c.want.value) || got.ttl != c.want.ttl {
				t.Errorf("parsePair(%s) = %+v, %v; want %+v", c.line, got, err, c.want)
			}
		})
	}
}

func TestParsePairRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, line, message string }{
		{"no JSON", `key=value`, "no JSON object"},
		{"no object", `[1]`, "is a JSON array; it must be an object"},
		{"half an object", `{"key":"a"`, "no JSON object"},
		{"something behind it", `{"key":"a","value":"b"} {}`, "follows"},
		{"no key", `{"value":"b"}`, "key: is missing"},
		{"no value", `{"key":"a"}`, "value: is missing"},
		{"two keys", `{"key":"a","key_base64":"YQ==","value":"b"}`, "key: is given twice"},
		{"two values", `{"key":"a","value":"b","value_base64":"Yg=="}`, "value_base64: is given beside a value"},
		{"empty key", `{"key":"","value":"b"}`, "key: has 0 bytes"},
		{"long key", `{"key":"` + strings.Repeat("a", 4097) + `","value":"b"}`, "key: has 4097 bytes"},
		{"value of another type", `{"key":"a","value":5}`, "value is a number"},
		{"bad base64", `{"key_base64":"?","value":"b"}`, "base64"},
		{"unknown field", `{"key":"a","value":"b","tll":"1s"}`, "tll"},
		{"no time", `{"key":"a","value":"b","ttl":"soon"}`, "ttl"},
		{"ttl of nothing", `{"key":"a","value":"b","ttl":"0s"}`, "ttl"},
		{"ttl without a unit", `{"key":"a","value":"b","ttl":30}`, "ttl is a number"},
		{"bytes that are no text", "{\"key\":\"\xff\",\"value\":\"b\"}", "UTF-8"},
		{"half a surrogate pair", `{"key":"a","value":"\udcff"}`, "surrogate"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if p, err := parsePair([]byte(c.line)); err == nil || !strings.Contains(err.Error(), c.message) {
				t.Errorf("parsePair(%.80s) = %.80v, %v; want an error with %q", c.line, p, err, c.message)
			}
		})
	}
}

func TestPairsSurviveWritingAndParsing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := pair{
			key:   string(rapid.SliceOfN(rapid.Byte(), 1, 20).Draw(t, "key")),
			value: rapid.OneOf(rapid.SliceOf(rapid.Byte()), rapid.Map(rapid.String(), func(s string) []byte { return []byte(s) })).Draw(t, "value"),
			ttl:   time.Duration(rapid.Int64Range(0, 1<<40).Draw(t, "ms")) * time.Millisecond,
		}
		var line bytes.Buffer
		if err := writePair(&line, want); err != nil {
			t.Fatal(err)
		}
		got, err := parsePair(bytes.TrimSuffix(line.Bytes(), []byte("\n")))
		if err != nil || got.key != want.key || !bytes.Equal(got.value, want.value) || got.ttl != want.ttl {
			t.Fatalf("%s parses as %+v, %v; want %+v", line.Bytes(), got, err, want)
		}
	})
}

func FuzzParsePair(f *testing.F) {
	for _, seed := range []string{
		`{"key":"a","value":"b","ttl":"30s"}`, `{"key_base64":"/w==","value_base64":""}`, `{"key":"\udcff","value":""}`, `[]`, "",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		p, err := parsePair(line)
		if err != nil {
			return
		}
		var again bytes.Buffer
		if err := writePair(&again, p); err != nil {
			t.Fatal(err)
		}
		q, err := parsePair(bytes.TrimSuffix(again.Bytes(), []byte("\n")))
		if err != nil || q.key != p.key || !bytes.Equal(q.value, p.value) || q.ttl != p.ttl {
			t.Errorf("%q parses as %+v, which is written as %q and parses as %+v, %v", line, p, again.Bytes(), q, err)
		}
	})
}

func TestReadLine(t *testing.T) {
	t.Parallel()
	type line struct {
		text string
		err  error
	}
	for _, c := range []struct {
		name, in string
		want     []line
	}{
		{"nothing", "", nil},
		{"lines", "a\nb\n", []line{{"a", nil}, {"b", nil}}},
		{"no newline at the end", "a\nb", []line{{"a", nil}, {"b", nil}}},
		{"empty lines", "\n\n", []line{{"", nil}, {"", nil}}},
		{"DOS lines", "a\r\n", []line{{"a", nil}}},
		{"a long line is skipped", strings.Repeat("x", 200) + "\nb\n", []line{{"", errLongLine}, {"b", nil}}},
		{"a long last line", "a\n" + strings.Repeat("x", 200), []line{{"a", nil}, {"", errLongLine}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := bufio.NewReaderSize(strings.NewReader(c.in), 16)
			for i, want := range c.want {
				text, err := readLine(r, 100)
				if string(text) != want.text || !errors.Is(err, want.err) {
					t.Errorf("line %d = %q, %v; want %q, %v", i, text, err, want.text, want.err)
				}
			}
			if text, err := readLine(r, 100); !errors.Is(err, io.EOF) {
				t.Errorf("after the last line: %q, %v; want the end", text, err)
			}
		})
	}
}
