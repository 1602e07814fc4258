// Package shard is a node: the Raft groups it hosts and the way of a request
// through them.
//
// A [Node] routes an operation by its slots to a [group]. Writes go to the group's
// batcher and come back as an entry's result; reads are answered by the local
// replica, or by the leader after a read-index round. Group 0, the meta group, owns
// the cluster map, from which every node learns what to host.
//
// The package knows no sockets: it is called through [Node.Serve] and
// [Node.HandleCall], and reaches other nodes through [Peers].
package shard
