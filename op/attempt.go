package op

import "bytes"

// A transaction over several groups is carried out by a node, its coordinator, in
// attempts. Each other group prepares its part: it locks the keys and keeps what is to
// be written. The home group, that of the least slot, then does its own part and records
// the decision, in one entry. After that the others finish. See
// docs/decisions/0011-cross-group-transactions.md.

const (
	// TxnIDSize is the length of a transaction's id, in bytes.
	TxnIDSize = 16
	// TxnPatience is how long after its beginning an attempt can be committed, in ms.
	TxnPatience = 5000
	// MaxTxnSkew is how far ahead of a group's time an attempt's deadline may lie: more
	// than TxnPatience, by what clocks may differ.
	MaxTxnSkew = 2 * TxnPatience
	// DecisionTTL is how long a decision can be asked for once it has been carried
	// out, in ms of the home group's time, unless memory for them runs out;
	// TxnLateness is how long after its deadline even then.
	DecisionTTL = 3600 * 1000
	TxnLateness = 20_000
	// MaxParts bounds the parts of transactions that a group keeps, MaxDecisions the
	// decisions.
	MaxParts     = 4096
	MaxDecisions = 32768
)

// Outcome is what became of a transaction. Outcomes cross the wire.
type Outcome uint8

// The outcomes. Undecided also stands for what nobody remembers.
const (
	Undecided Outcome = 0
	Committed Outcome = 1
	Aborted   Outcome = 2
)

// String returns the outcome's name.
func (o Outcome) String() string {
	switch o {
	case Committed:
		return "committed"
	case Aborted:
		return "aborted"
	}
	return "undecided"
}

// Attempt is one attempt at a transaction. A transaction is committed by one attempt
// at most, whoever begins how many.
type Attempt struct {
	ID       []byte // of the transaction, TxnIDSize bytes
	Number   uint64 // of the attempt: its coordinator draws it at random
	Home     uint16 // the slot whose group decides
	Deadline int64  // ms since the Unix epoch, in any group's time: none prepares or commits after it
}

// GroupIndex is the log index of a group that an answer shows. The Detail of a
// transaction with an ID holds a list of them.
type GroupIndex struct {
	Group uint64 `codec:"group"`
	Index uint64 `codec:"index"`
}

// same reports whether b is the same attempt at the same transaction.
func (a Attempt) same(b Attempt) bool { return a.Number == b.Number && bytes.Equal(a.ID, b.ID) }

func (a Attempt) check() *Error {
	if a.Home >= Slots {
		return Invalid("home", "is %d; the last slot is %d", a.Home, Slots-1)
	}
	return checkTxnID(a.ID)
}

func checkTxnID(id []byte) *Error {
	if len(id) != TxnIDSize {
		return Invalid("id", "has %d bytes; a transaction's has %d", len(id), TxnIDSize)
	}
	return nil
}

// timely refuses an attempt that is too late, or whose deadline no clock near the
// group's can have given.
func (a Attempt) timely(now int64) *Error {
	switch {
	case now > a.Deadline:
		return Unavailable("the transaction's deadline passed %d ms ago", now-a.Deadline)
	case a.Deadline-now > MaxTxnSkew:
		return Unavailable("the transaction's deadline lies %d ms ahead; %d is the most", a.Deadline-now, MaxTxnSkew)
	}
	return nil
}

// appendTo appends [id, number, home, deadline].
func (a Attempt) appendTo(b []byte) []byte {
	b = appendBytes(appendArray(b, 4), a.ID)
	b = appendUint(appendUint(b, a.Number), uint64(a.Home))
	return appendInt(b, a.Deadline)
}

func (r *reader) attempt() Attempt {
	if n := r.array("attempt"); n != 4 {
		r.fail("attempt: %d elements, want 4", n)
		return Attempt{}
	}
	return Attempt{ID: r.bytes("id"), Number: r.uint("number"), Home: r.slot("home"), Deadline: r.int("deadline")}
}

func (r *reader) slot(field string) uint16 {
	slot := r.uint(field)
	if slot >= Slots {
		r.fail("%s: slot %d is over the last one, %d", field, slot, Slots-1)
		return 0
	}
	return uint16(slot)
}

// Locked returns the refusal of an operation on a key that a transaction has locked.
func Locked(key []byte) *Error {
	return &Error{Kind: KindLocked, Message: "a transaction has locked the key " + quoted(key)}
}
