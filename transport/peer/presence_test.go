package peer

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"

	"github.com/ringraft/ringraft/internal/bubble"
)

// departures records what a node is told of others.
type departures struct {
	mu   sync.Mutex
	told []string
}

func (d *departures) note(node string, gone bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	what := "back"
	if gone {
		what = "gone"
	}
	d.told = append(d.told, node+" "+what)
}

func (d *departures) want(t *testing.T, want ...string) {
	t.Helper()
	synctest.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	if !slices.Equal(d.told, want) {
		t.Errorf("told %q, want %q", d.told, want)
	}
}

// watched starts node b and a node a that has spoken with it for a while.
func watched(t *testing.T) (w *town, b *Network, told *departures) {
	t.Helper()
	w, told = newFabricTown(), &departures{}
	a := w.node(t, Config{Self: in("a"), Departed: told.note})
	b = w.node(t, Config{Self: in("b"), Handle: echo})
	if _, err := a.Call(t.Context(), "b", nil); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Minute)
	told.want(t)
	return w, b, told
}

func TestAProcessThatEndsIsGoneAtOnceAndBackOnceItRuns(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w, b, told := watched(t)
		for range 3 {
			if err := b.Close(); err != nil {
				t.Fatal(err)
			}
			told.want(t, "b gone")
			time.Sleep(time.Minute)
			told.want(t, "b gone")
			var err error
			if b, err = w.start(Config{Self: in("b"), Logger: quiet(), Handle: echo}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
			told.want(t, "b gone", "b back")
			told.told = nil
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

func TestSilenceIsNoDeparture(t *testing.T) {
	faults := map[string]func(w *town, b *Network){
		"cut off":      func(w *town, _ *Network) { w.fabric.Cut("a", "b") },
		"mute":         func(w *town, _ *Network) { w.fabric.CutOneWay("b", "a") },
		"deaf":         func(w *town, _ *Network) { w.fabric.CutOneWay("a", "b") },
		"reset":        func(w *town, _ *Network) { w.fabric.Reset("a", "b") },
		"cut off dead": func(w *town, b *Network) { w.fabric.Cut("a", "b"); b.Close() },
		"listener closed": func(_ *town, b *Network) {
			b.cfg.Listener.Close()
		},
	}
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				w, b, told := watched(t)
				fault(w, b)
				time.Sleep(time.Minute)
				told.want(t)
			})
		})
	}
}

// TestOnlyARefusalMeansDeparture: a host that does not answer, whose backlog is full, or
// to which there is no way says nothing of the process.
func TestOnlyARefusalMeansDeparture(t *testing.T) {
	for _, reason := range []error{
		syscall.ETIMEDOUT, syscall.EHOSTUNREACH, syscall.ENETUNREACH, syscall.ECONNRESET, syscall.EADDRNOTAVAIL,
		context.DeadlineExceeded, errors.New("connection refused"), syscall.ECONNREFUSED,
	} {
		t.Run(reason.Error(), func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				w, told, over := newFabricTown(), &departures{}, atomic.Bool{}
				l, err := w.fabric.listen("a")
				if err != nil {
					t.Fatal(err)
				}
				a, err := New(Config{
					Self: in("a"), Listener: l, Logger: quiet(), Departed: told.note,
					Address: func(node string) (string, bool) { return node, true },
					Dial: func(ctx context.Context, addr string) (net.Conn, error) {
						if over.Load() {
							return nil, &net.OpError{Op: "dial", Err: reason}
						}
						return w.fabric.dial(ctx, "a", addr)
					},
				})
				if err != nil {
					t.Fatal(err)
				}
				defer a.Close()
				b := w.node(t, Config{Self: in("b"), Handle: echo})
				if _, err := a.Call(t.Context(), "b", nil); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Minute)
				over.Store(true)
				if err := b.Close(); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Minute)
				if errors.Is(reason, syscall.ECONNREFUSED) {
					told.want(t, "b gone")
				} else {
					told.want(t)
				}
			})
		})
	}
}

// TestANodeIsSoughtWhereItWas: another place of its address may refuse while it lives.
func TestANodeIsSoughtWhereItWas(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w, told := newFabricTown(), &departures{}
		l, err := w.fabric.listen("a")
		if err != nil {
			t.Fatal(err)
		}
		addr := atomic.Pointer[string]{}
		addr.Store(new(string))
		*addr.Load() = "b"
		a, err := New(Config{
			Self: in("a"), Listener: l, Logger: quiet(), Departed: told.note,
			Address: func(string) (string, bool) { return *addr.Load(), true },
			Dial:    func(ctx context.Context, addr string) (net.Conn, error) { return w.fabric.dial(ctx, "a", addr) },
		})
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		b := w.node(t, Config{Self: in("b"), Handle: echo})
		if _, err := a.Call(t.Context(), "b", nil); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		elsewhere := "a place where nobody listens"
		addr.Store(&elsewhere)
		w.fabric.Reset("a", "b")
		time.Sleep(time.Minute)
		told.want(t)
		if !a.Reachable("b") || !b.Reachable("a") {
			t.Error("the nodes have not found each other again")
		}
	})
}

// TestPresence: a node is gone while it refuses us and has no connection to us.
func TestPresence(t *testing.T) {
	told := &departures{}
	p := &presence{tell: func(gone bool) { told.note("b", gone) }}
	steps := []struct {
		do   func()
		gone bool
	}{
		{p.opened, false}, {p.refuse, false}, {p.ended, true}, {p.refuse, true}, {p.opened, false}, {p.opened, false},
		{p.ended, false}, {p.ended, true}, {p.reached, false}, {p.opened, false}, {p.ended, false}, {p.refuse, true},
	}
	var want []string
	before := false
	for i, step := range steps {
		step.do()
		if p.isGone() != step.gone {
			t.Errorf("after step %d: gone %v, want %v", i+1, p.isGone(), step.gone)
		}
		if step.gone != before {
			want = append(want, map[bool]string{true: "b gone", false: "b back"}[step.gone])
		}
		before = step.gone
	}
	if !slices.Equal(told.told, want) {
		t.Errorf("told %q, want %q", told.told, want)
	}
}

func TestStandAndSettleGoThroughTheConsumer(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newFabricTown()
		n := w.node(t, Config{Self: in("a"), MaxQueue: 2})
		tr := transportOf(n, "a/1/1")
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		wantError(t, n.Settle(short, "a/1/1"), errTimeout) // nobody serves it
		if err := n.Stand("a/1/1"); err != nil {
			t.Fatal(err)
		}
		wantError(t, n.Stand("a/1/1"), errQueueFull)
		var got []any
		serveRaft(t, tr, func(rpc raft.RPC) (any, error) {
			got = append(got, rpc.Command)
			return accept(rpc)
		})
		synctest.Wait()
		if err := n.Settle(t.Context(), "a/1/1"); err != nil {
			t.Fatal(err)
		}
		if len(got) != 3 {
			t.Fatalf("raft got %d messages, want 3", len(got))
		}
		if ask, ok := got[0].(*raft.AppendEntriesRequest); !ok || ask.Term != 0 || len(ask.Entries) > 0 {
			t.Errorf("to settle, raft got %+v, want an append of term 0", got[0])
		}
		if ask, ok := got[1].(*raft.TimeoutNowRequest); !ok || ask.ProtocolVersion != raft.ProtocolVersionMax {
			t.Errorf("to stand, raft got %+v", got[1])
		}
		if n.Stand("a/2/1") == nil || n.Settle(t.Context(), "a/2/1") == nil {
			t.Error("a replica that is not here stood or settled")
		}
		if err := tr.Close(); err != nil {
			t.Fatal(err)
		}
		if n.Stand("a/1/1") == nil || n.Settle(t.Context(), "a/1/1") == nil {
			t.Error("a replica that is closed stood or settled")
		}
	})
}

func TestCallsDoNotWaitForANodeThatIsGone(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newFabricTown()
		a, b := w.node(t, Config{Self: in("a")}), w.node(t, Config{Self: in("b"), Handle: echo})
		if _, err := a.Call(t.Context(), "b", nil); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		within(t, 0, func() {
			_, err := a.Call(t.Context(), "b", nil)
			wantError(t, err, ErrUnreachable)
		})
	})
}
