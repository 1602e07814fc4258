// Package strictjson decodes JSON documents that people and programs write, and refuses
// what encoding/json would let pass in silence: a misspelt field, a field given twice,
// text that stands for no character, and whatever follows the document.
package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// SyntaxError reports text that is no JSON document at all.
type SyntaxError struct{ reason string }

func (e *SyntaxError) Error() string { return e.reason }

// Decode fills v, a pointer, from text. Apart from a SyntaxError, errors say what is
// wrong with a field.
func Decode(text []byte, v any) error {
	if err := valid(text); err != nil {
		return err
	}
	if halfPair(text) {
		return errors.New("half a surrogate pair stands for no character")
	}
	if name, twice := namedTwice(json.NewDecoder(bytes.NewReader(text))); twice {
		return fmt.Errorf("an object has the field %.64q twice", name)
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	err := dec.Decode(v)
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &wrong) && wrong.Field != "":
		return fmt.Errorf("%s is a JSON %s, which does not belong there", wrong.Field, wrong.Value)
	case wrong != nil:
		return fmt.Errorf("it is a JSON %s; an object belongs there", wrong.Value)
	case err != nil:
		return fmt.Errorf("%s", strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}

// valid refuses what is not one document in JSON.
func valid(text []byte) error {
	if !utf8.Valid(text) {
		return &SyntaxError{"it is not valid UTF-8"}
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	var document json.RawMessage
	if err := dec.Decode(&document); err != nil {
		return &SyntaxError{"it is no JSON document: " + err.Error()}
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return &SyntaxError{"something follows the JSON document"}
	}
	return nil
}

// namedTwice returns a field that stands twice in one object of the valid document that
// dec is to read. The decoder would take the last.
func namedTwice(dec *json.Decoder) (name string, twice bool) {
	token, err := dec.Token()
	if err != nil && !errors.Is(err, io.EOF) || token != json.Delim('{') && token != json.Delim('[') {
		return "", false
	}
	names := map[string]bool{}
	for dec.More() {
		if token == json.Delim('{') {
			field, _ := dec.Token()
			name = strings.ToLower(field.(string)) // as the decoder matches them
			if names[name] {
				return name, true
			}
			names[name] = true
		}
		if inner, twice := namedTwice(dec); twice {
			return inner, true
		}
	}
	_, _ = dec.Token() // the end of the object or list
	return "", false
}

// halfPair reports whether a string of the valid document has an escape that is half of
// a surrogate pair. The decoder would put U+FFFD there.
func halfPair(text []byte) bool {
	high := rune(-1) // the escape before, if it was one that needs a second
	for i := 0; i < len(text); i++ {
		r, size := rune(-1), 1
		if text[i] == '\\' {
			size = 2
			if text[i+1] == 'u' {
				n, _ := strconv.ParseUint(string(text[i+2:i+6]), 16, 16) // the document is valid
				r, size = rune(n), 6
			}
		}
		switch {
		case high >= 0 && utf16.DecodeRune(high, r) == utf8.RuneError:
			return true
		case high >= 0:
			high = -1
		case utf16.IsSurrogate(r):
			high = r
		}
		i += size - 1
	}
	return false
}
