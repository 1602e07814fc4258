package bench

import (
	"errors"
	"testing"

	"github.com/ringraft/ringraft/internal/bubble"
	"github.com/ringraft/ringraft/op"
)

func TestFillPutsEveryKeyOnce(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		seen := make(chan string, 4000)
		l := Load{Work: workload(t, 0.5, 1234), Store: slowStore{answer: func(r *Request) error {
			seen <- string(r.Key)
			if r.Read || len(r.Value) != 8 {
				t.Errorf("request %+v, want a write of 8 bytes", r)
			}
			return nil
		}}}
		done := make(chan int, 100)
		if err := l.Fill(t.Context(), func(keys int) { done <- keys }); err != nil {
			t.Fatal(err)
		}
		close(seen)
		keys, told := map[string]bool{}, 0
		for key := range seen {
			keys[key] = true
		}
		for close(done); len(done) > 0; {
			told += <-done
		}
		if len(keys) != 1234 || told != 1234 || !keys["bench:0"] || !keys["bench:1233"] {
			t.Errorf("%d keys, %d told of, want 1234", len(keys), told)
		}
	})
}

func TestFillTriesAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err   error
		fails int // as often
		want  error
	}{
		"unknown, then done": {op.UnknownOutcome("no answer"), 3, nil},
		"unavailable always": {op.Unavailable("nobody leads"), 1 << 30, op.ErrUnavailable},
		"refused at once":    {op.Invalid("value", "is too long"), 1, op.ErrRefused},
	} {
		bubble.Test(t, func(t *testing.T) {
			n := 0
			l := Load{Work: workload(t, 1, 1), Store: slowStore{answer: func(*Request) error {
				if n++; n <= c.fails {
					return c.err
				}
				return nil
			}}}
			if err := l.Fill(t.Context(), func(int) {}); !errors.Is(err, c.want) {
				t.Errorf("%s: err = %v, want %v", name, err, c.want)
			}
		})
	}
}
