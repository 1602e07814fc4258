// Package sharedlog is one log on disk for all replicas of a node.
//
// Appends that wait at the same time, of whatever replicas, go to disk with one write
// and one sync. A [View] is a replica's part: a raft.LogStore without gaps.
//
// # Files
//
// The log is a chain of segments, files of one size that are filled with zeros, or
// taken over from segments that are not needed any more, before they are written to. A
// segment begins with a header, which names the segment before it and where that ends,
// and goes on with flushes. A flush is what one write has put there: a header with its
// number and length, then records. The first flush of a segment begins with the bounds
// of all views, so that nothing in front of a segment is needed to read it but entries.
//
//	segment   header, flush…
//	flush     header, record…, zeros up to a multiple of 8 bytes
//	record    checksum, size, kind, body
//
// All checksums are CRC-32C and cover the segment's number and the offset: what an
// earlier user has left in a file never passes.
//
// # What a crash leaves
//
// A flush is written once the one before it is on disk. So only the last flush of the
// newest segment can be torn, and then nobody was told that it is there: it is dropped
// as a whole. Whatever else does not match is damage, and the log is refused: also a
// torn flush with a later one behind it. Nothing is ever written behind a place where
// reading has ended; the log goes on in a new segment, whose header says where the last
// one ends. The same happens after a write or a sync that failed, since nobody can say
// what of it is on disk: those who wait for it get the error, the segment ends in front
// of it, and the next flush goes into a new segment.
//
// # What is kept
//
// Only the oldest segment is ever given up, once no view needs it. If entries of views
// that are idle or lag behind keep it while most of the log is not needed any more,
// they are written once more at the end; so the log takes no more than [Config] says.
package sharedlog
