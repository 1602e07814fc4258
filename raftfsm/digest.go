package raftfsm

import (
	"math/bits"

	"github.com/cespare/xxhash/v2"

	"github.com/ringraft/ringraft/lru"
	"github.com/ringraft/ringraft/op"
)

// A digest is a sum, modulo 2^64, of one term for each fact of a state. A sum needs
// no order, and a change takes the old term off and adds the new one, so the digest
// is known at every index without a walk over the records.
//
// A term is a hash of six words; the low byte of the first says which fact it is. Keys,
// values and results stand in by their xxhash64.

const (
	termRecord  = iota + 1 // kind | slot | protected, key, value, version, deadline, 0
	termOrder              // kind, key, stamp, 0…
	termSlot               // kind | slot, version counter, 0…
	termGroup              // kind, max bytes, time, stamp count, sessions opened, 0
	termSession            // kind, id, ttl, deadline, floor, 0
	termAnswer             // kind, session, sequence, encoded result, 0…
	termTxn                // kind, key of the transaction's record, encoded record, 0…
)

// salts are odd numbers whose bits have no order: those of wyhash.
const (
	salt0 = 0xa0761d6478bd642f
	salt1 = 0xe7037ed1a0b428db
	salt2 = 0x8ebc6af09c88c6e3
	salt3 = 0x589965cc75374cc3
)

// term folds six words into one. A write changes eight terms, so this has to cost little.
func term(a, b, c, d, e, f uint64) uint64 {
	h := fold(a^salt0, b^salt1)
	h = fold(c^h, d^salt2)
	h = fold(e^h, f^salt3)
	return fold(h^salt1, salt0)
}

// fold mixes two words by the two halves of their product.
func fold(a, b uint64) uint64 {
	high, low := bits.Mul64(a, b)
	return high ^ low
}

// itemTerms is the terms of a record, whose key has that hash, and of its place in the order.
func itemTerms(slot uint16, key uint64, it lru.Item) uint64 {
	head := termRecord | uint64(slot)<<8
	if it.Protected {
		head |= 1 << 32
	}
	return term(head, key, xxhash.Sum64(it.Value), it.Version, uint64(it.Deadline), 0) + orderTerm(key, it.Stamp)
}

// orderTerm takes the key's hash.
func orderTerm(key, stamp uint64) uint64 { return term(termOrder, key, stamp, 0, 0, 0) }

// slotTerm is 0 for a slot in which nothing was ever written.
func slotTerm(slot uint16, version uint64) uint64 {
	if version == 0 {
		return 0
	}
	return term(termSlot|uint64(slot)<<8, version, 0, 0, 0, 0)
}

func groupTerm(s op.GroupSettings, time int64, stamp, opened uint64) uint64 {
	return term(termGroup, uint64(s.MaxBytes), uint64(time), stamp, opened, s.Epoch)
}
