package client

import (
	"math/bits"
	"time"

	"github.com/ringraft/ringraft/op"
)

// ReadOption changes how a read is done.
type ReadOption func(*readOptions)

type readOptions struct {
	level  Level
	values bool
}

// At asks for an answer no older than the level allows. Without it the level is Local.
func At(level Level) ReadOption {
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

// WriteOption changes what a write does, or makes it depend on what stands at its key.
// Each call says which options it takes; others are refused.
type WriteOption func(*writeOptions)

// option is a set of write options.
type option uint16

const (
	withTTL option = 1 << iota
	keepTTL
	protected
	ifAbsent
	ifPresent
	ifVersion
	ifValue
	showValue
	atLeast
	atMost
	clamped
	tries

	conditions = ifAbsent | ifPresent | ifVersion | ifValue
	bounds     = atLeast | atMost
)

// String returns the name of the first option of the set.
func (o option) String() string {
	names := [...]string{
		"WithTTL", "KeepTTL", "Protected", "IfAbsent", "IfPresent", "IfVersion", "IfValue",
		"ShowValue", "AtLeast", "AtMost", "Clamped", "Tries",
	}
	return names[bits.TrailingZeros16(uint16(o))]
}

type writeOptions struct {
	given    option
	ttl      int64 // ms; 0 is none
	cond     op.Cond
	min, max *int64
	tries    int
	err      *op.Error // the first option that is out of bounds
}

// give notes that the option is given, and refuses it beside one that excludes it.
func (o *writeOptions) give(opt, excludes option) {
	if other := o.given & excludes; other != 0 {
		o.fail(op.Invalid(opt.String(), "cannot be combined with %s", other))
	}
	o.given |= opt
}

func (o *writeOptions) fail(err *op.Error) {
	if o.err == nil {
		o.err = err
	}
}

func (o *writeOptions) has(opt option) bool { return o.given&opt != 0 }

// WithTTL makes the record end after d, counted from the moment the cluster takes the
// write. d must be at least 1 ms; a part of a millisecond counts as a whole one. An
// Add without it keeps the time to live that there is.
func WithTTL(d time.Duration) WriteOption {
	return func(o *writeOptions) {
		o.give(withTTL, keepTTL)
		ms, err := milliseconds(d)
		if err != nil {
			o.fail(err)
		}
		o.ttl = ms
	}
}

// KeepTTL keeps the deadline of the value that is replaced, if it has one. It
// excludes WithTTL, and SetMany does not take it.
func KeepTTL() WriteOption {
	return func(o *writeOptions) { o.give(keepTTL, withTTL) }
}

// Protected keeps the record from ever being evicted. A later Set without it
// makes the record an ordinary one again.
func Protected() WriteOption {
	return func(o *writeOptions) { o.give(protected, 0) }
}

// AtLeast makes an Add depend on its sum: one under n is not stored, and the call
// fails with a [ConditionError].
func AtLeast(n int64) WriteOption {
	return func(o *writeOptions) {
		o.give(atLeast, atLeast)
		o.min = &n
	}
}

// AtMost makes an Add depend on its sum: one over n is not stored, and the call fails
// with a [ConditionError].
func AtMost(n int64) WriteOption {
	return func(o *writeOptions) {
		o.give(atMost, atMost)
		o.max = &n
	}
}

// Clamped makes an Add store the bound of AtLeast or AtMost that the sum has passed.
func Clamped() WriteOption {
	return func(o *writeOptions) { o.give(clamped, 0) }
}

// Tries makes Update and UpdateMany give up after they have lost n times, 1 to 1,000.
// Without it n is 5.
func Tries(n int) WriteOption {
	return func(o *writeOptions) {
		o.give(tries, 0)
		if n < 1 || n > maxTries {
			o.fail(op.Invalid("Tries", "is %d; it lies between 1 and %d", n, maxTries))
		}
		o.tries = n
	}
}

// newWriteOptions returns the options of a call that takes those allowed.
func newWriteOptions(allowed option, opts []WriteOption) (writeOptions, *op.Error) {
	if len(opts) == 0 {
		return writeOptions{}, nil
	}
	var o writeOptions
	for _, opt := range opts {
		opt(&o)
	}
	switch extra := o.given &^ allowed; {
	case o.err != nil:
		return o, o.err
	case extra != 0:
		return o, op.Invalid(extra.String(), "is no option of this call")
	case o.has(showValue) && !o.has(conditions|bounds):
		return o, op.Invalid("ShowValue", "needs a condition")
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
