package op

import (
	"encoding/binary"
	"strings"
)

// An attached record is what a front keeps beside the records of clients, such as the
// media type that came with a value. It is a record like others, in all respects but
// two: its key names the slot that it stands in, so that it can be written in one entry
// with the record that it belongs to, and scans pass over it.

// attachedPrefix is what the keys of attached records start with. The slot, big-endian,
// and the record's kind and name follow.
const attachedPrefix = "\x00ringraft\x00"

// AttachedKey returns the key of the attached record of a kind and name in slot.
func AttachedKey(slot uint16, kind byte, name []byte) []byte {
	b := make([]byte, 0, len(attachedPrefix)+3+len(name))
	b = binary.BigEndian.AppendUint16(append(b, attachedPrefix...), slot)
	return append(append(b, kind), name...)
}

// attachedSlot returns the slot that the key of an attached record names. Any other key
// is not attached.
func attachedSlot(key string) (slot uint16, attached bool) {
	rest, ok := strings.CutPrefix(key, attachedPrefix)
	if !ok || len(rest) < 3 {
		return 0, false
	}
	slot = uint16(rest[0])<<8 | uint16(rest[1])
	return slot, slot < Slots
}
