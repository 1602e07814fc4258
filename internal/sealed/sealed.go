// Package sealed is the text form of what the cluster hands out to be given back:
// session tokens and tickets. It tells when such a text is damaged; it hides nothing.
package sealed

import (
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"strings"

	"github.com/ringraft/ringraft/op"
)

// Seal returns v as text that starts with kind: then a document in MessagePack and its
// CRC-32, big-endian, in URL-safe base64.
func Seal(kind string, v any) string {
	b := op.EncodeDetail(v)
	b = binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
	return kind + base64.RawURLEncoding.EncodeToString(b)
}

// Unseal fills v, a pointer, from text that Seal made, at most limit bytes of it. Its
// errors name the field.
func Unseal(field, kind, text string, limit int, v any) *op.Error {
	body, ok := strings.CutPrefix(text, kind)
	switch {
	case !ok:
		return op.Invalid(field, "does not start with %q", kind)
	case len(text) > limit:
		return op.Invalid(field, "has %d bytes; the limit is %d", len(text), limit)
	}
	b, err := base64.RawURLEncoding.DecodeString(body)
	n := len(b) - crc32.Size
	if err != nil || n < 0 || crc32.ChecksumIEEE(b[:n]) != binary.BigEndian.Uint32(b[n:]) {
		return op.Invalid(field, "is damaged or cut off")
	}
	if err := op.DecodeDetail(b[:n], v); err != nil {
		return op.Invalid(field, "cannot be read: %v", err)
	}
	return nil
}
