package raftfsm

import (
	"encoding/binary"

	"github.com/cespare/xxhash/v2"

	"github.com/ringraft/ringraft/lru"
	"github.com/ringraft/ringraft/op"
)

// A digest is a sum, modulo 2^64, of one term for each fact of a state. A sum needs
// no order, and a change takes the old term off and adds the new one, so the digest
// is known at every index without a walk over the records.
//
// A term is the xxhash64 of six words, little-endian; the low byte of the first says
// which fact it is. Keys, values and
// results stand in by their own xxhash64.

const (
	termRecord  = iota + 1 // kind | slot | protected, key, value, version, deadline, 0
	termOrder              // kind, key, stamp, 0…
	termSlot               // kind | slot, version counter, 0…
	termGroup              // kind, max bytes, time, stamp count, sessions opened, 0
	termSession            // kind, id, ttl, deadline, floor, 0
	termAnswer             // kind, session, sequence, encoded result, 0…
	termTxn                // kind, key of the transaction's record, encoded record, 0…
)

func term(words [6]uint64) uint64 {
	var b [48]byte
	for i, w := range words {
		binary.LittleEndian.PutUint64(b[8*i:], w)
	}
	return xxhash.Sum64(b[:])
}

// itemTerms is the terms of a record and of its place in the order.
func itemTerms(slot uint16, key []byte, it lru.Item) uint64 {
	k := xxhash.Sum64(key)
	head := termRecord | uint64(slot)<<8
	if it.Protected {
		head |= 1 << 32
	}
	return term([6]uint64{head, k, xxhash.Sum64(it.Value), it.Version, uint64(it.Deadline)}) + orderTerm(k, it.Stamp)
}

// orderTerm takes the key's hash.
func orderTerm(key, stamp uint64) uint64 { return term([6]uint64{termOrder, key, stamp}) }

// slotTerm is 0 for a slot in which nothing was ever written.
func slotTerm(slot uint16, version uint64) uint64 {
	if version == 0 {
		return 0
	}
	return term([6]uint64{termSlot | uint64(slot)<<8, version})
}

func groupTerm(s op.GroupSettings, time int64, stamp, opened uint64) uint64 {
	return term([6]uint64{termGroup, uint64(s.MaxBytes), uint64(time), stamp, opened, s.Epoch})
}
