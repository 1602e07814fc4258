package client

import (
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"strings"

	"github.com/ringraft/ringraft/op"
)

// Tickets and session tokens are text: what kind it is, then a document in MessagePack
// and its CRC-32, big-endian, in URL-safe base64.

// seal returns v as text of a kind.
func seal(kind string, v any) string {
	b := op.EncodeDetail(v)
	b = binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
	return kind + base64.RawURLEncoding.EncodeToString(b)
}

// unseal fills v, a pointer, from text of a kind, at most limit bytes of it.
func unseal(field, kind, text string, limit int, v any) *op.Error {
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
