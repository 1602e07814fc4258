// Package media keeps the media type that came with a value. It stands in an attached
// record, written in the value's own entry, and holds a checksum of the value that it
// describes: if others have written the key since, without a word about types, it no
// longer counts. See docs/decisions/0019-media-types.md.
package media

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"hash/crc32"
	"mime"

	"github.com/ringraft/ringraft/op"
)

// kind is the kind of attached records that hold a media type.
const kind = 't'

// MaxType is the longest media type that is kept, in bytes.
const MaxType = 255

// Bytes is the type of values of which no other is known.
const Bytes = "application/octet-stream"

// Key returns the key of the record that holds the media type of what stands at key.
func Key(key []byte) []byte {
	name := sha256.Sum256(key) // a key may be too long to be part of another
	return op.AttachedKey(op.SlotOf(key), kind, name[:])
}

// Check refuses what is no media type, or too long a one.
func Check(text string) *op.Error {
	if len(text) > MaxType {
		return op.Invalid("media_type", "has %d bytes; the limit is %d", len(text), MaxType)
	}
	if _, _, err := mime.ParseMediaType(text); err != nil {
		return op.Invalid("media_type", "is %.64q: %v", text, err)
	}
	return nil
}

// Record returns what is kept of the media type of value.
func Record(text string, value []byte) []byte { return append(sum(value), text...) }

// Of returns the media type of value by what is kept, Bytes if nothing is or it was of
// another value.
func Of(record, value []byte) string {
	if text, ok := bytes.CutPrefix(record, sum(value)); ok && len(text) > 0 {
		return string(text)
	}
	return Bytes
}

func sum(value []byte) []byte {
	return binary.BigEndian.AppendUint32(nil, crc32.Checksum(value, crc32.MakeTable(crc32.Castagnoli)))
}
