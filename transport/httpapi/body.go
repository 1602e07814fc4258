package httpapi

import (
	"errors"
	"io"
	"net/http"
	"sync/atomic"
)

// budget bounds the bytes of all bodies in memory.
type budget struct{ left atomic.Int64 }

func (b *budget) take(n int64) bool {
	if b.left.Add(-n) >= 0 {
		return true
	}
	b.left.Add(n)
	return false
}

// firstRead is how much memory is taken for a body whose length is not told, in bytes.
const firstRead = 16 << 10

// readBody returns the request's body. What it takes of the budget, the call gives back
// at its end. Memory of a chunked body grows as bytes arrive.
func (c *call) readBody() ([]byte, *problem) {
	limit := c.server.cfg.MaxBody
	length := c.request.ContentLength
	switch {
	case length > limit:
		return nil, tooLarge(limit)
	case length == 0:
		return nil, nil
	}
	size := max(length, firstRead)
	if length > 0 {
		size = length + 1 // room to see the end
	}
	if !c.reserve(size) {
		return nil, errNoRoom()
	}
	b := make([]byte, 0, size)
	body := http.MaxBytesReader(c.out, c.request.Body, limit)
	for {
		if len(b) == cap(b) {
			if !c.reserve(int64(cap(b))) {
				return nil, errNoRoom()
			}
			b = append(make([]byte, 0, 2*cap(b)), b...)
		}
		n, err := body.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		switch tooLong := (*http.MaxBytesError)(nil); {
		case errors.Is(err, io.EOF):
			return b, nil
		case errors.As(err, &tooLong):
			return nil, tooLarge(limit)
		case err != nil:
			return nil, &problem{status: http.StatusBadRequest, kind: "body", detail: "the body did not arrive: " + err.Error()}
		}
	}
}

// reserve takes n bytes of the budget for the rest of the call.
func (c *call) reserve(n int64) bool {
	if !c.server.bodies.take(n) {
		return false
	}
	c.reserved += n
	return true
}
