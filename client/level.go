package client

import (
	"math"
	"strings"
	"time"

	"github.com/ringraft/ringraft/op"
)

// Level is how old a read's answer may be: Local, Session, Bounded of an age, or
// Linearizable. The zero Level is Local.
type Level int64

const (
	// Local is answered by any replica: a committed value, perhaps old. It is the
	// level of a read that names none.
	Local Level = 0
	// Session is answered by any replica that has seen what this client has seen: it
	// reads its own writes, and never goes back. [Client.SessionToken] carries it to
	// another client.
	Session Level = -1
	// Linearizable is answered by the leader: the latest value.
	Linearizable Level = -2

	tooShort Level = math.MinInt64 // a bound that no Level stands for
)

// Bounded is answered by a replica that can prove that its state is at most age old.
// age lies between 1 ms and op.MaxBound ms and counts in whole milliseconds.
func Bounded(age time.Duration) Level {
	if age < time.Millisecond {
		return tooShort
	}
	return Level(age.Milliseconds())
}

// ParseLevel returns the level that text names: local, session, bounded=AGE with an
// age as time.ParseDuration reads it, or linearizable.
func ParseLevel(text string) (Level, error) {
	if age, ok := strings.CutPrefix(text, "bounded="); ok {
		d, err := time.ParseDuration(age)
		if l := Bounded(d); err == nil && l.check() == nil {
			return l, nil
		}
		return 0, op.Invalid("read", "%q is no age between 1ms and %v", age, op.MaxBound*time.Millisecond)
	}
	for _, l := range []Level{Local, Session, Linearizable} {
		if text == l.String() {
			return l, nil
		}
	}
	return 0, op.Invalid("read", "%q is no read level; it is local, session, bounded=AGE or linearizable", text)
}

// String returns the level's name as ParseLevel reads it.
func (l Level) String() string {
	if l.wire() == op.Bounded {
		return op.Bounded.String() + "=" + (time.Duration(l) * time.Millisecond).String()
	}
	return l.wire().String()
}

func (l Level) wire() op.Level {
	switch l {
	case Local:
		return op.Local
	case Session:
		return op.Session
	case Linearizable:
		return op.Linearizable
	}
	return op.Bounded
}

func (l Level) check() *op.Error {
	if l.wire() == op.Bounded && (l < 1 || l > op.MaxBound) {
		return op.Invalid("read", "the age lies outside of 1ms to %v", op.MaxBound*time.Millisecond)
	}
	return nil
}

// bound returns what goes with the level on the wire: a group's newest log index that
// the client has seen, at Session, or the age in ms.
func (l Level) bound(seen uint64) uint64 {
	switch l.wire() {
	case op.Session:
		return seen
	case op.Bounded:
		return uint64(l)
	}
	return 0
}
