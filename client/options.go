package client

import (
	"time"

	"github.com/ringraft/ringraft/op"
)

// The levels of reads.
const (
	// Local is answered by any replica: a committed value, perhaps old. It is the
	// level of a read that names none.
	Local = op.Local
	// Linearizable is answered by the leader: the latest value.
	Linearizable = op.Linearizable
)

// ReadOption changes how a read is done.
type ReadOption func(*readOptions)

type readOptions struct {
	level  op.Level
	values bool
}

// WithLevel asks for an answer no older than the level allows: Local or Linearizable.
func WithLevel(level op.Level) ReadOption {
	return func(o *readOptions) { o.level = level }
}

// WithValues makes a scan return values, not only keys, versions and times to live.
func WithValues() ReadOption {
	return func(o *readOptions) { o.values = true }
}

func newReadOptions(opts []ReadOption) readOptions {
	if len(opts) == 0 {
		return readOptions{} // and no memory for what options would change
	}
	var o readOptions
	for _, opt := range opts {
		opt(&o)
	}
	return o
}

// WriteOption changes what Set and SetMany store.
type WriteOption func(*writeOptions)

type writeOptions struct {
	ttl       int64 // ms; 0 is none
	keepTTL   bool
	protected bool
	err       *op.Error // the first option that is out of bounds
}

// WithTTL makes the record end after d, counted from the moment the cluster takes the
// write. d must be at least 1 ms; a part of a millisecond counts as a whole one.
func WithTTL(d time.Duration) WriteOption {
	return func(o *writeOptions) { o.ttl, o.err = milliseconds(d) }
}

// KeepTTL keeps the deadline of the value that is replaced, if it has one. It
// excludes WithTTL, and SetMany does not take it.
func KeepTTL() WriteOption {
	return func(o *writeOptions) { o.keepTTL = true }
}

// Protected keeps the record from ever being evicted. A later Set without it
// makes the record an ordinary one again.
func Protected() WriteOption {
	return func(o *writeOptions) { o.protected = true }
}

func newWriteOptions(opts []WriteOption) (writeOptions, error) {
	if len(opts) == 0 {
		return writeOptions{}, nil
	}
	var o writeOptions
	for _, opt := range opts {
		opt(&o)
		if o.err != nil {
			return o, o.err
		}
	}
	return o, nil
}

// milliseconds returns a time to live as the cluster counts it, rounded up: a record
// never ends before its caller thinks it does. The largest duration is op.MaxTTL and a
// part of a millisecond, so only the lower bound can be missed.
func milliseconds(d time.Duration) (int64, *op.Error) {
	if d < time.Millisecond {
		return 0, op.Invalid("ttl", "is %v; it must be at least 1 ms", d)
	}
	ms := d.Milliseconds()
	if d%time.Millisecond != 0 {
		ms++
	}
	return min(ms, op.MaxTTL), nil
}
