package client

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringraft/ringraft/internal/bubble"
	"github.com/ringraft/ringraft/op"
)

func set(ctx context.Context, c *Client) error {
	_, err := c.Set(ctx, "k", []byte("v"))
	return err
}

func add(ctx context.Context, c *Client) error {
	_, err := c.Add(ctx, "k", 1)
	return err
}

func get(ctx context.Context, c *Client) error {
	_, err := c.Get(ctx, "k", At(Linearizable))
	return err
}

func setConfig(ctx context.Context, c *Client) error {
	return c.SetConfig(ctx, "max-bytes", "1GiB")
}

func TestRetryRules(t *testing.T) {
	for _, tc := range []struct {
		name   string
		call   func(context.Context, *Client) error
		script []reply
		asked  []string // nil: until the time is over
		paused bool
		err    error
	}{
		{name: "done at once", call: set, script: []reply{done}, asked: []string{"n1"}},
		{name: "a named leader is asked at once", call: set,
			script: []reply{wrongNode("n3"), done}, asked: []string{"n1", "n3"}},
		{name: "without a name the next replica is", call: set,
			script: []reply{wrongNode(""), wrongNode(""), done}, asked: []string{"n1", "n2", "n3"}},
		{name: "a round without a leader ends in a pause", call: set,
			script: []reply{wrongNode(""), wrongNode(""), wrongNode(""), done}, asked: []string{"n1", "n2", "n3", "n1"}, paused: true},
		{name: "two nodes that name each other end in a pause", call: set,
			script: []reply{wrongNode("n2"), wrongNode("n1"), wrongNode("n2"), wrongNode("n1"), done},
			asked:  []string{"n1", "n2", "n1", "n2", "n1"}, paused: true},
		{name: "a busy node is left in peace for a while", call: set,
			script: []reply{busy, done}, asked: []string{"n1", "n2"}, paused: true},
		{name: "what was not sent goes to the next replica", call: add,
			script: []reply{notSent, done}, asked: []string{"n1", "n2"}},
		{name: "a write with unknown outcome is sent again", call: set,
			script: []reply{unknown, done}, asked: []string{"n1", "n2"}, paused: true},
		{name: "so is an add", call: add,
			script: []reply{unknown, done}, asked: []string{"n1", "n2"}, paused: true},
		{name: "so is a write whose connection broke, at once", call: add,
			script: []reply{wrongNode("n2"), lost, done}, asked: []string{"n1", "n2", "n3"}},
		{name: "a change of the cluster is not", call: setConfig,
			script: []reply{unknown, done}, asked: []string{"n1"}, err: ErrUnknownOutcome},
		{name: "nor is one whose connection broke", call: setConfig,
			script: []reply{lost, done}, asked: []string{"n1"}, err: ErrUnknownOutcome},
		{name: "a write whose session has ended goes into another one", call: add,
			script: []reply{sessionEnded, done}, asked: []string{"n1", "n1"}},
		{name: "also after refusals", call: add,
			script: []reply{busy, notSent, sessionEnded, done}, asked: []string{"n1", "n2", "n3", "n3"}, paused: true},
		{name: "but not if it may have been done in the one that has ended", call: add,
			script: []reply{lost, sessionEnded, done}, asked: []string{"n1", "n2"}, err: ErrUnknownOutcome},
		{name: "a read with unknown outcome is repeated", call: get,
			script: []reply{unknown, done}, asked: []string{"n1", "n2"}, paused: true},
		{name: "a read whose connection broke is repeated at once", call: get,
			script: []reply{lost, lost, done}, asked: []string{"n1", "n2", "n3"}},
		{name: "what breaks a rule is not repeated", call: get,
			script: []reply{answers(op.Invalid("key", "is bad")), done}, asked: []string{"n1"}, err: ErrRefused},
		{name: "nor what the connection finds too long", call: get,
			script: []reply{func(context.Context, op.Op) (op.Result, error) {
				return op.Result{}, op.Invalid("request", "is too long")
			}, done}, asked: []string{"n1"}, err: ErrRefused},
		{name: "nor a conflict", call: add,
			script: []reply{answers(&op.Error{Kind: op.KindConflict, Message: "no number"}), done}, asked: []string{"n1"}, err: ErrRefused},
		{name: "nor what has no room", call: set,
			script: []reply{answers(&op.Error{Kind: op.KindOutOfMemory, Message: "full"}), done}, asked: []string{"n1"}, err: ErrOutOfMemory},
		{name: "but it tells nothing of a try before it", call: add,
			script: []reply{lost, noRoom, done}, asked: []string{"n1", "n2", "n3"}, paused: true},
		{name: "nor does a node that finds it too long by now", call: add,
			script: []reply{lost, answers(op.Invalid("value", "is too long")), done}, asked: []string{"n1", "n2", "n3"}, paused: true},
		{name: "so the outcome stays unknown", call: add, script: []reply{lost, noRoom}, paused: true, err: ErrUnknownOutcome},
		{name: "while a kept answer settles it", call: add,
			script: []reply{lost, answers(&op.Error{Kind: op.KindOutOfMemory, Message: "full"}), done}, asked: []string{"n1", "n2"}, err: ErrOutOfMemory},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				s := newStage(t)
				s.follow(tc.script...)
				c := s.client(t, Config{})
				start := time.Now()
				if err := tc.call(t.Context(), c); !errors.Is(err, tc.err) {
					t.Errorf("err = %v, want %v", err, tc.err)
				}
				if got := s.trail(); tc.asked != nil && !slices.Equal(got, tc.asked) {
					t.Errorf("asked %v, want %v", got, tc.asked)
				}
				if paused := time.Since(start) > 0; paused != tc.paused {
					t.Errorf("paused = %v, want %v", paused, tc.paused)
				}
			})
		})
	}
}

func TestQuestionsAboutTheClusterAreRepeatedAtAnotherNode(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.follow(lost, func(context.Context, op.Op) (op.Result, error) {
			return op.Result{Detail: op.EncodeDetail([]op.NodeStatus{})}, nil
		})
		c := s.client(t, Config{})
		if _, err := c.Status(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := s.trail(); len(got) != 2 || got[0] != "n1" || got[1] == "n1" {
			t.Errorf("asked %v, want n1, which was met, and then another one", got)
		}
	})
}

func TestDeadlineWithoutEffectIsUnavailable(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.follow(busy)
		c := s.client(t, Config{RequestTimeout: 3 * time.Second})
		start := time.Now()
		err := set(t.Context(), c)
		if !errors.Is(err, ErrUnavailable) || !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ErrUnknownOutcome) {
			t.Errorf("err = %v, want unavailable by the deadline", err)
		}
		if got := time.Since(start); got != 3*time.Second {
			t.Errorf("gave up after %v, want RequestTimeout", got)
		}
		// Full jitter between 0 and 250 ms: 24 attempts on average.
		if n := len(s.trail()); n < 12 || n > 60 {
			t.Errorf("%d attempts in 3 s", n)
		}
	})
}

func TestSilentLeaderIsDoubted(t *testing.T) {
	for name, tc := range map[string]struct {
		call    func(context.Context, *Client) error
		outcome error
	}{
		"by a write, whose outcome is unknown": {set, ErrUnknownOutcome},
		"by a read":                            {get, ErrUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				s := newStage(t)
				s.follow(silence, done)
				c := s.client(t, Config{AttemptTimeout: time.Second})
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				if err := tc.call(ctx, c); !errors.Is(err, tc.outcome) || !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("err = %v, want %v by the deadline", err, tc.outcome)
				}
				if err := set(t.Context(), c); err != nil {
					t.Error(err)
				}
				if got, want := s.trail(), []string{"n1", "n2"}; !slices.Equal(got, want) {
					t.Errorf("asked %v, want %v", got, want)
				}
			})
		})
	}
}

// TestSilentLeaderIsNotFollowedThoughOthersNameIt: until they have elected another one, they
// are asked again and again, and the leader only once its patience is over.
func TestSilentLeaderIsNotFollowedThoughOthersNameIt(t *testing.T) {
	for name, call := range map[string]func(context.Context, *Client) error{"write": add, "read": get} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				s := newStage(t)
				start := time.Now()
				s.answer = func(ctx context.Context, node string, req *op.Request) (op.Result, error) {
					switch elected := time.Since(start) >= 900*time.Millisecond; {
					case node == "n1":
						return silence(ctx, req.Op)
					case !elected:
						return op.Fail(&op.Error{Kind: op.KindWrongNode, Message: "n1 leads", Node: "n1"}), nil
					case node != "n3":
						return op.Fail(&op.Error{Kind: op.KindWrongNode, Message: "n3 leads", Node: "n3"}), nil
					}
					return op.Result{Found: true}, nil
				}
				if err := call(t.Context(), s.client(t, Config{BackoffMax: 50 * time.Millisecond})); err != nil {
					t.Fatal(err)
				}
				asked := 0
				for _, node := range s.trail() {
					if node == "n1" {
						asked++
					}
				}
				if took := time.Since(start); asked != 1 || took > time.Second {
					t.Errorf("it took %v and asked %v, want n1 once, and n3 at once when it leads", took, s.trail())
				}
			})
		})
	}
}

func TestCancelledCallReturnsAtOnce(t *testing.T) {
	for name, script := range map[string]reply{"waiting for an answer": silence, "pausing": busy} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				s := newStage(t)
				s.follow(script)
				c := s.client(t, Config{BackoffMin: time.Hour, BackoffMax: time.Hour, RequestTimeout: 9 * time.Hour})
				ctx, cancel := context.WithCancel(t.Context())
				errs := make(chan error)
				go func() { errs <- get(ctx, c) }()
				synctest.Wait()
				start := time.Now()
				cancel()
				err := <-errs
				if !errors.Is(err, context.Canceled) || !errors.Is(err, ErrUnavailable) {
					t.Errorf("err = %v, want canceled and unavailable", err)
				}
				if waited := time.Since(start); waited > 0 {
					t.Errorf("it took %v", waited)
				}
			})
		})
	}
}

func TestLeaderIsRemembered(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.follow(wrongNode("n3"), done)
		c := s.client(t, Config{})
		for range 3 {
			if err := set(t.Context(), c); err != nil {
				t.Fatal(err)
			}
		}
		if got, want := s.trail(), []string{"n1", "n3", "n3", "n3"}; !slices.Equal(got, want) {
			t.Errorf("asked %v, want %v", got, want)
		}
	})
}

func TestBusyLeaderStaysTheLeader(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.follow(busy)
		c := s.client(t, Config{BackoffMin: time.Hour, BackoffMax: time.Hour})
		for range 3 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Nanosecond)
			if err := set(ctx, c); !errors.Is(err, ErrUnavailable) {
				t.Errorf("err = %v, want %v", err, ErrUnavailable)
			}
			cancel()
		}
		if got, want := s.trail(), []string{"n1", "n1", "n1"}; !slices.Equal(got, want) {
			t.Errorf("asked %v, want %v", got, want)
		}
	})
}

func TestWhoServedIsTheLeader(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.follow(busy, done)
		c := s.client(t, Config{})
		for range 3 {
			if err := set(t.Context(), c); err != nil {
				t.Fatal(err)
			}
		}
		if got, want := s.trail(), []string{"n1", "n2", "n2", "n2"}; !slices.Equal(got, want) {
			t.Errorf("asked %v, want %v", got, want)
		}
	})
}

func TestCancelledCallDoesNotDoubtTheLeader(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.follow(silence, done)
		c := s.client(t, Config{AttemptTimeout: time.Minute})
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second/2, cancel)
		if err := set(ctx, c); !errors.Is(err, context.Canceled) {
			t.Errorf("err = %v, want canceled", err)
		}
		if err := set(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		if got, want := s.trail(), []string{"n1", "n1"}; !slices.Equal(got, want) {
			t.Errorf("asked %v, want %v", got, want)
		}
	})
}

func TestCrashedLeaderIsPassedOver(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := newStage(t)
		c := s.client(t, Config{})
		if err := set(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		s.crash("n1")
		synctest.Wait()
		start := time.Now()
		for range 3 {
			if err := set(t.Context(), c); err != nil {
				t.Fatal(err)
			}
		}
		if got, want := s.trail(), []string{"n1", "n2", "n2", "n2"}; !slices.Equal(got, want) {
			t.Errorf("asked %v, want %v", got, want)
		}
		if waited := time.Since(start); waited > 0 {
			t.Errorf("it took %v", waited)
		}
	})
}

func TestLocalReadsSpreadOverReplicas(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := newStage(t)
		c := s.client(t, Config{})
		count := func() map[string]int {
			for range 300 {
				if _, err := c.Get(t.Context(), "k"); err != nil {
					t.Fatal(err)
				}
				synctest.Wait() // connections that the reads found missing
			}
			n := map[string]int{}
			for _, node := range s.trail() {
				n[node]++
			}
			s.asked = nil
			return n
		}
		for node, n := range count() {
			if n < 90 || n > 110 {
				t.Errorf("%d of 300 reads at %s", n, node)
			}
		}
		s.crash("n2")
		synctest.Wait()
		if n := count(); n["n2"] > 0 || n["n1"] < 100 || n["n3"] < 100 {
			t.Errorf("reads with n2 down: %v", n)
		}
	})
}

func TestLocalReadsDoNotWaitForADial(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.set(s.mute, "n2", true)
		s.set(s.mute, "n3", true)
		c := s.client(t, Config{})
		start := time.Now()
		for range 30 {
			if _, err := c.Get(t.Context(), "k"); err != nil {
				t.Fatal(err)
			}
		}
		if waited := time.Since(start); waited > 0 {
			t.Errorf("it took %v", waited)
		}
	})
}

func TestLocalReadTriesAnotherReplica(t *testing.T) {
	for name, script := range map[string][]reply{
		"refused":           {wrongNode("n1"), busy, done},
		"connection broken": {lost, notSent, done},
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				s := newStage(t)
				s.follow(script...)
				c := s.client(t, Config{})
				start := time.Now()
				if _, err := c.Get(t.Context(), "k"); err != nil {
					t.Fatal(err)
				}
				got := s.trail()
				slices.Sort(got)
				if !slices.Equal(got, []string{"n1", "n2", "n3"}) || time.Since(start) > 0 {
					t.Errorf("asked %v in %v, want each replica once without a pause", got, time.Since(start))
				}
			})
		})
	}
}

func TestNewerEpochRefreshesTheMap(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := newStage(t)
		c := s.client(t, Config{})
		for _, p := range c.pools { // so that no greeting tells the epoch
			if _, err := p.take(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		newer := s.cluster.WithNode(s.cluster.Nodes[0])
		newer.Epoch = 9
		var epochs []uint64
		s.answer = func(_ context.Context, _ string, req *op.Request) (op.Result, error) {
			epochs = append(epochs, req.Epoch)
			if req.Epoch < 9 {
				return op.Fail(&op.Error{Kind: op.KindWrongNode, Message: "moved", Epoch: 9}), nil
			}
			return op.Result{}, nil
		}
		s.mu.Lock()
		s.cluster = newer
		s.mu.Unlock()
		if err := set(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		if last := epochs[len(epochs)-1]; last != 9 {
			t.Errorf("epochs sent: %v, want 9 at last", epochs)
		}
	})
}

func TestOnlyANewerMapIsTakenAndLeadersAreKept(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.follow(wrongNode("n3"), done)
		c := s.client(t, Config{})
		if err := set(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		moved := s.cluster.Nodes[1]
		moved.Native = "n2:9"
		newer := s.cluster.WithNode(moved)
		c.install(newer)
		c.install(s.cluster)
		if got := c.table.Load().cluster.Epoch; got != newer.Epoch {
			t.Errorf("epoch = %d after an older map came, want %d", got, newer.Epoch)
		}
		if err := set(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		if got, want := s.trail(), []string{"n1", "n3", "n3"}; !slices.Equal(got, want) {
			t.Errorf("asked %v, want %v", got, want)
		}
	})
}

func TestGreetingOfANewerEpochRefreshesTheMap(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := newStage(t)
		c := s.client(t, Config{})
		moved := s.cluster.Nodes[1]
		moved.Native = "n2:9"
		s.mu.Lock()
		s.cluster = s.cluster.WithNode(moved)
		s.mu.Unlock()
		if _, err := c.pools["n3"].take(t.Context()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if got, want := c.table.Load().cluster.Epoch, s.cluster.Epoch; got != want {
			t.Errorf("epoch = %d, want %d", got, want)
		}
	})
}

func TestWriteOptionsReachTheCluster(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := newStage(t)
		var got op.Op
		s.answer = func(_ context.Context, _ string, req *op.Request) (op.Result, error) {
			got = req.Op
			return op.Result{}, nil
		}
		c := s.client(t, Config{})
		for _, tc := range []struct {
			opts []WriteOption
			want op.Set
		}{
			{nil, op.Set{}},
			{[]WriteOption{Protected(), WithTTL(1500 * time.Millisecond)}, op.Set{Protect: true, TTL: 1500}},
			{[]WriteOption{KeepTTL()}, op.Set{KeepTTL: true}},
		} {
			if _, err := c.Set(t.Context(), "k", nil, tc.opts...); err != nil {
				t.Fatal(err)
			}
			tc.want.Key = []byte("k")
			if !reflect.DeepEqual(got, tc.want) {
				t.Errorf("sent %+v, want %+v", got, tc.want)
			}
		}
	})
}

func TestCallsOnAClosedClient(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.follow(busy)
		c := s.client(t, Config{})
		errs := make(chan error)
		go func() { errs <- set(t.Context(), c) }()
		time.Sleep(time.Second)
		for range 2 {
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}
		if err := <-errs; !errors.Is(err, ErrClosed) {
			t.Errorf("under way: err = %v, want %v", err, ErrClosed)
		}
		if err := set(t.Context(), c); !errors.Is(err, ErrClosed) || !errors.Is(err, ErrUnavailable) {
			t.Errorf("afterwards: err = %v, want %v", err, ErrClosed)
		}
		for _, node := range []string{"n1", "n2", "n3"} {
			if n := len(s.open(node)); n > 0 {
				t.Errorf("%d connections to %s left", n, node)
			}
		}
	})
}

func TestBoundsAreCheckedBeforeSending(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := newStage(t)
		c := s.client(t, Config{})
		long := string(make([]byte, op.MaxKey+1))
		for name, err := range map[string]error{
			"empty key":      c.Persist(t.Context(), ""),
			"long key":       c.Persist(t.Context(), long),
			"zero ttl":       c.Expire(t.Context(), "k", 0),
			"negative ttl":   c.Expire(t.Context(), "k", -time.Second),
			"ttl below 1 ms": c.Expire(t.Context(), "k", time.Millisecond-1),
			"zero set ttl":   second(c.Set(t.Context(), "k", nil, WithTTL(0))),
			"ttl and keep":   second(c.Set(t.Context(), "k", nil, WithTTL(time.Hour), KeepTTL())),
			"long value":     second(c.Set(t.Context(), "k", make([]byte, op.MaxValueLimit+1))),
			"keep for many":  second(c.SetMany(t.Context(), []Pair{{Key: "k"}}, KeepTTL())),
		} {
			var e *op.Error
			if !errors.Is(err, ErrRefused) || !errors.As(err, &e) || e.Field == "" {
				t.Errorf("%s: err = %v, want a refusal that names the field", name, err)
			}
		}
		if got := s.trail(); len(got) > 0 {
			t.Errorf("sent all the same: %v", got)
		}
	})
}

func second[T any](_ T, err error) error { return err }
