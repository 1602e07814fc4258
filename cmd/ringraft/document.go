package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/ringraft/ringraft/internal/document"
)

// newKey returns the field of a key.
func newKey(key string) document.KeyField { return document.NewKey([]byte(key)) }

// newValue returns the field of a value, where there may be none.
func newValue(value []byte) *document.ValueField {
	field := document.NewValue(value)
	return &field
}

// record is what a key holds, as get and scan print it.
type record struct {
	document.KeyField
	*document.ValueField        // nil where only the key was asked for
	Version              uint64 `json:"version"`
	TTL                  *int64 `json:"ttl_ms"` // null: the key does not expire
}

func newRecord(key string, value *document.ValueField, version uint64, ttl time.Duration) record {
	return record{KeyField: newKey(key), ValueField: value, Version: version, TTL: milliseconds(ttl)}
}

// milliseconds returns ttl for a JSON field, nil if it is none.
func milliseconds(ttl time.Duration) *int64 {
	if ttl == 0 {
		return nil
	}
	ms := ttl.Milliseconds()
	return &ms
}

// printJSON prints v as one line.
func (con *console) printJSON(v any) error { return writeJSON(con.out, v) }

func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// print prints v as a line of text.
func (con *console) print(v any) error {
	_, err := fmt.Fprintln(con.out, v)
	return err
}

// note prints a message for people.
func (con *console) note(format string, args ...any) {
	fmt.Fprintf(con.err, format+"\n", args...)
}

// escape returns s for a line of text: bytes that do not print as themselves, and
// the backslash, are escaped as in a Go string. It can be undone.
func escape(s string) string {
	quoted := strconv.Quote(s)
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
}

// quotedBytes bounds what a message shows of a key.
const quotedBytes = 64

// quoted returns key for a message, cut if it is long.
func quoted(key string) string {
	if len(key) <= quotedBytes {
		return strconv.Quote(key)
	}
	return strconv.Quote(key[:quotedBytes]) + "…"
}

// keyArgument returns the key that the argument text stands for.
func keyArgument(text string, inBase64 bool) (string, error) {
	if !inBase64 {
		return text, nil
	}
	key, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return "", usagef("KEY is %q, which is no standard base64: %w", text, err)
	}
	return string(key), nil
}
