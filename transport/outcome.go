package transport

import (
	"fmt"

	"github.com/ringraft/ringraft/op"
)

// changes reports whether an operation may leave something changed behind it.
func changes(c op.Code) bool {
	switch c {
	case op.CodeHello, op.CodeMap, op.CodeStatus:
		return false
	}
	return op.SpecOf(c).Class != op.ClassRead
}

// unansweredError is the error of a request that was sent and whose answer is
// lost: the outcome of one that changes something is unknown, the others may be
// sent again.
func unansweredError(c op.Code, format string, args ...any) *op.Error {
	if changes(c) {
		return op.UnknownOutcome(format, args...)
	}
	return op.Unavailable(format, args...)
}

// unanswered wraps why no answer came to a request that was sent.
func unanswered(c op.Code, cause error) error {
	return fmt.Errorf("%w: %w", unansweredError(c, "%s was sent and not answered", c), cause)
}

// notTaken wraps why nothing happened.
func notTaken(c op.Code, cause error) error {
	return fmt.Errorf("%w: %w", op.Unavailable("%s was not sent", c), cause)
}
