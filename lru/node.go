package lru

import (
	"fmt"

	"github.com/ringraft/ringraft/internal/mutant"
)

// Limits of what a cache holds, in bytes. They leave room for flags.
const (
	MaxKey   = 1<<16 - 1
	MaxValue = 1<<29 - 1
)

func checkLengths(key, value []byte) error {
	if len(key) > MaxKey || len(value) > MaxValue {
		return fmt.Errorf("the key has %d bytes and the value %d; the limits are %d and %d", len(key), len(value), MaxKey, MaxValue)
	}
	return nil
}

// node is an item in the cache but for its key and value, which its cell holds: in its
// slot's table always, in the list if it is not protected, in the expiry order if it
// has a deadline. Other nodes and the table know it by its number, so it has no
// pointers and the garbage collector never looks at it.
//
// A node keeps its number until another one is removed: see Cache.release. Number 0 is
// the root of the list.
type node struct {
	version        uint64
	stamp          uint64
	older, younger uint32 // nodes; of one in the list
	value          uint32 // bytes, and flags: these change with the two before, so they lie beside them
	cell           uint32 // in the class of cells that the lengths give
	hinted         uint32 // second of the last hint, 0 if none since the last move; atomic, since readers write it
	key            uint16 // bytes
	slot           uint16
}

// Flags beside a value's length.
const (
	flagProtected = 1 << (31 - iota)
	flagOld       // changed by order only
	flagExpires   // changed by expiry only: the node is in the expiry order

	lengthMask = MaxValue
)

func (n *node) is(flag uint32) bool { return n.value&flag != 0 }

func (n *node) set(flag uint32, on bool) {
	n.value &^= flag
	if on {
		n.value |= flag
	}
}

func (n *node) keyLen() int   { return int(n.key) }
func (n *node) valueLen() int { return int(n.value & lengthMask) }
func (n *node) cost() int64   { return Cost(n.keyLen(), n.valueLen()) }

// listed reports whether the node, if attached, is in the list.
func (n *node) listed() bool { return !n.is(flagProtected) || mutant.EvictProtected }
