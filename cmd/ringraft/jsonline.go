package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ringraft/ringraft/op"
)

// maxLine bounds a line of an import, in bytes: the largest key and value with every
// byte escaped as \u00XX, and the field names.
const maxLine = 6*op.MaxPayload + 1<<10

var errLongLine = fmt.Errorf("the line is longer than %d bytes", maxLine)

// pair is a line of an import or export:
// {"key"|"key_base64", "value"|"value_base64", "ttl": "30s"}.
type pair struct {
	key   string
	value []byte
	ttl   time.Duration // 0: none
}

type pairLine struct {
	keyField
	valueField
	TTL string `json:"ttl,omitempty"` // as time.Duration writes it
}

// parsePair returns the pair in line. Its errors name the field.
func parsePair(line []byte) (pair, error) {
	if !utf8.Valid(line) {
		return pair{}, errors.New("the line is not valid UTF-8; key_base64 and value_base64 carry other bytes")
	}
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	var l pairLine
	if err := dec.Decode(&l); err != nil {
		return pair{}, lineError(err)
	}
	if dec.More() {
		return pair{}, errors.New("something follows the JSON object")
	}
	p, err := l.pair()
	if err == nil && replaced(line, p) {
		return pair{}, errors.New("half a surrogate pair stands for no character; key_base64 and value_base64 carry other bytes")
	}
	return p, err
}

// replaced reports whether the JSON decoder put U+FFFD where line has something that
// it cannot decode. It does that without an error.
func replaced(line []byte, p pair) bool {
	const mark = string(utf8.RuneError)
	if !strings.Contains(p.key, mark) && !bytes.Contains(p.value, []byte(mark)) {
		return false
	}
	return !bytes.Contains(line, []byte(mark)) && !bytes.Contains(bytes.ToLower(line), []byte(`\ufffd`))
}

// lineError says in the words of this format what the JSON decoder found.
func lineError(err error) error {
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &wrong) && wrong.Field != "":
		return fmt.Errorf("%s is a %s; it must be a string", wrong.Field, wrong.Value)
	case wrong != nil:
		return fmt.Errorf("the line is a JSON %s; it must be an object of the fields key, value and ttl", wrong.Value)
	}
	return fmt.Errorf("no JSON object of the fields key, value and ttl: %w", err)
}

func (l pairLine) pair() (pair, error) {
	var p pair
	switch {
	case l.Key != nil && l.KeyBase64 != nil:
		return p, errors.New("both key and key_base64 are given")
	case l.Key == nil && l.KeyBase64 == nil:
		return p, errors.New("key (or key_base64) is missing")
	case l.Value != nil && l.ValueBase64 != nil:
		return p, errors.New("both value and value_base64 are given")
	case l.Value == nil && l.ValueBase64 == nil:
		return p, errors.New("value (or value_base64) is missing")
	}
	p.key, p.value = string(l.KeyBase64), l.ValueBase64
	if l.Key != nil {
		p.key = *l.Key
	}
	if l.Value != nil {
		p.value = []byte(*l.Value)
	}
	if len(p.key) == 0 || len(p.key) > op.MaxKey {
		return p, fmt.Errorf("key has %d bytes; it must have 1 to %d", len(p.key), op.MaxKey)
	}
	if l.TTL == "" {
		return p, nil
	}
	var err error
	p.ttl, err = ttlOf("ttl", l.TTL)
	return p, err
}

// writePair writes p as a line that parsePair reads.
func writePair(w io.Writer, p pair) error {
	l := pairLine{keyField: newKeyField(p.key), valueField: *newValueField(p.value)}
	if p.ttl > 0 {
		l.TTL = p.ttl.String()
	}
	return writeJSON(w, l)
}

// readLine returns the next line without its end. A line over limit bytes is
// skipped to its end and reported as errLongLine. Memory grows as bytes arrive.
func readLine(r *bufio.Reader, limit int) ([]byte, error) {
	var line []byte
	long := false
	for {
		part, err := r.ReadSlice('\n')
		if long = long || len(line)+len(part) > limit; long {
			line = nil
		} else {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && (!errors.Is(err, io.EOF) || len(line) == 0 && !long):
			return nil, err
		case long:
			return nil, errLongLine
		}
		return bytes.TrimRight(line, "\r\n"), nil
	}
}
