package bench

import (
	"context"
	"strconv"
)

// Store is what a load is put on.
type Store interface {
	// Caller returns the way of the n-th caller to the store.
	Caller(n int) Caller
	// Groups is how many parts the store has that can fail on their own, at least 1.
	Groups() int
	// Group is the part that key belongs to, from 0.
	Group(key []byte) int
}

// Caller carries requests to a store. One goroutine uses it at a time.
type Caller interface {
	// Do sends the requests together, waits for their answers and sets each Err. It
	// keeps to a deadline of its own. It is not called off by ctx where that would
	// leave the outcome of a write unknown.
	Do(ctx context.Context, batch []Request)
	// Close frees what the caller holds. It may be called again.
	Close() error
}

// Request is one operation of a load: a read, or a write, of one key.
type Request struct {
	Read  bool
	Key   []byte // the load's, which uses it again
	Value []byte // of a write; others share it
	// Err is why there is no answer. That nothing stands at the key is an answer. It
	// matches op.ErrUnknownOutcome where a write may have happened.
	Err error

	start int64 // ns from the measurement's start: when it was sent, or due
}

// AppendKey appends the name of the n-th key.
func AppendKey(b []byte, n int) []byte {
	return strconv.AppendInt(append(b, "bench:"...), int64(n), 10)
}
