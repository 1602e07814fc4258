package bench

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/ringraft/ringraft/op"
)

const (
	maxBulk = op.MaxValueLimit // bytes of a string
	noBulk  = -1               // the length of a string that is not there
)

// RESP says how a server that speaks RESP2, the protocol of Redis, is used.
type RESP struct {
	Nodes []string      // addresses; callers take them in turn
	TTL   time.Duration // of written values; 0: none
	// Wait is how many replicas must have each batch of writes, as WAIT counts them,
	// before the batch counts as answered. 0: the server's answer is enough.
	Wait    int
	Timeout time.Duration // for connecting, and for a batch
}

// NewRESP returns the server as a store. Requests are GET and SET.
func NewRESP(cfg RESP) *Sockets {
	speak := func() dialect {
		return &respDialect{ttl: cfg.TTL.Milliseconds(), wait: cfg.Wait, patience: max(1, cfg.Timeout.Milliseconds()/2)}
	}
	return &Sockets{nodes: cfg.Nodes, timeout: cfg.Timeout, speak: speak}
}

type respDialect struct {
	ttl      int64 // ms
	wait     int
	patience int64 // ms that WAIT waits: less than the connection does
	waits    bool  // the batch ends with a WAIT
}

func (d *respDialect) append(b []byte, batch []Request) []byte {
	d.waits = false
	for i := range batch {
		r := &batch[i]
		switch {
		case r.Read:
			b = appendCommand(b, "GET", r.Key)
			continue
		case d.ttl > 0:
			b = appendCommand(b, "SET", r.Key, r.Value, []byte("PX"), strconv.AppendInt(nil, d.ttl, 10))
		default:
			b = appendCommand(b, "SET", r.Key, r.Value)
		}
		d.waits = d.wait > 0
	}
	if d.waits {
		b = appendCommand(b, "WAIT", strconv.AppendInt(nil, int64(d.wait), 10), strconv.AppendInt(nil, d.patience, 10))
	}
	return b
}

// appendCommand appends a command as an array of strings.
func appendCommand(b []byte, name string, args ...[]byte) []byte {
	b = strconv.AppendInt(append(b, '*'), int64(1+len(args)), 10)
	b = strconv.AppendInt(append(b, "\r\n$"...), int64(len(name)), 10)
	b = append(append(b, "\r\n"...), name...)
	for _, arg := range args {
		b = strconv.AppendInt(append(b, "\r\n$"...), int64(len(arg)), 10)
		b = append(append(b, "\r\n"...), arg...)
	}
	return append(b, "\r\n"...)
}

// readAll reads the answers. With a WAIT, writes have no answer before its own.
func (d *respDialect) readAll(r *bufio.Reader, batch []Request) error {
	for i := range batch {
		a, err := readReply(r)
		if err != nil {
			return err
		}
		if err := a.failure(); err != nil || batch[i].Read || !d.waits {
			batch[i].Err = err
		}
	}
	if !d.waits {
		return nil
	}
	return d.readWait(r, batch)
}

// readWait reads the answer to WAIT, which is that of all writes the server took.
func (d *respDialect) readWait(r *bufio.Reader, batch []Request) error {
	a, err := readReply(r)
	if err != nil {
		return err
	}
	if a.kind != ':' {
		return fmt.Errorf("WAIT was answered with %q: %s", a.kind, a.text)
	}
	var outcome error
	if a.number < int64(d.wait) {
		outcome = op.UnknownOutcome("%d of %d replicas have the write", a.number, d.wait)
	}
	for i := range batch {
		if batch[i].Err == errUnanswered {
			batch[i].Err = outcome
		}
	}
	return nil
}

// reply is an answer of the server.
type reply struct {
	kind   byte   // + for a status, - for an error, : for a number, $ for a string
	text   string // of an error
	number int64  // or the length of a string, noBulk if there is none
}

// failure is what the answer says to a request.
func (a *reply) failure() error {
	if a.kind == '-' {
		return op.Unavailable("the server says %q", a.text)
	}
	return nil
}

var errReply = errors.New("the server's answer is no RESP2")

// readReply reads one answer, and skips the bytes of a string. Lists have no place here.
func readReply(r *bufio.Reader) (reply, error) {
	line, err := readLine(r)
	if err != nil {
		return reply{}, err
	}
	a := reply{kind: line[0]}
	switch a.kind {
	case '+':
		return a, nil
	case '-':
		a.text = string(line[1:])
		return a, nil
	case ':', '$':
		a.number, err = strconv.ParseInt(string(line[1:]), 10, 64)
	default:
		return reply{}, fmt.Errorf("%w: it begins with %q", errReply, line[0])
	}
	if err != nil {
		return reply{}, fmt.Errorf("%w: %q is no number", errReply, line[1:])
	}
	if a.kind == '$' {
		return a, skipBulk(r, a.number)
	}
	return a, nil
}

// readLine reads a line of at least one byte, which is good until the next read.
func readLine(r *bufio.Reader) ([]byte, error) {
	line, err := r.ReadSlice('\n')
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		return nil, fmt.Errorf("%w: a line has more than %d bytes", errReply, r.Size())
	case err != nil:
		return nil, noEnd(err)
	}
	line, ok := bytes.CutSuffix(line, []byte("\r\n"))
	if !ok || len(line) == 0 {
		return nil, fmt.Errorf("%w: the line %q", errReply, line)
	}
	return line, nil
}

// skipBulk reads a string of that length and its end.
func skipBulk(r *bufio.Reader, length int64) error {
	switch {
	case length == noBulk:
		return nil
	case length < 0 || length > maxBulk:
		return fmt.Errorf("%w: a string of %d bytes; the limit is %d", errReply, length, maxBulk)
	}
	if _, err := r.Discard(int(length)); err != nil {
		return noEnd(err)
	}
	end, err := r.Peek(2)
	if err != nil {
		return noEnd(err)
	}
	if string(end) != "\r\n" {
		return fmt.Errorf("%w: a string of %d bytes ends with %q", errReply, length, end)
	}
	_, err = r.Discard(2)
	return err
}

// noEnd makes the end of the stream an error of its own: an answer was to come.
func noEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
