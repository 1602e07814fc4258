// Package document is the JSON that the command line and HTTP have in common: keys, values,
// times to live, and transactions.
package document

import (
	"time"
	"unicode/utf8"

	"github.com/ringraft/ringraft/op"
)

// KeyField is a key: "key" if it is valid UTF-8, else "key_base64".
type KeyField struct {
	Key       *string `json:"key,omitempty"`
	KeyBase64 []byte  `json:"key_base64,omitempty"`
}

// NewKey returns the field of a key.
func NewKey(key []byte) KeyField {
	if utf8.Valid(key) {
		text := string(key)
		return KeyField{Key: &text}
	}
	return KeyField{KeyBase64: key}
}

// KeyBytes returns the key, which one of the two must hold. Its length is not checked.
func (f KeyField) KeyBytes() ([]byte, *op.Error) {
	switch {
	case f.Key != nil && f.KeyBase64 != nil:
		return nil, op.Invalid("key", "is given twice, as text and in base64")
	case f.Key != nil:
		return []byte(*f.Key), nil
	case f.KeyBase64 != nil:
		return f.KeyBase64, nil
	}
	return nil, op.Invalid("key", "is missing, and so is key_base64")
}

// ValueField is a value: "value" if it is valid UTF-8, else "value_base64".
type ValueField struct {
	Value       *string `json:"value,omitempty"`
	ValueBase64 []byte  `json:"value_base64,omitempty"`
}

// NewValue returns the field of a value.
func NewValue(value []byte) ValueField {
	if utf8.Valid(value) {
		text := string(value)
		return ValueField{Value: &text}
	}
	return ValueField{ValueBase64: value}
}

// HasValue reports whether there is one.
func (f ValueField) HasValue() bool { return f.Value != nil || f.ValueBase64 != nil }

// ValueBytes returns the value, which one of the two must hold. Its length is not checked.
func (f ValueField) ValueBytes() ([]byte, *op.Error) {
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

// LifeField is how long a record lives.
type LifeField struct {
	TTL     *string `json:"ttl"`
	KeepTTL bool    `json:"keep_ttl"`
	Protect bool    `json:"protect"`
}

// LongestTTL is op.MaxTTL as a duration.
const LongestTTL = op.MaxTTL * time.Millisecond

// TTL returns the ms in text, 0 for nil. There is no text for "for ever": it is left out.
func TTL(text *string) (int64, *op.Error) {
	if text == nil {
		return 0, nil
	}
	ttl, err := time.ParseDuration(*text)
	switch {
	case err != nil:
		return 0, op.Invalid("ttl", "is %.64q; it is a time such as 30s or 1h30m", *text)
	case ttl < time.Millisecond || ttl > LongestTTL:
		return 0, op.Invalid("ttl", "is %v; it must lie between 1ms and %v", ttl, LongestTTL)
	case ttl%time.Millisecond != 0:
		return 0, op.Invalid("ttl", "is %v; it must be a whole number of milliseconds", ttl)
	}
	return ttl.Milliseconds(), nil
}
