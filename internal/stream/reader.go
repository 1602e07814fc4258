package stream

import (
	"errors"
	"io"
)

const (
	// BlockSize is the memory, in bytes, that small messages are read into together,
	// and the most that Peek can be asked for.
	BlockSize = 16 << 10
	// minRead is the least room, in bytes, that is worth a read into a block.
	minRead = 2 << 10
	// LongStep is the first piece of memory for what no block holds. It doubles as
	// bytes arrive: a peer that announces much and sends little costs at most twice
	// what it sent.
	LongStep = 64 << 10
)

// Reader takes messages off a stream, one read for as many as have come. What Peek and
// Take return is valid until the next call, unless it is kept.
type Reader struct {
	Src io.Reader
	// Arm is called before a read that may block: once for each message whose first
	// bytes are there (started), and before every read that waits for a new one.
	Arm func(started bool) error

	block   []byte
	kept    bool // the block is never written again
	keep    bool // nor is any that the message comes to
	r, w    int  // block[r:w] is read from Src and not yet taken
	started bool // Arm was called for the message that is being read
	within  bool // something of the message was taken
}

// Begin starts a new message.
func (r *Reader) Begin() { r.started, r.within, r.keep = false, false, false }

// Keep says that what was taken of the message, and what will be, is to stay valid: its
// block is never written again.
func (r *Reader) Keep() { r.kept, r.keep = true, true }

// Started reports whether Arm was called for the message that is being read.
func (r *Reader) Started() bool { return r.started }

// Unread returns the bytes that have come and were not taken.
func (r *Reader) Unread() []byte { return r.block[r.r:r.w] }

// Skip takes n bytes that have come.
func (r *Reader) Skip(n int) {
	r.r += n
	r.within = true
}

// Peek returns the first n unread bytes, n being at most BlockSize. Its error is io.EOF
// between two messages, io.ErrUnexpectedEOF within one, or what Src or Arm returned;
// after a timeout it may be called again.
func (r *Reader) Peek(n int) ([]byte, error) {
	for r.w-r.r < n {
		if err := r.more(n); err != nil && r.w-r.r < n {
			return nil, err
		}
	}
	return r.block[r.r : r.r+n], nil
}

// More reads once, so that there are more unread bytes than before. There must be less
// than BlockSize.
func (r *Reader) More() error {
	had := r.w - r.r
	if err := r.more(had + 1); err != nil && r.w-r.r == had {
		return err
	}
	return nil
}

func (r *Reader) more(n int) error {
	r.reserve(n)
	got, err := r.read(r.block[r.w:], r.within || r.w > r.r)
	r.w += got
	return err
}

// Take returns the next n bytes, however many: what no block holds gets memory of its
// own, which grows as the bytes arrive.
func (r *Reader) Take(n int) ([]byte, error) {
	if n > BlockSize {
		return r.long(n)
	}
	b, err := r.Peek(n)
	if err != nil {
		return nil, err
	}
	r.Skip(n)
	return b[:n:n], nil
}

func (r *Reader) long(n int) ([]byte, error) {
	b := make([]byte, 0, min(n, LongStep))
	b = append(b, r.block[r.r:min(r.w, r.r+n)]...)
	r.Skip(len(b))
	for len(b) < n {
		if len(b) == cap(b) {
			b = append(make([]byte, 0, min(n, 2*cap(b))), b...)
		}
		got, err := r.read(b[len(b):cap(b)], true)
		b = b[:len(b)+got]
		if err != nil && len(b) < n {
			return nil, err
		}
	}
	return b, nil
}

// reserve makes room behind the unread bytes for n of them in all.
func (r *Reader) reserve(n int) {
	if r.r == r.w && !r.kept {
		r.r, r.w = 0, 0
	}
	if len(r.block)-r.w >= minRead && len(r.block)-r.r >= n {
		return
	}
	block := r.block
	if r.kept || block == nil {
		block = make([]byte, BlockSize)
		r.kept = r.keep
	}
	r.w = copy(block, r.block[r.r:r.w])
	r.r = 0
	r.block = block
}

// read reads once from Src.
func (r *Reader) read(p []byte, started bool) (int, error) {
	if !started || !r.started {
		if err := r.Arm(started); err != nil {
			return 0, err
		}
		r.started = started
	}
	n, err := r.Src.Read(p)
	if errors.Is(err, io.EOF) && (started || n > 0) {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}
