package session

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/ringraft/ringraft/internal/bubble"
	"github.com/ringraft/ringraft/op"
)

// TestSessionAcknowledgesAllBelowTheLowestUnanswered, in whatever order answers come.
func TestSessionAcknowledgesAllBelowTheLowestUnanswered(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := New(1)
		s.last = rapid.Uint64Range(0, 2*op.MaxUnacknowledged).Draw(t, "numbers given before")
		s.lowest = s.last + 1
		due := map[uint64]bool{}
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			if len(due) == 0 || rapid.Bool().Draw(t, "send") {
				place, _ := s.Sit()
				if want := lowest(due, place.Sequence); place.Acknowledged != want {
					t.Fatalf("seat %d acknowledges below %d, want %d", place.Sequence, place.Acknowledged, want)
				}
				due[place.Sequence] = true
				continue
			}
			for sequence := range due { // any
				s.Settle(sequence)
				delete(due, sequence)
				break
			}
		}
		for sequence := range due {
			s.Settle(sequence)
		}
		if !s.idle() || s.answered != (answers{}) {
			t.Errorf("with none due, acknowledged below %d of %d, and answers remembered: %v", s.lowest, s.last, s.answered)
		}
	})
}

// lowest returns the least of due, and last if that is less.
func lowest(due map[uint64]bool, last uint64) uint64 {
	for sequence := range due {
		last = min(last, sequence)
	}
	return last
}

// TestOneOpeningServesAllWhoWait, and one that fails is the next one's to repeat.
func TestOneOpeningServesAllWhoWait(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		var p Pool
		var opened int
		open := func(ctx context.Context) (uint64, error) {
			opened++
			if opened == 1 {
				<-ctx.Done()
				return 0, ctx.Err()
			}
			time.Sleep(time.Second)
			return 42, nil
		}
		first, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		go func() {
			if _, err := p.Take(first, open); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("the first: err = %v, want the deadline", err)
			}
		}()
		synctest.Wait()
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				if place, err := p.Take(t.Context(), open); err != nil || place.Session.ID != 42 {
					t.Errorf("place %+v, err = %v", place, err)
				}
			})
		}
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := p.Take(short, open); !errors.Is(err, op.ErrUnavailable) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("who waits too long: err = %v, want unavailable by the deadline", err)
		}
		wg.Wait()
		if opened != 2 {
			t.Errorf("opened %d times, want 2", opened)
		}
	})
}

// TestSessionsAreAddedUpToTheMost, one when all others are full; and one whose writes were
// given up makes room.
func TestSessionsAreAddedUpToTheMost(t *testing.T) {
	t.Parallel()
	p := Pool{Most: 2}
	var opened uint64
	open := func(context.Context) (uint64, error) { opened++; return opened, nil }
	take := func() Seat {
		t.Helper()
		place, err := p.Take(t.Context(), open)
		if err != nil {
			t.Fatal(err)
		}
		return place
	}
	if _, ok := p.Try(); ok {
		t.Error("a seat without a session")
	}
	first := take()
	for range 2*op.MaxUnacknowledged - 1 {
		take()
	}
	if opened != 2 {
		t.Errorf("%d sessions, want 2", opened)
	}
	if place := take(); place.Session != nil {
		t.Errorf("seat %d in session %d, want none", place.Sequence, place.Session.ID)
	}
	first.Session.Settle(first.Sequence)
	if place, ok := p.Try(); !ok || place.Session != first.Session {
		t.Errorf("a free seat is not taken: %+v", place)
	}
	first.Session.Lose()
	if place := take(); place.Session == nil || place.Session.ID != 3 {
		t.Errorf("seat %+v, want one in a third session", place)
	}
}

// BenchmarkWrites numbers writes of which 256 are under way, and whose answers do not come
// in their order.
func BenchmarkWrites(b *testing.B) {
	s := New(1)
	var places [256]Seat
	for i := range places {
		places[i], _ = s.Sit()
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		place := &places[i*37%len(places)]
		s.Settle(place.Sequence)
		*place, _ = s.Sit()
	}
}
