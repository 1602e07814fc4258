package client

import (
	"errors"
	"fmt"

	"github.com/ringraft/ringraft/op"
)

// The errors that callers branch on with errors.Is; see the package's comment.
var (
	ErrNotFound       = op.ErrNotFound
	ErrRefused        = op.ErrRefused
	ErrOutOfMemory    = op.ErrOutOfMemory
	ErrUnavailable    = op.ErrUnavailable
	ErrUnknownOutcome = op.ErrUnknownOutcome
	// ErrSessionEnded is why nobody can tell an unknown outcome any more.
	ErrSessionEnded = op.ErrSessionEnded
	// ErrClosed is how calls on a closed client fail. They match ErrUnavailable too.
	ErrClosed = fmt.Errorf("the client is closed: %w", op.ErrUnavailable)
)

// verdict says how a call goes on after an attempt.
type verdict uint8

const (
	// settled: the caller gets this answer or error.
	settled verdict = iota
	// elsewhere: this node cannot serve it; another may, at once.
	elsewhere
	// later: this node would serve it, but not now.
	later
	// anew: the write's session has ended.
	anew
)

// judge gives the verdict on an attempt that ended with the node's answer (nil is
// success) or, without one, with the error broken. Only what certainly had no
// effect, or is repeatable, goes on.
func judge(answer *op.Error, broken error, repeatable bool) verdict {
	if broken != nil {
		return judgeBroken(broken, repeatable)
	}
	if answer == nil {
		return settled
	}
	switch answer.Kind {
	case op.KindWrongNode:
		return elsewhere
	case op.KindUnavailable, op.KindLocked:
		return later
	case op.KindSessionEnded:
		return anew
	case op.KindUnknown:
		if repeatable {
			return later
		}
	}
	return settled
}

func judgeBroken(broken error, repeatable bool) verdict {
	switch {
	case errors.Is(broken, op.ErrRefused): // by the connection, for its size
		return settled
	case repeatable, errors.Is(broken, op.ErrUnavailable):
		return elsewhere
	}
	return settled
}

// gaveUp is the error of a call that had no effect when its context ended so; reason
// is why its last attempt failed.
func gaveUp(ended error, attempts int, reason error) error {
	return fmt.Errorf("%w: %w after %d attempts, the last one: %w", op.ErrUnavailable, ended, attempts, reason)
}

// withoutEffect returns err for a read, which has no outcome that could be unknown.
func withoutEffect(err error) error {
	if errors.Is(err, op.ErrUnknownOutcome) {
		return op.Unavailable("%v", err)
	}
	return err
}
