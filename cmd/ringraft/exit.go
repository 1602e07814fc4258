package main

import (
	"errors"
	"fmt"

	"github.com/ringraft/ringraft/client"
	"github.com/ringraft/ringraft/op"
)

// The exit codes.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitNotFound    = 3
	exitCondition   = 4 // a condition does not hold, or the state does not allow it
	exitUnavailable = 5 // nothing happened
	exitUnknown     = 6 // it may have happened
)

// usageError reports a command line that breaks a rule.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error {
	return &usageError{fmt.Errorf(format, args...)}
}

// exitCode returns the code for err. An outcome that is unknown outweighs the
// reason for it.
func exitCode(err error) int {
	var usage *usageError
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &usage):
		return exitUsage
	case errors.Is(err, op.ErrUnknownOutcome):
		return exitUnknown
	case errors.Is(err, op.ErrUnavailable):
		return exitUnavailable
	case errors.Is(err, op.ErrNotFound):
		return exitNotFound
	case errors.Is(err, client.ErrConditionNotMet):
		return exitCondition
	}
	return refusalCode(err)
}

func refusalCode(err error) int {
	var refusal *op.Error
	if !errors.As(err, &refusal) {
		return exitFailed
	}
	switch refusal.Kind {
	case op.KindInvalid:
		return exitUsage
	case op.KindConflict:
		return exitCondition
	}
	return exitFailed
}
