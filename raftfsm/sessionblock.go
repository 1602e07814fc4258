package raftfsm

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/ringraft/ringraft/op"
)

// A session block is a session in a snapshot: id (8 bytes), ttl (8), deadline (8) and
// floor (8), then its answers by ascending sequence, each
//
//	sequence (8)  length (4)  encoded result
//
// with all integers big-endian. It is never longer than the session's logical bytes.

const (
	sessionHead = 8 + 8 + 8 + 8
	answerHead  = 8 + 4
)

func appendSession(b []byte, x *session) []byte {
	b = binary.BigEndian.AppendUint64(b, x.id)
	b = binary.BigEndian.AppendUint64(b, uint64(x.ttl))
	b = binary.BigEndian.AppendUint64(b, uint64(x.deadline))
	b = binary.BigEndian.AppendUint64(b, x.floor)
	for _, a := range x.answers.list() {
		b = binary.BigEndian.AppendUint64(b, a.sequence)
		b = binary.BigEndian.AppendUint32(b, uint32(a.size()))
		b = a.appendTo(b)
	}
	return b
}

// decodeSession returns the session of a block.
func decodeSession(b []byte) (*session, error) {
	if len(b) < sessionHead {
		return nil, fmt.Errorf("%d bytes are too few for a session", len(b))
	}
	x := &session{
		id:       binary.BigEndian.Uint64(b),
		ttl:      int64(binary.BigEndian.Uint64(b[8:])),
		deadline: int64(binary.BigEndian.Uint64(b[16:])),
		floor:    binary.BigEndian.Uint64(b[24:]),
	}
	for rest := b[sessionHead:]; len(rest) > 0; {
		a, n, err := decodeAnswer(x.id, rest)
		if err != nil {
			return nil, fmt.Errorf("session %d: %w", x.id, err)
		}
		x.answers.memory = append(x.answers.memory, a)
		rest = rest[n:]
	}
	if err := x.check(); err != nil {
		return nil, fmt.Errorf("session %d: %w", x.id, err)
	}
	x.recount()
	return x, nil
}

// decodeAnswer returns the answer of a session that b starts with, and its length there.
func decodeAnswer(session uint64, b []byte) (answer, int, error) {
	if len(b) < answerHead {
		return answer{}, 0, errors.New("an answer is cut off")
	}
	sequence, size := binary.BigEndian.Uint64(b), uint64(binary.BigEndian.Uint32(b[8:]))
	body := b[answerHead:]
	if size > uint64(len(body)) {
		return answer{}, 0, fmt.Errorf("the answer to %d, of %d bytes, is cut off", sequence, size)
	}
	encoded := body[:size]
	if _, err := op.DecodeResult(encoded); err != nil {
		return answer{}, 0, fmt.Errorf("the answer to %d: %w", sequence, err)
	}
	return newAnswer(session, sequence, encoded), answerHead + int(size), nil
}

// check refuses what no state machine of this format writes.
func (x *session) check() error {
	switch {
	case x.ttl < op.MinSessionTTL || x.ttl > op.MaxSessionTTL:
		return fmt.Errorf("a ttl of %d ms", x.ttl)
	case x.floor == 0:
		return errors.New("sequence 0 is not acknowledged")
	case x.answers.len() > op.MaxUnacknowledged:
		return fmt.Errorf("%d answers are over the limit, %d", x.answers.len(), op.MaxUnacknowledged)
	}
	least := x.floor
	for _, a := range x.answers.list() {
		if a.sequence < least {
			return fmt.Errorf("the answer to %d comes where one to %d or later belongs", a.sequence, least)
		}
		least = a.sequence + 1
	}
	return nil
}

// checkSession refuses a session that the state of the header cannot have.
func (h header) checkSession(x *session) error {
	switch {
	case x.id > h.Opened:
		return fmt.Errorf("session %d: only %d were opened", x.id, h.Opened)
	case x.deadline < x.ttl || x.deadline-x.ttl > h.Time:
		return fmt.Errorf("session %d: deadline %d, at time %d with a ttl of %d", x.id, x.deadline, h.Time, x.ttl)
	}
	return nil
}
