package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ringraft/ringraft/internal/document"
	"github.com/ringraft/ringraft/internal/media"
	"github.com/ringraft/ringraft/op"
)

// maxLine bounds a line of an import, in bytes: the largest key and value with every
// byte escaped as \u00XX, and the field names.
const maxLine = 6*op.MaxPayload + 1<<10

var errLongLine = fmt.Errorf("the line is longer than %d bytes", maxLine)

// pair is a line of an import or export:
// {"key"|"key_base64", "value"|"value_base64", "ttl": "30s", "media_type": "text/html"}.
type pair struct {
	key       string
	value     []byte
	ttl       time.Duration // 0: none
	mediaType string        // "": none is known
}

type pairLine struct {
	document.KeyField
	document.ValueField
	TTL       string `json:"ttl,omitempty"` // as time.Duration writes it
	MediaType string `json:"media_type,omitempty"`
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
	if err == nil && replaced(line, p.key, string(p.value)) {
		return pair{}, errHalfPair
	}
	return p, err
}

var errHalfPair = errors.New("half a surrogate pair stands for no character; key_base64 and value_base64 carry other bytes")

// replaced reports whether the JSON decoder put U+FFFD into one of the texts where the
// source has something that it cannot decode. It does that without an error.
func replaced(source []byte, texts ...string) bool {
	const mark = string(utf8.RuneError)
	if !slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(text, mark) }) {
		return false
	}
	return !bytes.Contains(source, []byte(mark)) && !bytes.Contains(bytes.ToLower(source), []byte(`\ufffd`))
}

// lineError says in the words of this format what the JSON decoder found.
func lineError(err error) error {
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &wrong) && wrong.Field != "":
		return fmt.Errorf("%s is a %s; it must be a string", wrong.Field, wrong.Value)
	case wrong != nil:
		return fmt.Errorf("the line is a JSON %s; it must be an object of the fields key, value, ttl and media_type", wrong.Value)
	}
	return fmt.Errorf("no JSON object of the fields key, value, ttl and media_type: %w", err)
}

func (l pairLine) pair() (pair, error) {
	var p pair
	key, invalid := l.KeyBytes()
	switch {
	case invalid != nil:
		return p, invalid
	case len(key) == 0 || len(key) > op.MaxKey:
		return p, op.Invalid("key", "has %d bytes; it must have 1 to %d", len(key), op.MaxKey)
	case !l.HasValue():
		return p, op.Invalid("value", "is missing, and so is value_base64")
	}
	p.key = string(key)
	if p.value, invalid = l.ValueBytes(); invalid != nil {
		return p, invalid
	}
	if l.MediaType != "" {
		if err := media.Check(l.MediaType); err != nil {
			return p, err
		}
		p.mediaType = l.MediaType
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
	l := pairLine{KeyField: newKey(p.key), ValueField: *newValue(p.value), MediaType: p.mediaType}
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
