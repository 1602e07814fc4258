// Package mutant plants faults, to prove that the tests find them. In a build without
// tags every constant here is false, so the compiler removes what stands behind it.
//
// A build with the tags mutant and mutant_x has the fault x, and no other. The program
// integration/mutants makes these builds and says which test caught which fault.
package mutant

// Faults of the order of writes, within one group.
const (
	// SkipCondition: every condition holds.
	SkipCondition = planted == "skipcondition"
	// ClampUnasked: a sum out of bounds is taken to the bound and called a success, so
	// the last seat is sold twice.
	ClampUnasked = planted == "clampunasked"
	// ReuseVersion: each key counts its own versions, and from 1 again after a delete.
	ReuseVersion = planted == "reuseversion"
	// PartialTxn: the parts of a transaction are done without a rehearsal, those before
	// the one that fails too.
	PartialTxn = planted == "partialtxn"
	// AckAtPropose: a write is acknowledged when Raft is given it, before a quorum has it.
	AckAtPropose = planted == "ackatpropose"
	// ApplyBeforeDisk: a leader applies, and so acknowledges, an entry that is on disk at
	// one other replica and not here.
	ApplyBeforeDisk = planted == "applybeforedisk"
	// TellBeforeDisk: a leader lets followers apply such an entry.
	TellBeforeDisk = planted == "tellbeforedisk"
	// LostIsRefused: an entry whose leader lost its office while it was under way counts
	// as one that was never taken.
	LostIsRefused = planted == "lostisrefused"
)

// Faults of exactly-once.
const (
	// ExecuteTwice: a repeat is executed, though its first answer is kept.
	ExecuteTwice = planted == "executetwice"
	// ForgetSessions: a restored snapshot has no sessions.
	ForgetSessions = planted == "forgetsessions"
	// NewSequence: the client repeats a write under another number.
	NewSequence = planted == "newsequence"
)

// Faults of transactions over several groups.
const (
	// IgnoreLocks: a write does not see that a transaction has locked its key.
	IgnoreLocks = planted == "ignorelocks"
	// HalfVisible: a linearizable read does not wait for a transaction that is prepared.
	HalfVisible = planted == "halfvisible"
	// FinishUndecided: the participants are told to commit before the home group has
	// decided.
	FinishUndecided = planted == "finishundecided"
	// LateCommit: the home group commits an attempt after its deadline.
	LateCommit = planted == "latecommit"
)

// Faults of reads.
const (
	// SkipRound: a leader answers linearizable reads without asking a majority.
	SkipRound = planted == "skipround"
	// StaleProof: a bounded read is answered by a proof of any age.
	StaleProof = planted == "staleproof"
	// SessionAtOnce: a session's read does not wait for the index it must show.
	SessionAtOnce = planted == "sessionatonce"
)

// Faults of time, order and eviction.
const (
	// LocalClock: group time follows the clock of a node that reads, so that it judges
	// deadlines by its own clock from then on.
	LocalClock = planted == "localclock"
	// TimeGoesBack: group time is that of the last entry, even if it is an earlier one.
	TimeGoesBack = planted == "timegoesback"
	// LocalTouch: a read moves the record on its own replica instead of telling the leader.
	LocalTouch = planted == "localtouch"
	// StaleTouch: a touch moves a record that is not old any more, as that of a leader
	// of before would.
	StaleTouch = planted == "staletouch"
	// EvictProtected: protected records are in the list of what may be evicted.
	EvictProtected = planted == "evictprotected"
)

// Faults of what is kept and of who belongs to a cluster.
const (
	// SkipChecksum: a snapshot is restored though its checksums do not match.
	SkipChecksum = planted == "skipchecksum"
	// SkipLogChecksum: a log entry is read though its checksum does not match.
	SkipLogChecksum = planted == "skiplogchecksum"
	// SkipSync: the shared log does not sync what it writes.
	SkipSync = planted == "skipsync"
	// SkipDirSync: the shared log does not sync the names of its files.
	SkipDirSync = planted == "skipdirsync"
	// WriteBehindFailure: the shared log writes on behind a flush that failed.
	WriteBehindFailure = planted == "writebehindfailure"
	// VoteByError: a node without the replica that is asked for its pre-vote answers in
	// words that Raft takes for a vote.
	VoteByError = planted == "votebyerror"
	// WipedMember: a member that comes with an empty data directory is let in.
	WipedMember = planted == "wipedmember"
)
