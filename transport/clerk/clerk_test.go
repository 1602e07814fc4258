package clerk

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringraft/ringraft/internal/bubble"
	"github.com/ringraft/ringraft/op"
)

// TestEveryWriteCountsOnce whatever becomes of its tries: each answer is the sum that the
// write has made.
func TestEveryWriteCountsOnce(t *testing.T) {
	t.Parallel()
	n := newTestNode(t)
	n.meet = func(op.Request) outcome {
		switch rand.N(10) {
		case 0:
			return outcome{answer: op.KindUnknown}
		case 1:
			return outcome{lose: true, answer: op.KindUnknown}
		case 2:
			return outcome{lose: true, answer: []op.Kind{op.KindUnavailable, op.KindWrongNode, op.KindLocked}[rand.N(3)]}
		}
		return outcome{}
	}
	c := newClerk(t, Config{Node: n, Timeout: time.Minute})
	var wg sync.WaitGroup
	for caller := range 8 {
		wg.Go(func() {
			key := strconv.Itoa(caller)
			for i := range int64(200) {
				var res op.Result
				if i%2 == 0 {
					res = serve(c, add(key))
				} else {
					res = c.Do(t.Context(), op.Request{Op: add(key)})
				}
				if res.Err != nil || res.Number != i+1 {
					t.Errorf("addition %d to %s: %+v, %v", i+1, key, res, res.Err)
					return
				}
			}
		})
	}
	wg.Wait()
	if opened := n.Served(op.CodeOpenSession); opened > 10 { // 2 groups, and openings without an answer
		t.Errorf("%d sessions were opened, want few", opened)
	}
}

// TestReadsAreServedHereOrRefused, and are asked again elsewhere.
func TestReadsAreServedHereOrRefused(t *testing.T) {
	t.Parallel()
	n := newTestNode(t)
	c := newClerk(t, Config{Node: n})
	serve(c, add("k"))
	tries := 0
	n.meet = func(req op.Request) outcome {
		if req.Session != 0 {
			t.Errorf("a read in session %d", req.Session)
		}
		if tries++; tries == 1 {
			return outcome{lose: true, answer: op.KindWrongNode}
		}
		return outcome{}
	}
	get := op.Get{Key: []byte("k")}
	res := serve(c, get)
	if res.Err == nil || res.Err.Kind != op.KindWrongNode {
		t.Fatalf("%+v; want a refusal", res)
	}
	answer := make(answers, 1)
	c.Again(op.Request{Op: get}, res.Err, answer.Reply)
	if res := <-answer; string(res.Value) != "1" {
		t.Errorf("%+v; want the value", res)
	}
}

// TestASessionThatHasEndedGivesWay to another one, unless the write may have been done.
func TestASessionThatHasEndedGivesWay(t *testing.T) {
	t.Parallel()
	n := newTestNode(t)
	c := newClerk(t, Config{Node: n, Timeout: time.Minute})
	writes := map[string]func() op.Result{
		"served": func() op.Result { return serve(c, add("k")) },
		"done":   func() op.Result { return c.Do(t.Context(), op.Request{Op: add("k")}) },
	}
	serve(c, add("k"))
	want := int64(1)
	for name, write := range writes {
		n.Advance(2 * sessionTTL)
		want++
		if res := write(); res.Err != nil || res.Number != want {
			t.Errorf("%s after a pause: %+v, %v; want %d", name, res, res.Err, want)
		}
		lost := false
		n.meet = func(op.Request) outcome {
			if lost {
				return outcome{}
			}
			lost = true
			n.Advance(2 * sessionTTL)
			return outcome{lose: true, answer: op.KindUnknown}
		}
		if res := write(); !errors.Is(res.Err, op.ErrUnknownOutcome) {
			t.Errorf("%s in a session that ended after a try: %+v, %v; want unknown", name, res, res.Err)
		}
		n.meet = nil
	}
}

// TestWhatWasGivenUpDoesNotHappenLate: a try that arrives after the next write has been
// done does nothing.
func TestWhatWasGivenUpDoesNotHappenLate(t *testing.T) {
	t.Parallel()
	n := newTestNode(t)
	c := newClerk(t, Config{Node: n, Timeout: time.Minute})
	serve(c, add("k"))
	var late op.Request
	n.meet = func(req op.Request) outcome {
		late = req
		return outcome{lose: true, answer: op.KindUnknown}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if res := c.Do(ctx, op.Request{Op: add("k")}); !errors.Is(res.Err, op.ErrUnknownOutcome) {
		t.Fatalf("%+v, %v; want unknown", res, res.Err)
	}
	n.meet = nil
	for want := range int64(3) {
		if res := serve(c, add("k")); res.Number != want+2 {
			t.Errorf("%+v, %v; want %d", res, res.Err, want+2)
		}
		if res := n.try(late); !errors.Is(res.Err, op.ErrRefused) {
			t.Errorf("the late try: %+v; want a refusal", res)
		}
	}
}

// TestWithoutRoomForASessionWritesAreTriedOnce, and sessions are not asked for each time.
func TestWithoutRoomForASessionWritesAreTriedOnce(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		var opened, tries int
		unknown := false
		n := script(func(_ context.Context, req op.Request) op.Result {
			switch {
			case req.Op.Code() == op.CodeOpenSession:
				opened++
				return op.Result{Err: op.Unavailable("there are too many"), Index: 7}
			case req.Session != 0:
				t.Errorf("a write in session %d, which there is none", req.Session)
			case unknown:
				tries++
				return op.Fail(op.UnknownOutcome("lost"))
			}
			return op.Result{Number: 1}
		})
		c := newClerk(t, Config{Node: n})
		for range 100 {
			if res := serve(c, add("k")); res.Err != nil {
				t.Fatal(res.Err)
			}
		}
		unknown = true
		if res := serve(c, add("k")); !errors.Is(res.Err, op.ErrUnknownOutcome) || tries != 1 {
			t.Errorf("%+v after %d tries; want unknown after one", res, tries)
		}
		if opened != 1 {
			t.Errorf("a session was asked for %d times, want once", opened)
		}
		time.Sleep(refusedFor)
		serve(c, add("k"))
		if opened != 2 {
			t.Errorf("a session was asked for %d times, want once more after a while", opened)
		}
	})
}

// script is a node that answers with a function.
type script func(ctx context.Context, req op.Request) op.Result

func (f script) Serve(req op.Request, reply op.Replier) { reply.Reply(f(context.Background(), req)) }

func (f script) Do(ctx context.Context, req op.Request) op.Result { return f(ctx, req) }

func (f script) GroupOf(uint16) uint64 { return 1 }

// TestTheDeadlineCountsFromTheStart, and tells what is known of the write then.
func TestTheDeadlineCountsFromTheStart(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		first op.Kind // the answer to the first try; the others get none until the deadline
		rest  op.Kind
		want  error
	}{
		"refused":                     {op.KindUnavailable, op.KindUnavailable, op.ErrUnavailable},
		"perhaps done":                {op.KindUnknown, op.KindUnknown, op.ErrUnknownOutcome},
		"perhaps done, then refused":  {op.KindUnknown, op.KindUnavailable, op.ErrUnknownOutcome},
		"perhaps done, then no room":  {op.KindUnknown, op.KindOutOfMemory, op.ErrUnknownOutcome},
		"perhaps done, session ended": {op.KindUnknown, op.KindSessionEnded, op.ErrUnknownOutcome},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble.Test(t, func(t *testing.T) {
				tries := 0
				c := newClerk(t, Config{Timeout: 5 * time.Second, Node: script(func(ctx context.Context, req op.Request) op.Result {
					if req.Op.Code() == op.CodeOpenSession {
						return op.Result{Number: 1}
					}
					if tries++; tries <= 2 { // the second one is that which the test begins with
						time.Sleep(time.Second)
						if tries == 1 {
							return op.Result{}
						}
						return op.Fail(&op.Error{Kind: tc.first})
					}
					<-ctx.Done()
					return op.Fail(&op.Error{Kind: tc.rest, Field: op.FieldSession})
				})})
				serve(c, add("k")) // opens the session
				start := time.Now()
				res := serve(c, add("k"))
				if took := time.Since(start); !errors.Is(res.Err, tc.want) || took != 5*time.Second {
					t.Errorf("%+v after %v; want %v after 5 s", res.Err, took, tc.want)
				}
			})
		})
	}
}

// TestWithoutMemoryForItsAnswerAWriteIsDoneAllTheSame, but then it has no number.
func TestWithoutMemoryForItsAnswerAWriteIsDoneAllTheSame(t *testing.T) {
	t.Parallel()
	for name, write := range map[string]func(c *Clerk) op.Result{
		"served": func(c *Clerk) op.Result { return serve(c, add("k")) },
		"done":   func(c *Clerk) op.Result { return c.Do(context.Background(), op.Request{Op: add("k")}) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				full, unknown := false, false
				c := newClerk(t, Config{Node: script(func(_ context.Context, req op.Request) op.Result {
					switch {
					case full && req.Session != 0:
						return op.Fail(&op.Error{Kind: op.KindOutOfMemory, Field: op.FieldSession})
					case full && unknown:
						return op.Fail(op.UnknownOutcome("lost"))
					}
					return op.Result{Number: 7}
				})})
				serve(c, add("k")) // opens the session
				full = true
				if res := write(c); res.Err != nil {
					t.Errorf("%v; want it done", res.Err)
				}
				unknown = true
				if res := write(c); !errors.Is(res.Err, op.ErrUnknownOutcome) {
					t.Errorf("%+v; want unknown, as it is not repeated", res)
				}
			})
		})
	}
}

// TestARefusalOfOneTryAloneIsAskedAboutAgain where an earlier try may have been done.
func TestARefusalOfOneTryAloneIsAskedAboutAgain(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		answers := []op.Result{
			{Number: 1}, {Number: 1}, // of the session, and the write that opens it
			op.Fail(op.UnknownOutcome("lost")),
			op.Fail(&op.Error{Kind: op.KindOutOfMemory, Field: op.FieldSession}),
			{Number: 2},
		}
		c := newClerk(t, Config{Node: script(func(context.Context, op.Request) op.Result {
			next := answers[0]
			answers = answers[1:]
			return next
		})})
		serve(c, add("k"))
		if res := serve(c, add("k")); res.Number != 2 {
			t.Errorf("%+v, %v; want what the earlier try came to", res, res.Err)
		}
	})
}

// heldNode keeps the repliers of writes.
type heldNode struct {
	script
	held []op.Replier
}

func (n *heldNode) Serve(_ op.Request, reply op.Replier) { n.held = append(n.held, reply) }

// TestWhenAllSeatsAreTakenAWriteWaits for one, also for one that does not come.
func TestWhenAllSeatsAreTakenAWriteWaits(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		opened := int64(0)
		n := &heldNode{}
		n.script = func(ctx context.Context, req op.Request) op.Result {
			if req.Op.Code() == op.CodeOpenSession {
				opened++
				return op.Result{Number: opened}
			}
			return op.Result{Number: int64(req.Sequence)}
		}
		c := newClerk(t, Config{Node: n})
		for i := range maxSessions { // one that has no free seat at once opens a session
			if res := serve(c, add("k")); res.Err != nil {
				t.Fatal(res.Err)
			}
			for range op.MaxUnacknowledged {
				c.Serve(op.Request{Op: add("k")}, make(answers, 1))
			}
			if opened != int64(i+1) {
				t.Fatalf("%d sessions, want %d", opened, i+1)
			}
		}
		if res := serve(c, add("k")); !errors.Is(res.Err, op.ErrUnavailable) {
			t.Errorf("%+v; want unavailable when its time is over", res)
		}
		answer := make(answers, 1)
		c.Serve(op.Request{Op: add("k")}, answer)
		synctest.Wait()
		n.held[0].Reply(op.Result{})
		if res := <-answer; res.Err != nil {
			t.Errorf("%v; want it done at a seat that has become free", res.Err)
		}
		for _, reply := range n.held[1:] {
			reply.Reply(op.Result{})
		}
		if opened != maxSessions {
			t.Errorf("%d sessions, want %d", opened, maxSessions)
		}
	})
}

// TestCloseAnswersWhatIsUnderWay, and what comes later.
func TestCloseAnswersWhatIsUnderWay(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		c := newClerk(t, Config{Node: script(func(ctx context.Context, req op.Request) op.Result {
			<-ctx.Done()
			return op.Fail(op.Unavailable("%v", ctx.Err()))
		})})
		waiting, late := make(answers, 1), make(answers, 1)
		c.Serve(op.Request{Op: add("k")}, waiting)
		synctest.Wait()
		for range 2 {
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}
		c.Serve(op.Request{Op: add("k")}, late)
		for _, answer := range []answers{waiting, late} {
			if res := <-answer; !errors.Is(res.Err, op.ErrUnavailable) {
				t.Errorf("%+v; want unavailable", res)
			}
		}
	})
}
