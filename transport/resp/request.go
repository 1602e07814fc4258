package resp

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/ringraft/ringraft/internal/stream"
	"github.com/ringraft/ringraft/op"
)

const (
	// maxArgs bounds the arguments of a command, its name included.
	maxArgs = 1 << 20
	// maxArg bounds one argument, in bytes.
	maxArg = op.MaxValueLimit
	// maxRequest bounds the arguments of a command together, in bytes, each with
	// argCost for what it costs to keep it.
	maxRequest = 4 * op.MaxValueLimit
	argCost    = 24
	// maxInline bounds a command that is typed on one line, in bytes.
	maxInline = 8 << 10
	// maxHead bounds the line with a count or a length, in bytes.
	maxHead = 32
)

// protocolError is a breach of the protocol, after which the stream cannot be read on.
// Its text is the one that Redis gives.
type protocolError struct{ text string }

func (e *protocolError) Error() string { return "Protocol error: " + e.text }

func breach(format string, args ...any) error {
	return &protocolError{fmt.Sprintf(format, args...)}
}

// requestReader takes commands off a stream.
type requestReader struct {
	stream.Reader
	size int // of the arguments of the command being read, with their cost
}

// wait returns when something of the next command has come, with an error of the stream.
func (r *requestReader) wait() error {
	r.Begin()
	_, err := r.Peek(1)
	return err
}

// next returns the arguments of the next command, at least one, in memory that is not
// written again. Its error is a *protocolError or one of the stream's.
func (r *requestReader) next() ([][]byte, error) {
	for {
		r.Begin()
		r.Keep()
		r.size = 0
		first, err := r.Peek(1)
		if err != nil {
			return nil, err
		}
		var args [][]byte
		if first[0] == '*' {
			args, err = r.array()
		} else {
			args, err = r.inline()
		}
		if err != nil || len(args) > 0 {
			return args, err
		}
	}
}

// array reads a command in the form that clients send: an array of bulk strings.
func (r *requestReader) array() ([][]byte, error) {
	count, err := r.number("too big mbulk count string", "invalid multibulk length", maxArgs)
	if err != nil || count <= 0 {
		return nil, err
	}
	args := make([][]byte, 0, min(count, 16)) // grows as the arguments come
	for range count {
		arg, err := r.bulk()
		if err != nil {
			return nil, err
		}
		args = append(args, arg)
	}
	return args, nil
}

func (r *requestReader) bulk() ([]byte, error) {
	first, err := r.Peek(1)
	if err != nil {
		return nil, err
	}
	if first[0] != '$' {
		return nil, breach("expected '$', got '%s'", printable(first[0]))
	}
	n, err := r.number("too big bulk count string", "invalid bulk length", maxArg)
	if err != nil {
		return nil, err
	}
	if r.size += n + argCost; n < 0 || r.size > maxRequest {
		return nil, breach("invalid bulk length")
	}
	b, err := r.Take(n + 2)
	if err != nil {
		return nil, err
	}
	if b[n] != '\r' || b[n+1] != '\n' {
		return nil, breach("expected CRLF after a bulk of %d bytes", n)
	}
	return b[:n:n], nil
}

// number reads a line of one byte and a number of at most limit, and says what is wrong
// with another. Negative ones are the caller's to judge.
func (r *requestReader) number(tooLong, wrong string, limit int) (int, error) {
	b, err := r.line(maxHead, tooLong)
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(string(b[1:]))
	if err != nil || n > limit {
		return 0, breach("%s", wrong)
	}
	return n, nil
}

// line takes a line off the stream and returns it without its end, a line feed with or
// without a carriage return.
func (r *requestReader) line(limit int, tooLong string) ([]byte, error) {
	for {
		b := r.Unread()
		if n := bytes.IndexByte(b[:min(len(b), limit)], '\n'); n >= 0 {
			r.Skip(n + 1)
			return bytes.TrimSuffix(b[:n:n], []byte("\r")), nil
		}
		if len(b) >= limit {
			return nil, breach("%s", tooLong)
		}
		if err := r.More(); err != nil {
			return nil, err
		}
	}
}

// inline reads a command as a person types it.
func (r *requestReader) inline() ([][]byte, error) {
	line, err := r.line(maxInline, "too big inline request")
	if err != nil {
		return nil, err
	}
	args, ok := splitArgs(line)
	if !ok {
		return nil, breach("unbalanced quotes in request")
	}
	return args, nil
}

func printable(b byte) string {
	if b < ' ' || b > '~' {
		return fmt.Sprintf("\\x%02x", b)
	}
	return string(rune(b))
}
