package transport

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/ringraft/ringraft/op"
)

const (
	version    = 1
	lengthSize = 4  // bytes of the length field, which does not count itself
	headerSize = 16 // bytes in front of the body
	minLength  = headerSize - lengthSize
	maxLength  = minLength + op.MaxMessage
)

// kind is a frame's type.
type kind uint8

const (
	kindRequest  kind = 1
	kindResponse kind = 2
	kindGoodbye  kind = 3
)

// frame is one message, its checksum verified.
type frame struct {
	kind kind
	id   uint32
	body []byte
}

// frameError is a breach of the framing, after which the stream cannot be read on.
type frameError struct {
	field   string
	message string // says the bound
}

func (e *frameError) Error() string { return e.field + ": " + e.message }

func breach(field, format string, args ...any) error {
	return &frameError{field: field, message: fmt.Sprintf(format, args...)}
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// begin appends room for a header. The body is appended behind it, and seal
// completes the frame.
func begin(b []byte) []byte {
	var room [headerSize]byte
	return append(b, room[:]...)
}

// seal fills in the header of f, which holds one frame begun with begin. The body
// must not be longer than op.MaxMessage.
func seal(f []byte, k kind, id uint32) {
	binary.BigEndian.PutUint32(f, uint32(len(f)-lengthSize))
	f[4], f[5], f[6], f[7] = version, byte(k), 0, 0
	binary.BigEndian.PutUint32(f[8:], id)
	sum := crc32.Update(crc32.Checksum(f[4:12], castagnoli), castagnoli, f[headerSize:])
	binary.BigEndian.PutUint32(f[12:], sum)
}

// appendResult appends res as a frame.
func appendResult(b []byte, k kind, id uint32, res *op.Result) []byte {
	start := len(b)
	b = res.AppendTo(begin(b))
	seal(b[start:], k, id)
	return b
}

// parseLength returns the size of the whole frame whose first bytes b holds.
func parseLength(b []byte) (size int, err error) {
	length := binary.BigEndian.Uint32(b)
	if length < minLength || length > maxLength {
		return 0, breach("length", "is %d; it must lie between %d and %d", length, minLength, maxLength)
	}
	return lengthSize + int(length), nil
}

// header is what the first bytes of a frame say.
type header struct {
	kind kind
	id   uint32
	sum  uint32 // the checksum sent
	part uint32 // the checksum computed, up to the body
}

// parseHeader judges all that can be judged without the body. The type must lie
// between least and most.
func parseHeader(b []byte, least, most kind) (header, error) {
	if b[4] != version {
		return header{}, breach("version", "is %d; it must be %d", b[4], version)
	}
	if k := kind(b[5]); k < least || k > most {
		return header{}, breach("type", "is %d; it must lie between %d and %d", k, least, most)
	}
	if reserved := binary.BigEndian.Uint16(b[6:]); reserved != 0 {
		return header{}, breach("reserved", "is %d; it must be 0", reserved)
	}
	return header{
		kind: kind(b[5]),
		id:   binary.BigEndian.Uint32(b[8:]),
		sum:  binary.BigEndian.Uint32(b[12:]),
		part: crc32.Checksum(b[4:12], castagnoli),
	}, nil
}

// verify compares the checksums.
func (h *header) verify(body []byte) error {
	if got := crc32.Update(h.part, castagnoli, body); got != h.sum {
		return breach("checksum", "is %08x; the frame's bytes give %08x", h.sum, got)
	}
	return nil
}

// parseRequest returns the request that b begins with, if all of it has come and it is
// sound, and the size of its frame.
func parseRequest(b []byte) (id uint32, body []byte, size int, ok bool) {
	if len(b) < headerSize {
		return 0, nil, 0, false
	}
	length := binary.BigEndian.Uint32(b)
	if length < minLength || length > uint32(len(b)-lengthSize) {
		return 0, nil, 0, false
	}
	h, err := parseHeader(b, kindRequest, kindRequest)
	if err != nil {
		return 0, nil, 0, false
	}
	size = lengthSize + int(length)
	body = b[headerSize:size]
	return h.id, body, size, h.verify(body) == nil
}
