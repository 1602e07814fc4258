package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"time"
	"unicode/utf8"

	"github.com/ringraft/ringraft/internal/strictjson"
	"github.com/ringraft/ringraft/op"
)

// keyField is a key in JSON: "key" if it is valid UTF-8, else "key_base64".
type keyField struct {
	Key       *string `json:"key,omitempty"`
	KeyBase64 []byte  `json:"key_base64,omitempty"`
}

func newKeyField(key []byte) keyField {
	if utf8.Valid(key) {
		text := string(key)
		return keyField{Key: &text}
	}
	return keyField{KeyBase64: key}
}

func (f keyField) key() ([]byte, *op.Error) {
	switch {
	case f.Key != nil && f.KeyBase64 != nil:
		return nil, op.Invalid("key", "is given twice, as text and in base64")
	case f.Key != nil:
		return []byte(*f.Key), nil
	case f.KeyBase64 != nil:
		return f.KeyBase64, nil
	}
	return nil, op.Invalid("key", "is missing")
}

// valueField is a value in JSON: "value" if it is valid UTF-8, else "value_base64".
type valueField struct {
	Value       *string `json:"value,omitempty"`
	ValueBase64 []byte  `json:"value_base64,omitempty"`
}

func newValueField(value []byte) valueField {
	if utf8.Valid(value) {
		text := string(value)
		return valueField{Value: &text}
	}
	return valueField{ValueBase64: value}
}

func (f valueField) given() bool { return f.Value != nil || f.ValueBase64 != nil }

func (f valueField) value() ([]byte, *op.Error) {
	switch {
	case f.Value != nil && f.ValueBase64 != nil:
		return nil, op.Invalid("value_base64", "is given beside a value")
	case f.Value != nil:
		return []byte(*f.Value), nil
	case f.ValueBase64 != nil:
		return f.ValueBase64, nil
	}
	return nil, op.Invalid("set", "lacks its value")
}

// lifeField is how long a record lives, in JSON.
type lifeField struct {
	TTL     *string `json:"ttl"`
	KeepTTL bool    `json:"keep_ttl"`
	Protect bool    `json:"protect"`
}

// longestTTL is op.MaxTTL as a duration.
const longestTTL = op.MaxTTL * time.Millisecond

// ttlOf returns the ms in text, 0 for nil. There is no text for "for ever": it is left out.
func ttlOf(text *string) (int64, *op.Error) {
	if text == nil {
		return 0, nil
	}
	ttl, err := time.ParseDuration(*text)
	switch {
	case err != nil:
		return 0, op.Invalid("ttl", "is %.64q; it is a time such as 30s or 1h30m", *text)
	case ttl < time.Millisecond || ttl > longestTTL:
		return 0, op.Invalid("ttl", "is %v; it must lie between 1ms and %v", ttl, longestTTL)
	case ttl%time.Millisecond != 0:
		return 0, op.Invalid("ttl", "is %v; it must be a whole number of milliseconds", ttl)
	}
	return ttl.Milliseconds(), nil
}

// document fills v, a pointer, from the request's JSON body. A body that says nothing of
// its media type is taken for JSON.
func (c *call) document(v any) *problem {
	if media := c.request.Header.Get("Content-Type"); media != "" {
		if name, _, err := mime.ParseMediaType(media); err != nil || name != jsonType {
			return &problem{status: http.StatusUnsupportedMediaType, kind: "media-type", field: "Content-Type", detail: fmt.Sprintf("is %.64q; the body must be %s", media, jsonType)}
		}
	}
	text, p := c.plainBody()
	if p != nil {
		return p
	}
	err := strictjson.Decode(text, v)
	var syntax *strictjson.SyntaxError
	switch {
	case errors.As(err, &syntax):
		return badRequest("body", "%v", err)
	case err != nil:
		return invalid("body", "%v", err)
	}
	return nil
}

// plainBody returns the body of a request that has not encoded it.
func (c *call) plainBody() ([]byte, *problem) {
	if coding := c.request.Header.Get("Content-Encoding"); coding != "" && coding != "identity" {
		return nil, &problem{status: http.StatusUnsupportedMediaType, kind: "media-type", field: "Content-Encoding", detail: fmt.Sprintf("is %.64q; send the body as it is", coding)}
	}
	if c.body != nil {
		return c.body, nil
	}
	var p *problem
	c.body, p = c.readBody()
	return c.body, p
}

// jsonAnswer is an answer whose body is v.
func jsonAnswer(status int, v any) answer {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err) // documents are made of strings, numbers and bytes
	}
	return answer{status: status, body: b.Bytes()}
}

// milliseconds returns ttl for a JSON field, nil if it is none.
func milliseconds(ttl int64) *int64 {
	if ttl == 0 {
		return nil
	}
	return &ttl
}
