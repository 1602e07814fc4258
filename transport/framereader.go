package transport

import (
	"errors"
	"io"
)

const (
	// blockSize is the memory, in bytes, that small frames are read into together.
	blockSize = 16 << 10
	// minRead is the least room, in bytes, that is worth a read into a block.
	minRead = 2 << 10
	// longStep is the first piece of memory for a frame that no block holds. It
	// doubles as bytes arrive: a peer that announces much and sends little costs
	// at most twice what it sent.
	longStep = 64 << 10
)

// frameReader splits a stream into frames, one read for as many as have come.
type frameReader struct {
	src io.Reader
	// arm is called before a read that may block: once for each frame whose first
	// bytes are there (started), and before every read that waits for a new one.
	arm         func(started bool) error
	least, most kind // the frame types that may come
	// reuse says that a frame's body is valid until the following call of next
	// only. Without it the body stays valid, and its block is never written again.
	reuse bool

	block   []byte
	r, w    int  // block[r:w] is read from src and not yet returned
	started bool // arm was called for the frame that is being read
}

// next returns the next frame. Its error is a *frameError, io.EOF between two
// frames, io.ErrUnexpectedEOF within one, or what src or arm returned; after a
// timeout next may be called again if it was not within a frame.
func (fr *frameReader) next() (frame, error) {
	fr.started = false
	b, err := fr.peek(lengthSize)
	if err != nil {
		return frame{}, err
	}
	size, err := parseLength(b)
	if err != nil {
		return frame{}, err
	}
	if b, err = fr.peek(headerSize); err != nil {
		return frame{}, err
	}
	h, err := parseHeader(b, fr.least, fr.most)
	if err != nil {
		return frame{}, err
	}
	body, err := fr.body(size)
	if err != nil {
		return frame{}, err
	}
	return frame{kind: h.kind, id: h.id, body: body}, h.verify(body)
}

// body takes the frame of that size out of the stream, its header being there.
func (fr *frameReader) body(size int) ([]byte, error) {
	if size > blockSize {
		return fr.long(size - headerSize)
	}
	b, err := fr.peek(size)
	if err != nil {
		return nil, err
	}
	fr.r += size
	return b[headerSize:size:size], nil
}

// long reads a body of n bytes into memory of its own, which grows as they arrive.
func (fr *frameReader) long(n int) ([]byte, error) {
	body := make([]byte, 0, min(n, longStep))
	body = append(body, fr.block[fr.r+headerSize:fr.w]...)
	for len(body) < n {
		if len(body) == cap(body) {
			body = append(make([]byte, 0, min(n, 2*cap(body))), body...)
		}
		got, err := fr.read(body[len(body):cap(body)], true)
		body = body[:len(body)+got]
		if err != nil && len(body) < n {
			return nil, err
		}
	}
	fr.r = fr.w
	return body, nil
}

// peek returns the first n unread bytes, n being at most blockSize.
func (fr *frameReader) peek(n int) ([]byte, error) {
	for fr.w-fr.r < n {
		fr.reserve(n)
		got, err := fr.read(fr.block[fr.w:], fr.w > fr.r)
		fr.w += got
		if err != nil && fr.w-fr.r < n {
			return nil, err
		}
	}
	return fr.block[fr.r : fr.r+n], nil
}

// reserve makes room behind the unread bytes for a frame of n bytes.
func (fr *frameReader) reserve(n int) {
	if len(fr.block)-fr.w >= minRead && len(fr.block)-fr.r >= n {
		return
	}
	block := fr.block
	if !fr.reuse || block == nil {
		block = make([]byte, blockSize)
	}
	fr.w = copy(block, fr.block[fr.r:fr.w])
	fr.r = 0
	fr.block = block
}

// read reads once from src.
func (fr *frameReader) read(p []byte, started bool) (int, error) {
	if !started || !fr.started {
		if err := fr.arm(started); err != nil {
			return 0, err
		}
		fr.started = started
	}
	n, err := fr.src.Read(p)
	if errors.Is(err, io.EOF) && (started || n > 0) {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// unread returns the bytes that have come and were not returned.
func (fr *frameReader) unread() []byte { return fr.block[fr.r:fr.w] }
