package main

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/ringraft/ringraft/op"
)

func TestExitCodes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		err  error
		want int
	}{
		{"done", nil, exitDone},
		{"anything else", errors.New("no space left"), exitFailed},
		{"usage", usagef("--ttl is wrong"), exitUsage},
		{"the cluster refuses a field", op.Invalid("value", "has 9 bytes"), exitUsage},
		{"not found", op.ErrNotFound, exitNotFound},
		{"the state does not allow it", &op.Error{Kind: op.KindConflict}, exitCondition},
		{"out of memory", &op.Error{Kind: op.KindOutOfMemory}, exitFailed},
		{"unavailable", op.Unavailable("no leader"), exitUnavailable},
		{"another node serves it", &op.Error{Kind: op.KindWrongNode}, exitUnavailable},
		{"unavailable at a deadline", fmt.Errorf("%w: %w", op.ErrUnavailable, context.DeadlineExceeded), exitUnavailable},
		{"outcome unknown", op.UnknownOutcome("the connection broke"), exitUnknown},
		{"unknown outweighs unavailable", errors.Join(op.ErrUnavailable, op.ErrUnknownOutcome), exitUnknown},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			wrapped := c.err
			if wrapped != nil {
				wrapped = fmt.Errorf("doing something: %w", c.err)
			}
			if got := exitCode(wrapped); got != c.want {
				t.Errorf("exitCode(%v) = %d, want %d", wrapped, got, c.want)
			}
		})
	}
}
