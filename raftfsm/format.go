package raftfsm

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/cespare/xxhash/v2"

	"github.com/ringraft/ringraft/internal/mutant"
	"github.com/ringraft/ringraft/op"
)

// A snapshot is the magic, the format (4 bytes) and frames: the header, one block per
// slot that was ever written, by ascending slot, one per session, by ascending id, one
// per transaction's record, by ascending key, and the trailer. A frame is
//
//	payload length (8)  payload  CRC-32C of the payload (4)
//
// with all integers big-endian.

const (
	magic  = "RRSN"
	format = 4

	preambleSize = len(magic) + 4
	maxFrame     = 1 << 40 // bytes; far over what a slot can hold in memory
)

// header is what a state has beside its slots and sessions, and what to expect of these.
type header struct {
	MaxBytes     int64
	Epoch        uint64 // of the settings
	Time         int64
	Applied      uint64
	Stamp        uint64
	Opened       uint64 // sessions so far
	Slots        uint64 // blocks that follow
	Records      uint64
	Bytes        int64  // logical, of all records
	Sessions     uint64 // session blocks that follow the slots'
	SessionBytes int64  // logical, of all sessions
	Txns         uint64 // transactions' blocks that follow the sessions'
	TxnBytes     int64  // logical, of all these
}

// check refuses what no state machine of this format writes.
func (h header) check() error {
	switch {
	case h.Time < 0 || h.Time > maxTime:
		return fmt.Errorf("a time of %d", h.Time)
	case h.Bytes < 0 || h.SessionBytes < 0 || h.TxnBytes < 0:
		return fmt.Errorf("%d bytes of records, %d of sessions, %d of transactions", h.Bytes, h.SessionBytes, h.TxnBytes)
	case h.Txns > op.MaxParts+op.MaxDecisions:
		return fmt.Errorf("%d transactions are over the limit, %d", h.Txns, op.MaxParts+op.MaxDecisions)
	case h.Sessions > op.MaxSessions:
		return fmt.Errorf("%d sessions are over the limit, %d", h.Sessions, op.MaxSessions)
	}
	return nil
}

func (h header) settings() op.GroupSettings {
	return op.GroupSettings{MaxBytes: h.MaxBytes, Epoch: h.Epoch}
}

// trailer is what a reader compares with its own count.
type trailer struct {
	Records  uint64
	Digest   uint64 // of the state
	Checksum uint64 // xxhash64 of all bytes before the trailer's frame
}

func castagnoli(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

// frameWriter writes a snapshot's frames and keeps the checksum of all it wrote.
type frameWriter struct {
	out   *bufio.Writer
	whole *xxhash.Digest
}

func newFrameWriter(w io.Writer) *frameWriter {
	return &frameWriter{out: bufio.NewWriterSize(w, 64<<10), whole: xxhash.New()}
}

func (w *frameWriter) preamble() error {
	return w.write(binary.BigEndian.AppendUint32([]byte(magic), format))
}

// fields writes a frame of v, a struct of integers.
func (w *frameWriter) fields(v any) error {
	payload, err := binary.Append(nil, binary.BigEndian, v)
	if err != nil {
		return err
	}
	return w.frame(payload)
}

func (w *frameWriter) frame(payload []byte) error {
	if err := w.write(binary.BigEndian.AppendUint64(nil, uint64(len(payload)))); err != nil {
		return err
	}
	if err := w.write(payload); err != nil {
		return err
	}
	return w.write(binary.BigEndian.AppendUint32(nil, castagnoli(payload)))
}

func (w *frameWriter) write(b []byte) error {
	w.whole.Write(b) // never fails
	_, err := w.out.Write(b)
	return err
}

// frameReader reads a snapshot's frames and keeps the checksum of all it read. Its
// errors say at which byte of the snapshot they are.
type frameReader struct {
	in      *bufio.Reader
	whole   *xxhash.Digest
	offset  int64 // of the next byte
	payload bytes.Buffer
}

func newFrameReader(r io.Reader) *frameReader {
	return &frameReader{in: bufio.NewReaderSize(r, 64<<10), whole: xxhash.New()}
}

func (r *frameReader) preamble() error {
	b, err := r.take(uint64(preambleSize))
	switch {
	case err != nil:
		return err
	case string(b[:len(magic)]) != magic:
		return fmt.Errorf("it starts with %q where a snapshot has %q", b[:len(magic)], magic)
	}
	if got := binary.BigEndian.Uint32(b[len(magic):]); got != format {
		return fmt.Errorf("it has format %d; this program reads format %d", got, format)
	}
	return nil
}

// fields fills v, a pointer to a struct of integers, from the next frame.
func (r *frameReader) fields(v any) error {
	size := binary.Size(v)
	b, err := r.frame(uint64(size))
	if err != nil {
		return err
	}
	if len(b) != size {
		return fmt.Errorf("the frame before byte %d has %d bytes, want %d", r.offset, len(b), size)
	}
	_, err = binary.Decode(b, binary.BigEndian, v)
	return err
}

// frame returns the payload of the next frame, which has at most limit bytes. It is
// valid until the next call.
func (r *frameReader) frame(limit uint64) ([]byte, error) {
	start := r.offset
	b, err := r.take(8)
	if err != nil {
		return nil, err
	}
	size := binary.BigEndian.Uint64(b)
	if limit = min(limit, maxFrame); size > limit {
		return nil, fmt.Errorf("the frame at byte %d announces %d bytes; it can have %d at most", start, size, limit)
	}
	if b, err = r.take(size + 4); err != nil {
		return nil, err
	}
	payload := b[:size]
	if want := binary.BigEndian.Uint32(b[size:]); castagnoli(payload) != want && !mutant.SkipChecksum {
		return nil, fmt.Errorf("the frame at byte %d is damaged: its CRC-32C is %08x, want %08x", start, castagnoli(payload), want)
	}
	return payload, nil
}

// take returns the next n bytes. Memory is taken as they arrive, not as announced.
func (r *frameReader) take(n uint64) ([]byte, error) {
	r.payload.Reset()
	got, err := io.CopyN(&r.payload, r.in, int64(n))
	r.offset += got
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("it is cut off at byte %d: %w", r.offset, io.ErrUnexpectedEOF)
	}
	if err != nil {
		return nil, fmt.Errorf("read at byte %d: %w", r.offset, err)
	}
	r.whole.Write(r.payload.Bytes()) // never fails
	return r.payload.Bytes(), nil
}

// end refuses bytes behind the last frame.
func (r *frameReader) end() error {
	switch _, err := r.in.ReadByte(); {
	case err == nil:
		return fmt.Errorf("bytes follow its end at byte %d", r.offset)
	case !errors.Is(err, io.EOF):
		return fmt.Errorf("read at byte %d: %w", r.offset, err)
	}
	return nil
}
