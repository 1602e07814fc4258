// Package storage is what a node keeps on disk: its identity, and for each of
// its replicas a log, a stable store for term and vote, and snapshots.
//
//	<data>/
//	  lock                 held while the directory is open
//	  identity.json        who the node is, the kind of its logs, and its cluster
//	  cluster-map          the last one known
//	  log/                 LogShared: the segments of all replicas' log
//	  groups/
//	    7.quarantined      why the node keeps group 7 out of service
//	    7.1.born           the replica was bootstrapped once
//	    7.1/               the replica of group 7, generation 1
//	      stable.db        term and vote (bolt)
//	      log/             LogWAL: segments and wal-meta.db (raft-wal)
//	      log.db           LogBolt: the log
//	      snapshots/       the newest snapshot
//
// A thing that is missing or damaged is refused with what to do about it. Nothing
// ever starts empty in the place of something that was there: a replica that
// forgot its vote or its log could take back what it has acknowledged.
//
// [Memory] has the methods of [Dir] and keeps everything in memory, for
// simulations.
package storage
