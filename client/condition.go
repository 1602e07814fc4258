package client

import (
	"errors"
	"fmt"
	"time"

	"github.com/ringraft/ringraft/op"
)

// ErrConditionNotMet is matched by every [ConditionError].
var ErrConditionNotMet = errors.New("condition not met")

// ConditionError is how a write ends whose condition did not hold: an answer, not a
// fault. Nothing changed; the fields tell what stood at the key at that moment.
type ConditionError struct {
	Key     string // "" where SetMany or DeleteMany asked for several
	Found   bool   // something stood there; if not, the rest is zero
	Version uint64
	TTL     time.Duration // left to live, in whole ms; 0: for ever
	Value   []byte        // with ShowValue
	Number  int64         // of an Add whose sum left its bounds: the integer that stands there
}

func (e *ConditionError) Error() string {
	if !e.Found {
		return fmt.Sprintf("%v: nothing stands there", ErrConditionNotMet)
	}
	return fmt.Sprintf("%v: version %d stands there", ErrConditionNotMet, e.Version)
}

// Is reports whether target is ErrConditionNotMet.
func (e *ConditionError) Is(target error) bool { return target == ErrConditionNotMet }

// unmet returns the error that tells what res says of the key.
func unmet(key string, res op.Result) error {
	return &ConditionError{
		Key: key, Found: res.Found, Version: res.Version, TTL: duration(res.TTL),
		Value: res.Value, Number: res.Number,
	}
}

// IfAbsent makes a write depend on nothing standing at the key. At most one If option
// can be given. Where it does not hold, nothing changes and the call fails with a
// [ConditionError]. SetMany and DeleteMany ask it of all keys of one group together.
func IfAbsent() WriteOption { return require(ifAbsent, op.Cond{Kind: op.CondAbsent}) }

// IfPresent makes a write depend on something standing at the key; see IfAbsent.
func IfPresent() WriteOption { return require(ifPresent, op.Cond{Kind: op.CondPresent}) }

// IfVersion makes a write depend on a record of that version standing at the key; see
// IfAbsent. Since a version never comes back, what was read then still stands there.
func IfVersion(version uint64) WriteOption {
	return require(ifVersion, op.Cond{Kind: op.CondVersion, Version: version})
}

// IfValue makes a write depend on a record of that value standing at the key; see
// IfAbsent. It may have been another one in between.
func IfValue(value []byte) WriteOption {
	return require(ifValue, op.Cond{Kind: op.CondValue, Value: value})
}

// ShowValue has a [ConditionError] tell the value that stands at the key.
func ShowValue() WriteOption {
	return func(o *writeOptions) {
		o.give(showValue, 0)
		o.cond.Show = true
	}
}

func require(opt option, cond op.Cond) WriteOption {
	return func(o *writeOptions) {
		o.give(opt, conditions)
		show := o.cond.Show
		o.cond = cond
		o.cond.Show = show
	}
}
