package op

import (
	"bytes"

	"github.com/cespare/xxhash/v2"
)

// Slots is the number of slots of the key space.
const Slots = 4096

// SlotOf returns the slot of key: the top 12 bits of the xxhash64 of its hash tag,
// or of the whole key if it has none. As in Redis, the tag is what stands between
// the first '{' and the first '}' after it, if that is not empty; keys with the
// same tag share a slot. The key of an attached record names its slot.
func SlotOf(key []byte) uint16 {
	if len(key) > 0 && key[0] == attachedPrefix[0] {
		if slot, attached := attachedSlot(string(key)); attached {
			return slot
		}
	}
	return uint16(xxhash.Sum64(hashTag(key)) >> 52)
}

func hashTag(key []byte) []byte {
	open := bytes.IndexByte(key, '{')
	if open < 0 {
		return key
	}
	n := bytes.IndexByte(key[open+1:], '}')
	if n <= 0 {
		return key
	}
	return key[open+1 : open+1+n]
}
