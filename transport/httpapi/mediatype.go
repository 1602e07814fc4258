package httpapi

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"hash/crc32"
	"mime"

	"github.com/ringraft/ringraft/op"
)

// The media type that came with a value stands in an attached record, written in the
// value's own entry. It holds a checksum of the value that it describes: if others have
// written the key since, without a word to this front, the type no longer counts. See
// docs/decisions/0019-media-types.md.

// mediaKind is the kind of attached records that hold a media type.
const mediaKind = 't'

// maxMediaType is the longest media type that is kept, in bytes.
const maxMediaType = 255

func mediaKey(key []byte) []byte {
	name := sha256.Sum256(key) // a key may be too long to be part of another
	return op.AttachedKey(op.SlotOf(key), mediaKind, name[:])
}

// mediaRecord returns what is kept of the media type of value.
func mediaRecord(media string, value []byte) []byte {
	return append(mediaSum(value), media...)
}

// mediaOf returns the media type of value by what is kept, octet-stream if nothing is
// or it was of another value.
func mediaOf(record, value []byte) string {
	if media, ok := bytes.CutPrefix(record, mediaSum(value)); ok && len(media) > 0 {
		return string(media)
	}
	return bytesType
}

func mediaSum(value []byte) []byte {
	return binary.BigEndian.AppendUint32(nil, crc32.Checksum(value, crc32.MakeTable(crc32.Castagnoli)))
}

// mediaType returns the media type of the request's body, "" for plain bytes.
func (c *call) mediaType() (string, *problem) {
	media := c.request.Header.Get("Content-Type")
	if media == "" || media == bytesType {
		return "", nil
	}
	if len(media) > maxMediaType {
		return "", badRequest("Content-Type", "has %d bytes; the limit is %d", len(media), maxMediaType)
	}
	if _, _, err := mime.ParseMediaType(media); err != nil {
		return "", badRequest("Content-Type", "%v", err)
	}
	return media, nil
}
