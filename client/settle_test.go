package client

import (
	"context"
	"testing"
	"time"

	"github.com/ringraft/ringraft/internal/bubble"
	"github.com/ringraft/ringraft/op"
)

// TestTransactionsAreAbortedInTimeOnly: one that was sent long ago may have been
// committed and forgotten. Whoever had it aborted would repeat it.
func TestTransactionsAreAbortedInTimeOnly(t *testing.T) {
	for name, tc := range map[string]struct {
		sent    time.Duration // ago
		silent  bool          // nobody answers abort-txn
		outcome TxnOutcome
		aborts  bool
	}{
		"just sent":                  {0, false, TxnAborted, true},
		"sent long ago":              {settleLimit, false, TxnUndecided, false},
		"while nobody answers":       {0, true, TxnUndecided, true},
		"and the limit is near then": {settleLimit - 2*time.Second, true, TxnUndecided, true},
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				s := newStage(t)
				sent := time.Now().Add(-tc.sent)
				aborts, last := 0, time.Time{}
				s.answer = func(ctx context.Context, _ string, req *op.Request) (op.Result, error) {
					switch {
					case req.Op.Code() != op.CodeAbortTxn:
						return op.Result{}, nil // undecided
					case tc.silent:
						s.mu.Lock()
						aborts, last = aborts+1, time.Now()
						s.mu.Unlock()
						return silence(ctx, req.Op)
					}
					aborts++
					return op.Result{Number: int64(op.Aborted)}, nil
				}
				c := s.client(t, Config{})
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				if got := c.settleTxn(ctx, TxnID{}, sent); got != tc.outcome || aborts > 0 != tc.aborts {
					t.Errorf("outcome %v after %d requests to abort; want %v, and some: %v", got, aborts, tc.outcome, tc.aborts)
				}
				if late := last.Sub(sent); tc.silent && late >= settleLimit {
					t.Errorf("a request to abort was sent %v after the transaction", late)
				}
			})
		})
	}
}
