package op

// Record is what stands at a key.
type Record struct {
	Value     []byte // not to be changed; good as long as the view, or for a command that is applied
	Version   uint64
	Deadline  int64 // ms since the Unix epoch, in the group's time; 0 is none
	Protected bool  // never evicted
}

// View is all that a read may see of a group.
type View interface {
	// Now is the time by which deadlines are judged, in ms since the Unix epoch.
	Now() int64
	// Lookup returns what stands at key. A record past its deadline is absent.
	Lookup(key []byte) (Record, bool)
	// Page returns up to limit keys of slot that come after the key after and start with
	// prefix, with their records. The keys of a slot have an order of their own, the same on all replicas;
	// an empty after is before all. It looks at about look records, at looked to be exact,
	// and then stops short. To go on, ask for what comes after next; without it there is no more.
	Page(slot uint16, after, prefix []byte, limit, look int) (page []Keyed, next []byte, looked int)
	// Decision returns what is kept of a transaction that this group has decided. It
	// must not be changed.
	Decision(id []byte) (Decision, bool)
}

// Keyed is a record with its key.
type Keyed struct {
	Key string
	Record
}

// State is all that a write may see and change: no wall clock, no network, no
// randomness. Its Now is the entry's: the leader's stamp, never going back.
type State interface {
	View
	Transactions
	// Store puts r at key under the slot's next version, which it returns, with whether
	// something stood there, makes
	// it the most recently used, and evicts others to stay under the group's byte
	// limit. It fails with KindOutOfMemory, and changes nothing, when protected
	// records leave no room.
	Store(key []byte, r Record) (version uint64, replaced bool, err *Error)
	// Amend changes the deadline and protection of an existing record, like Store
	// but without a new value. The key must be there.
	Amend(key []byte, deadline int64, protected bool) (version uint64)
	// Remove takes key away and returns the version of that change, or false if
	// nothing stood there.
	Remove(key []byte) (version uint64, existed bool)
	// Sweep removes up to limit records, sessions, and what is kept of transactions
	// that are past their end, then records over a limit that was lowered, and returns how
	// many.
	Sweep(limit int) int
	// Room makes room for grow more bytes that are not to be evicted, by removing what
	// is past its deadline. It fails with KindOutOfMemory when what is never evicted
	// leaves none.
	Room(grow int64) *Error
	// Cost returns the logical bytes of a record with a key and value so long.
	Cost(key, value int) int64
	// Together calls run and evicts only after it: nothing that run looks at is
	// evicted by what it has stored before. Calls do not nest.
	Together(run func())
	// OpenSession opens a session that ends after ttl ms without use.
	OpenSession(ttl int64) (id uint64, err *Error)
	// CloseSession ends a session, with the answers kept for it, and reports whether it
	// had not ended before.
	CloseSession(id uint64) (existed bool)
	// Configure sets the group's byte limit, unless settings of a later epoch hold
	// already. What is over it is evicted by this entry and later ones, some by each.
	Configure(s GroupSettings)
}

// GroupSettings are the settings that a group's state machine obeys. They change
// only through its log.
type GroupSettings struct {
	MaxBytes int64 // logical bytes of all records, sessions and transactions
	// Epoch is that of the cluster map they come from: a leader with an old map does not
	// bring old settings back.
	Epoch uint64
}
