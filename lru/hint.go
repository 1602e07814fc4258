package lru

import "sync/atomic"

// HintExpiry is for how many seconds an item that got a hint gets no other. A hint
// may be lost on its way to the leader, so it must not count for ever.
const HintExpiry = 4

// Hint reports whether a read of the item that was found, at second now, should be told to
// the leader: the item is old, and no read got this answer since it last moved or
// within HintExpiry seconds. Of readers that ask at once, one gets it.
//
// Hints are this replica's own. They are no part of the state that replicas agree on.
func (s *Search) Hint(now uint32) bool {
	return s.node.is(flagOld) && s.node.hint(now)
}

// hint marks the node as hinted at second now, unless another hint still counts.
func (n *node) hint(now uint32) bool {
	now = max(now, 1) // 0 says that there was no hint
	last := atomic.LoadUint32(&n.hinted)
	// A reader may bring a second older than the last hint's: the difference has a sign.
	if last != 0 && int32(now-last) < HintExpiry {
		return false
	}
	return atomic.CompareAndSwapUint32(&n.hinted, last, now)
}
