package bench

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"time"

	"github.com/ringraft/ringraft/client"
	"github.com/ringraft/ringraft/op"
)

// A frame of the native protocol, see docs/protocol.md.
const (
	frameHeader   = 16 // bytes
	frameVersion  = 1
	frameRequest  = 1
	frameResponse = 2
)

// NewWire returns nodes of a Ringraft cluster as bare connections see them: reads go to
// whatever node they go to. That is the cheapest way to ask, and the like of a RESP
// server's. The level must be one that any replica answers without a session, Local or
// Bounded; writes and other reads need a client, which knows the leaders.
func NewWire(nodes []string, level client.Level, timeout time.Duration) (*Sockets, error) {
	read := op.Request{Level: op.Local}
	switch {
	case level == client.Session || level == client.Linearizable:
		return nil, op.Invalid("read", "is %v; bare connections read at the levels local and bounded", level)
	case level != client.Local:
		read = op.Request{Level: op.Bounded, Bound: uint64(level)}
	}
	return &Sockets{nodes: nodes, timeout: timeout, speak: func() dialect { return newWireDialect(read) }}, nil
}

type wireDialect struct {
	head  []byte // a read's frame up to its key's length, which is of one byte
	table *crc32.Table
	first uint32 // id of the batch's first request
	long  []byte // an answer that no buffer holds
}

// newWireDialect returns the dialect of reads like this one, but for the key.
func newWireDialect(read op.Request) *wireDialect {
	key := []byte{0}
	read.Op = op.Get{Key: key}
	head := read.AppendTo(make([]byte, frameHeader))
	head[4], head[5] = frameVersion, frameRequest
	return &wireDialect{head: head[:len(head)-len(key)-1], table: crc32.MakeTable(crc32.Castagnoli)}
}

// append appends the reads; a write has no place here.
func (d *wireDialect) append(b []byte, batch []Request) []byte {
	d.first += uint32(MaxBatch)
	for i := range batch {
		b = d.appendFrame(b, batch[i].Key, d.first+uint32(i))
	}
	return b
}

func (d *wireDialect) appendFrame(b, key []byte, id uint32) []byte {
	start := len(b)
	b = append(append(append(b, d.head...), byte(len(key))), key...)
	f := b[start:]
	binary.BigEndian.PutUint32(f, uint32(len(f)-4))
	binary.BigEndian.PutUint32(f[8:], id)
	binary.BigEndian.PutUint32(f[12:], d.sum(f))
	return b
}

// sum is the checksum of a frame.
func (d *wireDialect) sum(f []byte) uint32 {
	return crc32.Update(crc32.Checksum(f[4:12], d.table), d.table, f[frameHeader:])
}

// readAll reads the answers, which come in any order.
func (d *wireDialect) readAll(r *bufio.Reader, batch []Request) error {
	for range batch {
		id, res, err := d.readFrame(r)
		if err != nil {
			return err
		}
		i := id - d.first
		if i >= uint32(len(batch)) || batch[i].Err != errUnanswered {
			return fmt.Errorf("request %d is answered, which is not pending", id)
		}
		batch[i].Err = nil
		if res.Err != nil {
			batch[i].Err = res.Err
		}
	}
	return nil
}

// readFrame reads one answer. The result refers to memory that the next call uses again.
func (d *wireDialect) readFrame(r *bufio.Reader) (id uint32, res op.Result, err error) {
	header, err := r.Peek(frameHeader)
	if err != nil {
		return 0, res, noEnd(err)
	}
	size := int(binary.BigEndian.Uint32(header)) + 4
	switch {
	case header[4] != frameVersion || header[5] != frameResponse:
		return 0, res, fmt.Errorf("a frame of version %d and type %d came in place of an answer", header[4], header[5])
	case size < frameHeader || size > frameHeader+op.MaxMessage:
		return 0, res, fmt.Errorf("an answer has a frame of %d bytes; the limit is %d", size, frameHeader+op.MaxMessage)
	}
	f, err := readBytes(r, size, &d.long)
	if err != nil {
		return 0, res, err
	}
	if sum := binary.BigEndian.Uint32(f[12:]); sum != d.sum(f) {
		return 0, res, errors.New("an answer's checksum is wrong")
	}
	res, err = op.DecodeResult(f[frameHeader:])
	return binary.BigEndian.Uint32(f[8:]), res, err
}

// readBytes returns the next size bytes, in the reader's buffer if they fit, else in *long.
func readBytes(r *bufio.Reader, size int, long *[]byte) ([]byte, error) {
	if size <= r.Size() {
		b, err := r.Peek(size)
		if err != nil {
			return nil, noEnd(err)
		}
		_, err = r.Discard(size) // the bytes stay where they are until the next read
		return b, err
	}
	*long = slices.Grow((*long)[:0], size)[:size]
	_, err := io.ReadFull(r, *long)
	return *long, noEnd(err)
}
