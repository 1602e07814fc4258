package raftfsm

import (
	"encoding/binary"
	"fmt"

	"github.com/ringraft/ringraft/lru"
	"github.com/ringraft/ringraft/op"
)

// A block is a slot in a snapshot: its number (2 bytes) and version counter (8), then
// its records in any order, each
//
//	key length (4)  value length (4)  version (8)  deadline (8)  stamp (8)  flags (1)  key  value
//
// with all integers big-endian. That is less than what lru counts for a record, so a
// block is never longer than blockHead and its records' logical bytes.

const (
	blockHead  = 2 + 8
	recordHead = 4 + 4 + 8 + 8 + 8 + 1

	flagProtected = 1
)

func appendBlockHead(b []byte, slot uint16, version uint64) []byte {
	b = binary.BigEndian.AppendUint16(b, slot)
	return binary.BigEndian.AppendUint64(b, version)
}

func appendRecord(b []byte, ref lru.Ref) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(len(ref.Key)))
	b = binary.BigEndian.AppendUint32(b, uint32(len(ref.Value)))
	b = binary.BigEndian.AppendUint64(b, ref.Version)
	b = binary.BigEndian.AppendUint64(b, uint64(ref.Deadline))
	b = binary.BigEndian.AppendUint64(b, ref.Stamp)
	var flags byte
	if ref.Protected {
		flags = flagProtected
	}
	b = append(b, flags)
	b = append(b, ref.Key...)
	return append(b, ref.Value...)
}

// block reads an encoded block: next steps to the next record, until it is false;
// then err says whether that was the end.
type block struct {
	slot    uint16
	version uint64

	key  []byte   // of the record that next stepped to; aliases the block
	item lru.Item // its value aliases the block
	err  error

	rest []byte
}

func openBlock(b []byte) (*block, error) {
	if len(b) < blockHead {
		return nil, fmt.Errorf("%d bytes are too few for a block", len(b))
	}
	slot := binary.BigEndian.Uint16(b)
	if slot >= op.Slots {
		return nil, fmt.Errorf("slot %d is over the last one, %d", slot, op.Slots-1)
	}
	return &block{slot: slot, version: binary.BigEndian.Uint64(b[2:]), rest: b[blockHead:]}, nil
}

func (b *block) next() bool {
	if b.err != nil || len(b.rest) == 0 {
		return false
	}
	if len(b.rest) < recordHead {
		b.err = fmt.Errorf("slot %d: a record is cut off", b.slot)
		return false
	}
	head, body := b.rest[:recordHead], b.rest[recordHead:]
	key, value := uint64(binary.BigEndian.Uint32(head)), uint64(binary.BigEndian.Uint32(head[4:]))
	if key+value > uint64(len(body)) {
		b.err = fmt.Errorf("slot %d: a record of %d bytes is cut off", b.slot, key+value)
		return false
	}
	b.key, b.rest = body[:key], body[key+value:]
	b.item = lru.Item{
		Value:     body[key : key+value : key+value],
		Version:   binary.BigEndian.Uint64(head[8:]),
		Deadline:  int64(binary.BigEndian.Uint64(head[16:])),
		Stamp:     binary.BigEndian.Uint64(head[24:]),
		Protected: head[32] == flagProtected,
	}
	b.err = b.check(head[32])
	return b.err == nil
}

// check refuses what no state machine of this format writes.
func (b *block) check(flags byte) error {
	switch {
	case flags > flagProtected:
		return fmt.Errorf("slot %d, key %q: flags %#x are unknown", b.slot, b.key, flags)
	case b.item.Version > b.version:
		return fmt.Errorf("slot %d, key %q: version %d is over the slot's counter, %d", b.slot, b.key, b.item.Version, b.version)
	case op.SlotOf(b.key) != b.slot:
		return fmt.Errorf("slot %d, key %q: the key belongs to slot %d", b.slot, b.key, op.SlotOf(b.key))
	}
	return nil
}
