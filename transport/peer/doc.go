// Package peer carries everything that nodes say to each other: the Raft traffic
// of all groups, and calls of the layers above.
//
// # Connections
//
// Each node dials each other node that it has something to say to, or that has dialled
// it, and keeps that one connection: its requests go out on it, the answers come back.
// So there is one connection per ordered pair of nodes, however many groups they share.
// A snapshot travels on a connection of its own, so that it holds nothing up.
//
// The end of a process ends its connections, and its host refuses others: then the node
// is called gone, see [Config]. Silence never is.
//
// Both sides introduce themselves first, see [Identity]. Raft messages pass only
// between members of one cluster that know each other; calls pass also between
// nodes of which one has no cluster yet, so that clusters can form.
//
// # Frames
//
// After the handshake a connection carries frames, integers little-endian:
//
//	length  uint32  of the body, checked before memory is taken
//	sum     uint32  CRC-32C of the body
//	body:
//	  kind    uint8
//	  id      uint64  of the request; its answer repeats it
//	  target  uint8 length and as many bytes: the replica a Raft message is for
//	  payload
//
// Senders append frames to a buffer; one goroutine per connection writes whatever
// is there, so that frames of many groups share a system call. A frame of more than 256 KiB
// goes in parts, which are frames too, with what else there is between them: no group's
// heartbeats wait for another's large values.
//
// # What hashicorp/raft is offered, and what it is not
//
// [Network.Transport] returns a raft.Transport per replica. Four of its choices
// are deliberate:
//
//   - Heartbeats are handed to raft's main loop like every other message. The
//     handler that raft offers for them runs beside the main loop and races with
//     changes of term there (hashicorp/raft issue 695), after which replicas may
//     apply different commands at one index.
//   - Pipelining is refused: one refused append can block the pipeline for ever
//     while heartbeats look healthy (issue 612). Entries are batched above instead.
//   - AppendEntries shortens a long request in place. Raft looks at the same
//     request afterwards to see how far the follower got, and sends the rest next.
//   - AppendEntries tells of no commit beyond the entries that it sends. A follower may
//     have further ones, of another leader, and raft would apply them.
package peer
