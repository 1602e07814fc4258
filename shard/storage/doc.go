// Package storage is what a node keeps on disk: its identity, and for each of
// its replicas a log, a stable store for term and vote, and snapshots.
//
//	<data>/
//	  lock                 held while the directory is open
//	  identity.json        who the node is, and the cluster it belongs to
//	  cluster-map          the last one known
//	  groups/
//	    7.quarantined      why the node keeps group 7 out of service
//	    7.1.born           the replica was bootstrapped once
//	    7.1/               the replica of group 7, generation 1
//	      stable.db        term and vote (bolt)
//	      log/             segments and wal-meta.db (raft-wal)
//	      snapshots/       the two newest snapshots
//
// A thing that is missing or damaged is refused with what to do about it. Nothing
// ever starts empty in the place of something that was there: a replica that
// forgot its vote or its log could take back what it has acknowledged.
//
// [Memory] has the methods of [Dir] and keeps everything in memory, for
// simulations.
package storage
