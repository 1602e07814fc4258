package lru

import "sync/atomic"

// node is an item in the cache: in its slot's table always, in the list if it is
// not protected, in the expiry order if it has a deadline. It fills an allocation
// of 96 bytes exactly.
type node struct {
	key            string
	value          []byte
	version        uint64
	deadline       int64 // changed by expiry.set only
	stamp          uint64
	older, younger *node         // nil if not in the list
	place          int           // index in the expiry order, if in there
	hinted         atomic.Uint32 // second of the last hint, 0 if none since the last move
	slot           uint16
	protected      bool
	old            bool // changed by order only
}

func (n *node) cost() int64 { return Cost(len(n.key), len(n.value)) }

func (n *node) item() Item {
	return Item{Value: n.value, Version: n.version, Deadline: n.deadline, Protected: n.protected, Stamp: n.stamp}
}

func (n *node) ref() Ref { return Ref{Slot: n.slot, Key: n.key, Item: n.item()} }
