package peer

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
)

// partSize is how many bytes of a long frame leave at once. Whatever else is to be sent leaves
// between its parts, so a heartbeat waits for a part and not for a value of 16 MiB.
const partSize = 256 << 10

// isLong reports whether a frame with a body of size bytes travels in parts.
func isLong(size int) bool { return size > minBodySize+partSize }

// appendPart appends a part of an encoded frame as a frame of its own. left is how many bytes
// follow in further ones.
func appendPart(b, part []byte, left int) []byte {
	return appendFrame(b, kindPart, uint64(left), "", func(b []byte) []byte { return append(b, part...) })
}

// frameReader reads the frames of a connection, of which one at a time may come in parts.
type frameReader struct {
	r     *bufio.Reader
	limit int // bytes of a frame's body

	long []byte // what has come of a long frame
	left int    // what is to come
}

// next returns the next whole frame. The error is io.EOF only if the stream ends between frames.
func (r *frameReader) next() (frame, error) {
	for {
		f, err := readFrame(r.r, r.limit)
		switch {
		case err == io.EOF && r.left > 0:
			return frame{}, io.ErrUnexpectedEOF
		case err != nil || f.kind != kindPart:
			return f, err
		}
		if err := r.join(f); err != nil {
			return frame{}, err
		}
		if r.left == 0 {
			long := r.long
			r.long = nil
			return parseLong(long)
		}
	}
}

// join adds a part. Like readBody it takes memory as bytes arrive.
func (r *frameReader) join(f frame) error {
	n := len(f.payload)
	switch most := uint64(headSize + r.limit - len(r.long) - n); {
	case n == 0:
		return errors.New("part of a frame is empty")
	case len(r.long) > 0 && f.id+uint64(n) != uint64(r.left):
		return fmt.Errorf("part of a frame: %d and %d bytes, %d are left", n, f.id, r.left)
	case f.id > most:
		return fmt.Errorf("frame in parts: %d bytes are to come, at most %d can", f.id, most)
	}
	r.left = int(f.id)
	r.long = slices.Grow(r.long, n+min(r.left, len(r.long)))
	r.long = append(r.long, f.payload...)
	return nil
}

// parseLong takes an encoded frame apart, which is not a part itself.
func parseLong(b []byte) (frame, error) {
	if len(b) < headSize+minBodySize || int64(binary.LittleEndian.Uint32(b)) != int64(len(b)-headSize) || kind(b[headSize]) == kindPart {
		return frame{}, fmt.Errorf("frame in parts is malformed: it has %d bytes in all", len(b))
	}
	return checkBody(b[headSize:], binary.LittleEndian.Uint32(b[4:]))
}
