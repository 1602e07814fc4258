// Package op is Ringraft's vocabulary: the operations that clients send, the
// results they get, the errors they branch on, and one encoding for all of it.
//
// An operation is one file: its doc, its fields, its codec, its limits and what
// it does to a group's state. The table in table.go lists them all; the server,
// the protocol document and the fuzz targets go by it.
//
// The encoding is MessagePack. A request is the array
//
//	[epoch, level, bound, command]
//
// a command, which is an operation with its place in a session, the array
//
//	[session, sequence, acknowledged, operation]
//
// an operation the array
//
//	[code, field…]
//
// and a result the array described at [Result]. A log entry carries commands in the
// very bytes in which the client sent them, see [Entry].
package op
