package op

import (
	"errors"
	"fmt"
)

// What callers branch on with errors.Is. An outcome is one of three: done, refused
// (ErrRefused and ErrUnavailable: nothing happened), or unknown.
var (
	ErrNotFound       = errors.New("not found")
	ErrRefused        = errors.New("refused")
	ErrOutOfMemory    = errors.New("out of memory")
	ErrUnavailable    = errors.New("unavailable")
	ErrUnknownOutcome = errors.New("outcome unknown")
	ErrSessionEnded   = errors.New("session ended")
)

// Kind says what an [Error] means to a caller. Kinds cross the wire: their numbers
// are fixed.
type Kind uint8

const (
	// KindInvalid: the request breaks a rule. Sending it again cannot help.
	KindInvalid Kind = 1
	// KindOutOfMemory: only protected records are left to make room.
	KindOutOfMemory Kind = 2
	// KindWrongNode: another node serves this. Error.Node names it where known.
	KindWrongNode Kind = 3
	// KindUnavailable: nobody can serve this now, and nothing happened.
	KindUnavailable Kind = 4
	// KindUnknown: the operation may or may not have been applied.
	KindUnknown Kind = 5
	// KindConflict: the state does not allow it, as adding to a value that is no number.
	KindConflict Kind = 6
	// KindSessionEnded: the session is unknown, or has ended. This try did nothing; an
	// earlier one of the same write may have.
	KindSessionEnded Kind = 7
	// KindLocked: a transaction that is not finished yet has locked a key. Nothing
	// happened; the lock is soon gone.
	KindLocked Kind = 8
)

// Error is how a request fails. It matches ErrRefused, ErrOutOfMemory,
// ErrSessionEnded, ErrUnavailable or ErrUnknownOutcome by its kind.
type Error struct {
	Kind    Kind
	Field   string // the field or flag at fault, if one is
	Message string // for people: says the limit that was passed
	Node    string // KindWrongNode: the id of the node to ask, "" if unknown
	Epoch   uint64 // KindWrongNode: the epoch of the map that says so
}

func (e *Error) Error() string {
	if e.Field != "" {
		return e.Field + ": " + e.Message
	}
	return e.Message
}

// Is makes errors.Is work with the sentinels of this package. A nil *Error, as in the
// Result of an operation that was done, matches none.
func (e *Error) Is(target error) bool {
	if e == nil {
		return false
	}
	switch e.Kind {
	case KindInvalid, KindConflict:
		return target == ErrRefused
	case KindOutOfMemory:
		return target == ErrOutOfMemory || target == ErrRefused
	case KindWrongNode, KindUnavailable, KindLocked:
		return target == ErrUnavailable
	case KindUnknown:
		return target == ErrUnknownOutcome
	case KindSessionEnded:
		return target == ErrSessionEnded || target == ErrRefused
	}
	return false
}

// Invalid returns an Error that names the field and says what is wrong with it.
func Invalid(field, format string, args ...any) *Error {
	return &Error{Kind: KindInvalid, Field: field, Message: fmt.Sprintf(format, args...)}
}

// Unavailable returns an Error for a request that did not happen and may be tried again.
func Unavailable(format string, args ...any) *Error {
	return &Error{Kind: KindUnavailable, Message: fmt.Sprintf(format, args...)}
}

// UnknownOutcome returns an Error for a request that may have happened.
func UnknownOutcome(format string, args ...any) *Error {
	return &Error{Kind: KindUnknown, Message: fmt.Sprintf(format, args...)}
}

func (e *Error) appendTo(b []byte) []byte {
	b = appendArray(b, 5)
	b = appendUint(b, uint64(e.Kind))
	b = appendString(b, e.Field)
	b = appendString(b, e.Message)
	b = appendString(b, e.Node)
	return appendUint(b, e.Epoch)
}

func (r *reader) opError() *Error {
	if n := r.array("error"); n != 5 {
		r.fail("error: %d elements, want 5", n)
		return nil
	}
	return &Error{
		Kind:    Kind(r.uint("error.kind")),
		Field:   string(r.bytes("error.field")),
		Message: string(r.bytes("error.message")),
		Node:    string(r.bytes("error.node")),
		Epoch:   r.uint("error.epoch"),
	}
}
