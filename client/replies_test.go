package client_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringraft/ringraft/client"
	"github.com/ringraft/ringraft/internal/fakenode"
	"github.com/ringraft/ringraft/op"
)

// loseEvery loses every n-th answer to what goes through a group's log: the write is
// done, and the connection cut.
func loseEvery(n int64) func(string, op.Request) *fakenode.Fault {
	var requests atomic.Int64
	return func(_ string, req op.Request) *fakenode.Fault {
		if op.SpecOf(req.Op.Code()).Class == op.ClassWrite && requests.Add(1)%n == 0 {
			return &fakenode.Fault{Cut: true}
		}
		return nil
	}
}

// TestEveryCallCountsOnce while answers are lost and leaders move: each call gets the
// true answer, so the sums are those of a counter that nobody else touches.
func TestEveryCallCountsOnce(t *testing.T) {
	t.Parallel()
	nodes, c := start(t, fakenode.Config{Groups: 2})
	nodes.Intercept(loseEvery(5))
	var callers sync.WaitGroup
	for w := range 8 {
		callers.Go(func() {
			key := "counter " + strconv.Itoa(w)
			for i := range int64(100) {
				if i%10 == 0 {
					nodes.Lead(uint64(rand.N(2)+1), "n"+strconv.Itoa(rand.N(3)+1))
				}
				if sum, err := c.Add(t.Context(), key, 1); err != nil || sum != i+1 {
					t.Errorf("%s: call %d: sum %d, %v", key, i+1, sum, err)
					return
				}
			}
		})
	}
	callers.Wait()
}

// aWrite is a kind of write, and what one call of it answers and leaves behind.
type aWrite struct {
	code op.Code
	call func(context.Context, *client.Client) (any, error)
}

var writes = map[string]aWrite{
	"set": {op.CodeSet, func(ctx context.Context, c *client.Client) (any, error) {
		return c.Set(ctx, "k", []byte("v"), client.IfVersion(1))
	}},
	"unmet condition": {op.CodeSet, func(ctx context.Context, c *client.Client) (any, error) {
		_, err := c.Set(ctx, "k", []byte("v"), client.IfAbsent())
		return nil, err
	}},
	"delete": {op.CodeDelete, func(ctx context.Context, c *client.Client) (any, error) { return c.Delete(ctx, "k") }},
	"expire": {op.CodeExpire, func(ctx context.Context, c *client.Client) (any, error) {
		return nil, c.Expire(ctx, "k", time.Hour)
	}},
	"persist": {op.CodeExpire, func(ctx context.Context, c *client.Client) (any, error) {
		return nil, c.Persist(ctx, "k", client.IfVersion(1))
	}},
	"add": {op.CodeAdd, func(ctx context.Context, c *client.Client) (any, error) { return c.Add(ctx, "k", 1) }},
	"add out of bounds": {op.CodeAdd, func(ctx context.Context, c *client.Client) (any, error) {
		return c.Add(ctx, "k", 10, client.AtMost(9))
	}},
	"set many": {op.CodeMSet, func(ctx context.Context, c *client.Client) (any, error) {
		return c.SetMany(ctx, []client.Pair{{Key: "k"}})
	}},
	"delete many": {op.CodeMDelete, func(ctx context.Context, c *client.Client) (any, error) {
		return c.DeleteMany(ctx, []string{"k"})
	}},
	"transaction": {op.CodeTxn, func(ctx context.Context, c *client.Client) (any, error) {
		return c.Txn(ctx, client.Txn{
			If:   []client.Compare{client.When("k", client.IfVersion(1))},
			Then: []client.Op{client.AddOp("k", 1), client.GetOp("k")},
		})
	}},
}

// outcome is what a write answered, and what stood at its key afterwards.
type outcome struct {
	answer any
	err    error
	after  client.Value
	absent bool
}

func (w aWrite) outcome(t *testing.T, c *client.Client) outcome {
	t.Helper()
	var o outcome
	o.answer, o.err = w.call(t.Context(), c)
	var err error
	o.after, err = c.Get(t.Context(), "k", client.At(client.Linearizable))
	if o.absent = errors.Is(err, client.ErrNotFound); err != nil && !o.absent {
		t.Fatal(err)
	}
	o.after.TTL = o.after.TTL.Round(time.Minute)
	return o
}

// TestLostAnswersChangeNothing for any kind of write: with all but the third answer to
// it lost, it ends as it does without a fault, and the version tells that it was done once.
func TestLostAnswersChangeNothing(t *testing.T) {
	t.Parallel()
	for name, w := range writes {
		for way, lost := range map[string]fakenode.Fault{"cut": {Cut: true}, "silent": {Mute: true}} {
			t.Run(name+", "+way, func(t *testing.T) {
				t.Parallel()
				var outcomes []outcome
				for _, fault := range []*fakenode.Fault{nil, &lost} {
					nodes, err := fakenode.Start(fakenode.Config{})
					if err != nil {
						t.Fatal(err)
					}
					t.Cleanup(nodes.Close)
					c := connectTo(t, nodes, client.Config{AttemptTimeout: 5 * time.Millisecond})
					must[uint64](t)(c.Set(t.Context(), "k", []byte("1")))
					var attempts atomic.Int64
					nodes.Intercept(func(_ string, req op.Request) *fakenode.Fault {
						if req.Op.Code() == w.code && attempts.Add(1) < 3 {
							return fault
						}
						return nil
					})
					outcomes = append(outcomes, w.outcome(t, c))
					if fault != nil && attempts.Load() < 3 {
						t.Errorf("%d attempts: no answer was lost", attempts.Load())
					}
				}
				if !reflect.DeepEqual(outcomes[0], outcomes[1]) {
					t.Errorf("with lost answers\n%+v, without\n%+v", outcomes[1], outcomes[0])
				}
			})
		}
	}
}

// deadline is a context whose deadline passes when it is told so, however busy the machine
// is.
type deadline struct {
	context.Context
	passed chan struct{}
	pass   func()
}

func newDeadline(ctx context.Context) *deadline {
	passed := make(chan struct{})
	return &deadline{ctx, passed, sync.OnceFunc(func() { close(passed) })}
}

func (d *deadline) Done() <-chan struct{} { return d.passed }

func (d *deadline) Err() error {
	select {
	case <-d.passed:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// lose has the answers to operations of the code lost until the deadline of a call,
// and returns the ticket that the call ends with.
func lose(t *testing.T, nodes *fakenode.Cluster, code op.Code, fault fakenode.Fault, call func(context.Context) error) client.Ticket {
	t.Helper()
	ctx := newDeadline(t.Context())
	var lost atomic.Int64
	nodes.Intercept(func(_ string, req op.Request) *fakenode.Fault {
		if req.Op.Code() != code {
			return nil
		}
		if lost.Add(1) == 2 { // the call has asked again
			ctx.pass()
		}
		return &fault
	})
	defer nodes.Intercept(nil)
	err := call(ctx)
	var unknown *client.UnknownOutcomeError
	if !errors.As(err, &unknown) || !errors.Is(err, client.ErrUnknownOutcome) || !errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, client.ErrUnavailable) || errors.Is(err, client.ErrRefused) {
		t.Fatalf("err = %v, want an unknown outcome by the deadline, and nothing else", err)
	}
	return unknown.Ticket
}

// TestTicketTellsTheFirstAnswer, asked for through text and by another client, however
// often.
func TestTicketTellsTheFirstAnswer(t *testing.T) {
	t.Parallel()
	nodes, c := start(t, fakenode.Config{})
	ticket := lose(t, nodes, op.CodeAdd, fakenode.Fault{Cut: true}, func(ctx context.Context) error {
		_, err := c.Add(ctx, "n", 7)
		return err
	})
	must[int64](t)(connectTo(t, nodes, client.Config{}).Add(t.Context(), "n", 100))
	parsed := must[client.Ticket](t)(client.ParseTicket(ticket.String()))
	for range 2 {
		r := must[client.Resolution](t)(connectTo(t, nodes, client.Config{}).Resolve(t.Context(), parsed))
		if r.Number != 7 || r.Found || r.Value.Version != 1 {
			t.Errorf("resolved to %+v, want the first sum, 7", r)
		}
	}
	if sum := must[int64](t)(c.Add(t.Context(), "n", 0)); sum != 107 {
		t.Errorf("the counter is %d, want 107", sum)
	}
}

// TestTicketOfAWriteThatNeverArrivedDoesIt.
func TestTicketOfAWriteThatNeverArrivedDoesIt(t *testing.T) {
	t.Parallel()
	nodes, c := start(t, fakenode.Config{})
	ticket := lose(t, nodes, op.CodeSet, fakenode.Fault{Err: op.UnknownOutcome("leadership was lost")}, func(ctx context.Context) error {
		_, err := c.Set(ctx, "k", []byte("late"))
		return err
	})
	if must[bool](t)(c.Exists(t.Context(), "k")) {
		t.Fatal("it did arrive")
	}
	if r := must[client.Resolution](t)(c.Resolve(t.Context(), ticket)); r.Value.Version != 1 {
		t.Errorf("resolved to %+v, want version 1", r)
	}
	if v := must[client.Value](t)(c.Get(t.Context(), "k")); string(v.Bytes) != "late" {
		t.Errorf("the key holds %q", v.Bytes)
	}
}

// TestTicketsOfAllKindsOfWrites are resolved to what their calls would have answered.
func TestTicketsOfAllKindsOfWrites(t *testing.T) {
	t.Parallel()
	nodes, c := start(t, fakenode.Config{Groups: 1})
	must[uint64](t)(c.Set(t.Context(), "k", []byte("1")))
	cut := fakenode.Fault{Cut: true}

	ticket := lose(t, nodes, op.CodeSet, cut, func(ctx context.Context) error {
		_, err := c.Set(ctx, "k", nil, client.IfAbsent(), client.ShowValue())
		return err
	})
	var unmet *client.ConditionError
	if _, err := c.Resolve(t.Context(), ticket); !errors.As(err, &unmet) || string(unmet.Value) != "1" {
		t.Errorf("unmet condition: %v, want one that shows the value", err)
	}

	ticket = lose(t, nodes, op.CodeMDelete, cut, func(ctx context.Context) error {
		_, err := c.DeleteMany(ctx, []string{"k", "l"})
		return err
	})
	r := must[client.Resolution](t)(c.Resolve(t.Context(), ticket))
	if len(r.Keys) != 2 || !r.Keys[0].Existed || r.Keys[1].Existed {
		t.Errorf("delete many: %+v", r.Keys)
	}

	ticket = lose(t, nodes, op.CodeTxn, cut, func(ctx context.Context) error {
		_, err := c.Txn(ctx, client.Txn{If: []client.Compare{client.When("k", client.IfPresent())}, Else: []client.Op{client.AddOp("n", 4)}})
		return err
	})
	r = must[client.Resolution](t)(c.Resolve(t.Context(), ticket))
	if r.Txn.Met || len(r.Txn.Results) != 1 || r.Txn.Results[0].Number != 4 {
		t.Errorf("transaction: %+v", r.Txn)
	}
}

// TestEndedSessionLeavesTheOutcomeUnknown, since its group has forgotten the answer.
func TestEndedSessionLeavesTheOutcomeUnknown(t *testing.T) {
	t.Parallel()
	nodes, c := start(t, fakenode.Config{})
	ticket := lose(t, nodes, op.CodeAdd, fakenode.Fault{Cut: true}, func(ctx context.Context) error {
		_, err := c.Add(ctx, "n", 1)
		return err
	})
	nodes.Advance(time.Hour)
	_, err := c.Resolve(t.Context(), ticket)
	if !errors.Is(err, client.ErrUnknownOutcome) || !errors.Is(err, client.ErrSessionEnded) {
		t.Errorf("err = %v, want unknown since the session has ended", err)
	}
	if sum := must[int64](t)(c.Add(t.Context(), "n", 1)); sum != 2 {
		t.Errorf("in another session the sum is %d, want 2", sum)
	}
}

// TestEndedSessionsLeaveNothingBehind but those with a ticket.
func TestEndedSessionsLeaveNothingBehind(t *testing.T) {
	t.Parallel()
	nodes, c := start(t, fakenode.Config{Groups: 2})
	sessions := func() (n int64) {
		for _, replica := range must[[]op.NodeStatus](t)(c.Status(t.Context()))[0].Replicas {
			n += replica.Sessions
		}
		return n
	}
	end := func(want int64) {
		t.Helper()
		for range 2 {
			if err := c.EndSessions(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := sessions(); got != want {
				t.Errorf("%d sessions are left, want %d", got, want)
			}
		}
	}
	end(0)
	must[uint64](t)(c.Set(t.Context(), "a", nil))
	must[uint64](t)(c.Set(t.Context(), "b", nil))
	if got := sessions(); got != 2 {
		t.Fatalf("%d sessions for writes to two groups", got)
	}
	end(0)
	ticket := lose(t, nodes, op.CodeAdd, fakenode.Fault{Cut: true}, func(ctx context.Context) error {
		_, err := c.Add(ctx, "n", 1)
		return err
	})
	end(1)
	if r := must[client.Resolution](t)(c.Resolve(t.Context(), ticket)); r.Number != 1 {
		t.Errorf("resolved %+v", r)
	}
	end(0)
	if sum := must[int64](t)(c.Add(t.Context(), "n", 1)); sum != 2 {
		t.Errorf("in another session the sum is %d, want 2", sum)
	}
}

// TestForgottenAnswerLeavesTheOutcomeUnknown: it has been asked for, and acknowledged
// by later writes.
func TestForgottenAnswerLeavesTheOutcomeUnknown(t *testing.T) {
	t.Parallel()
	nodes, c := start(t, fakenode.Config{Groups: 1})
	ticket := lose(t, nodes, op.CodeAdd, fakenode.Fault{Cut: true}, func(ctx context.Context) error {
		_, err := c.Add(ctx, "n", 1)
		return err
	})
	must[int64](t)(c.Add(t.Context(), "n", 1)) // nothing is forgotten while the answer is due
	must[client.Resolution](t)(c.Resolve(t.Context(), ticket))
	must[int64](t)(c.Add(t.Context(), "n", 1))
	if _, err := c.Resolve(t.Context(), ticket); !errors.Is(err, client.ErrUnknownOutcome) {
		t.Errorf("err = %v, want unknown", err)
	}
	if sum := must[int64](t)(c.Add(t.Context(), "n", 0)); sum != 3 {
		t.Errorf("the counter is %d, want 3", sum)
	}
}

func TestTicketsAreRefused(t *testing.T) {
	t.Parallel()
	nodes, c := start(t, fakenode.Config{})
	_, foreign := start(t, fakenode.Config{})
	good := lose(t, nodes, op.CodeSet, fakenode.Fault{Cut: true}, func(ctx context.Context) error {
		_, err := c.Set(ctx, "k", nil)
		return err
	})
	if _, err := foreign.Resolve(t.Context(), good); !errors.Is(err, client.ErrRefused) {
		t.Errorf("of another cluster: err = %v, want %v", err, client.ErrRefused)
	}
	for name, spoil := range map[string]func(*client.Ticket){
		"without a session":      func(t *client.Ticket) { t.Session = 0 },
		"without a sequence":     func(t *client.Ticket) { t.Sequence = 0 },
		"without an operation":   func(t *client.Ticket) { t.Operation = nil },
		"of a read":              func(t *client.Ticket) { t.Operation = op.Append(nil, op.Get{Key: []byte("k")}) },
		"of an operation cut":    func(t *client.Ticket) { t.Operation = t.Operation[:len(t.Operation)-1] },
		"of a key out of bounds": func(t *client.Ticket) { t.Operation = op.Append(nil, op.Set{}) },
	} {
		bad := good
		spoil(&bad)
		if _, err := c.Resolve(t.Context(), bad); !errors.Is(err, client.ErrRefused) {
			t.Errorf("%s: err = %v, want %v", name, err, client.ErrRefused)
		}
	}
	text := good.String()
	for name, bad := range map[string]string{
		"empty": "", "cut off": text[:len(text)-2], "of another kind": c.SessionToken(), "changed": strings.Replace(text, ".", ".x", 1),
	} {
		if _, err := client.ParseTicket(bad); !errors.Is(err, client.ErrRefused) {
			t.Errorf("%s: err = %v, want %v", name, err, client.ErrRefused)
		}
	}
}

// TestChangeOfASettingIsNotRepeated: it has no session.
func TestChangeOfASettingIsNotRepeated(t *testing.T) {
	t.Parallel()
	nodes, c := start(t, fakenode.Config{})
	nodes.Intercept(func(_ string, req op.Request) *fakenode.Fault {
		if req.Op.Code() == op.CodeSetConfig {
			return &fakenode.Fault{Cut: true}
		}
		return nil
	})
	if err := c.SetConfig(t.Context(), "max-bytes", "1GiB"); !errors.Is(err, client.ErrUnknownOutcome) || errors.Is(err, client.ErrUnavailable) {
		t.Errorf("err = %v, want %v alone", err, client.ErrUnknownOutcome)
	}
	if n := nodes.Served(op.CodeSetConfig); n != 1 {
		t.Errorf("done %d times, want once", n)
	}
}
