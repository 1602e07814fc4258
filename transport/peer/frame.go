package peer

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
)

// kind says what a frame is. The numbers are the protocol: they never change meaning.
type kind uint8

const (
	kindHello      kind = 1  // the dialer introduces itself
	kindWelcome    kind = 2  // the answer to it
	kindReply      kind = 3  // a request's answer
	kindRefused    kind = 4  // a request that was not looked at; payload: why
	kindFailed     kind = 5  // a request that ended in an error; payload: its text
	kindPing       kind = 6  // answered by an empty reply
	kindCall       kind = 7  // payload: time left in ms, request
	kindAppend     kind = 8  // a raft.AppendEntriesRequest
	kindVote       kind = 9  // a raft.RequestVoteRequest
	kindPreVote    kind = 10 // a raft.RequestPreVoteRequest
	kindTimeoutNow kind = 11 // a raft.TimeoutNowRequest
	kindInstall    kind = 12 // a raft.InstallSnapshotRequest; chunks follow
	kindChunk      kind = 13 // the next bytes of a snapshot
	kindEnd        kind = 14 // the snapshot is complete

	kindBeats       kind = 15 // heartbeats, see heartbeat.go
	kindBeatReplies kind = 16 // answers to them
	kindPart        kind = 17 // a part of a long frame; id: how many bytes of it follow
)

const (
	headSize    = 8                // length and sum
	minBodySize = 1 + 8 + 1        // kind, id, length of the target
	maxTarget   = 255              // bytes of a replica's id
	readStep    = 64 << 10         // bytes: memory a frame gets before any of it has arrived
	maxText     = 1 << 10          // bytes of an error's text
	minFrame    = minBodySize + 64 // bytes: the smallest bound that a Config may set
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

// frame is one message. Its slices alias one buffer that belongs to the frame alone.
type frame struct {
	kind    kind
	id      uint64
	target  []byte
	payload []byte
}

// appendFrame appends a frame to b. The payload is what encode appends; nil: nothing.
func appendFrame(b []byte, k kind, id uint64, target string, encode func([]byte) []byte) []byte {
	start := len(b)
	b = append(b, make([]byte, headSize)...)
	b = append(b, byte(k))
	b = binary.LittleEndian.AppendUint64(b, id)
	b = append(append(b, byte(len(target))), target...)
	if encode != nil {
		b = encode(b)
	}
	body := b[start+headSize:]
	binary.LittleEndian.PutUint32(b[start:], uint32(len(body)))
	binary.LittleEndian.PutUint32(b[start+4:], checksum(body))
	return b
}

// readFrame reads a frame whose body has at most limit bytes. The error is io.EOF
// only if the stream ends between frames.
func readFrame(r *bufio.Reader, limit int) (frame, error) {
	head, err := r.Peek(headSize)
	if err != nil {
		if err == io.EOF && len(head) > 0 {
			err = io.ErrUnexpectedEOF
		}
		return frame{}, err
	}
	size := int64(binary.LittleEndian.Uint32(head))
	sum := binary.LittleEndian.Uint32(head[4:])
	if size < minBodySize || size > int64(limit) {
		return frame{}, fmt.Errorf("frame of %d bytes, want %d to %d", size, minBodySize, limit)
	}
	if _, err := r.Discard(headSize); err != nil {
		return frame{}, err
	}
	body, err := readBody(r, int(size))
	if err != nil {
		return frame{}, err
	}
	return checkBody(body, sum)
}

// checkBody takes a body of at least minBodySize bytes apart that should have this sum.
func checkBody(body []byte, sum uint32) (frame, error) {
	if checksum(body) != sum {
		return frame{}, errors.New("frame is damaged: its checksum differs")
	}
	return parseBody(body)
}

// readBody reads n bytes. It takes memory as they arrive, so a length that is a lie
// costs its teller as much as us.
func readBody(r io.Reader, n int) ([]byte, error) {
	b := make([]byte, 0, min(n, readStep))
	for len(b) < n {
		b = slices.Grow(b, min(n-len(b), max(len(b), readStep)))
		m, err := io.ReadFull(r, b[len(b):min(cap(b), n)])
		b = b[:len(b)+m]
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return nil, err
		}
	}
	return b, nil
}

// parseBody takes a body of at least minBodySize bytes apart.
func parseBody(b []byte) (frame, error) {
	f := frame{kind: kind(b[0]), id: binary.LittleEndian.Uint64(b[1:])}
	rest, size := b[minBodySize:], int(b[minBodySize-1])
	if size > len(rest) {
		return frame{}, fmt.Errorf("frame is malformed: target of %d bytes, %d are left", size, len(rest))
	}
	f.target, f.payload = rest[:size:size], rest[size:len(rest):len(rest)]
	return f, nil
}

// appendText returns an encoder of an error's text, cut to maxText.
func appendText(text string) func([]byte) []byte {
	return func(b []byte) []byte { return append(b, text[:min(len(text), maxText)]...) }
}
