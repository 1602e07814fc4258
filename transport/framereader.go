package transport

import "github.com/ringraft/ringraft/internal/stream"

// frameReader splits a stream into frames, one read for as many as have come. A frame's
// body stays valid if it is kept, else until the next one is asked for.
type frameReader struct {
	stream.Reader
	least, most kind // the frame types that may come
}

// wait returns when something of the next frame has come, with an error as next does.
func (fr *frameReader) wait() error {
	fr.Begin()
	_, err := fr.Peek(1)
	return err
}

// next returns the next frame. Its error is a *frameError or one of the stream's; after
// a timeout next may be called again if it was not within a frame.
func (fr *frameReader) next() (frame, error) {
	fr.Begin()
	b, err := fr.Peek(lengthSize)
	if err != nil {
		return frame{}, err
	}
	size, err := parseLength(b)
	if err != nil {
		return frame{}, err
	}
	if b, err = fr.Peek(headerSize); err != nil {
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
	if size > stream.BlockSize {
		fr.Skip(headerSize)
		return fr.Take(size - headerSize)
	}
	b, err := fr.Take(size)
	if err != nil {
		return nil, err
	}
	return b[headerSize:], nil
}
