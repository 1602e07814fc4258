package resp

import (
	"context"

	"github.com/ringraft/ringraft/op"
)

// Node is what the front needs of the node that it belongs to.
type Node interface {
	// Serve answers a request, and must not block. A write is done once, wherever that can
	// be, and its answer is final. A read is answered here, or refused.
	Serve(req op.Request, reply op.Replier)
	// Again answers a read that Serve has refused from wherever that can be done, and does
	// not block. It may answer with the refusal, of which it keeps a copy.
	Again(req op.Request, refusal *op.Error, reply func(op.Result))
	// LookUp answers the first of asked, as many as can be at once and as answer says
	// that there is room for, in their order. It returns how many those were. answer must
	// not block, and keeps nothing that res refers to; LookUp does not keep the keys.
	LookUp(asked []op.Lookup, answer func(i int, res *op.Result) (more bool)) (n int)
	// Do answers a request from wherever that can be done, until ctx ends; a write is done
	// once. The caller owns the result's memory.
	Do(ctx context.Context, req op.Request) op.Result
	// Group returns the group that owns a slot, 0 while the cluster has no map.
	Group(slot uint16) uint64
	// Shown returns the last log index of which the replica of a group here shows something,
	// 0 if there is none. All of it is shown when its entry has been applied whole.
	Shown(group uint64) uint64
	// Place tells more of the owner of a slot.
	Place(slot uint16) Place
	// Now returns the node's time in ms since the Unix epoch.
	Now() int64
	// Settings are the cluster's, by name, as op.SetConfig takes them.
	Settings() map[string]string
	// ID is the node's name.
	ID() string
}

// Place is where a slot stands in the cluster map.
type Place struct {
	Last     uint16 // the last slot of the run of slots that have the same owner
	Replicas int    // of that group
}
