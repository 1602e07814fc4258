package peer

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"

	"github.com/ringraft/ringraft/internal/bubble"
)

func TestReachable(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newFabricTown()
		a, b := w.node(t, Config{Self: in("a")}), w.node(t, Config{Self: in("b"), Handle: echo})
		if a.Reachable("b") {
			t.Error("a node that was never spoken to is reachable")
		}
		if _, err := a.Call(t.Context(), "b", nil); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		session := a.links["b"].current()
		if !a.Reachable("b") {
			t.Error("after a quiet minute the node is not reachable")
		}
		if !b.Reachable("a") {
			t.Error("b was dialled by a fellow member, and has not dialled it")
		}
		w.fabric.CutOneWay("b", "a")
		time.Sleep(1600 * time.Millisecond)
		if a.Reachable("b") {
			t.Error("the node is reachable 1.6 s after it fell silent")
		}
		if a.links["b"].current() != session {
			t.Error("the connection was dropped after 1.6 s already")
		}
		time.Sleep(1500 * time.Millisecond)
		if a.links["b"].current() != nil {
			t.Error("a connection that was silent for 3.1 s is still there")
		}
		w.fabric.HealAll()
		time.Sleep(maxPause)
		synctest.Wait()
		if !a.Reachable("b") {
			t.Error("the node is not reachable though the network is whole again")
		}
	})
}

func TestAcceptedConnectionOfADeadPeerEnds(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newFabricTown()
		a, b := w.node(t, Config{Self: in("a")}), w.node(t, Config{Self: in("b"), Handle: echo})
		if _, err := a.Call(t.Context(), "b", nil); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if n := len(b.accepted); n != 1 {
			t.Errorf("%d connections accepted, want 1", n)
		}
		w.fabric.Isolate("a")
		time.Sleep(4 * time.Second)
		synctest.Wait()
		if n := len(b.accepted); n != 0 {
			t.Errorf("%d connections are left of a node that is gone", n)
		}
	})
}

func TestSendersWaitForRoomUntilTheirDeadline(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w, _, _, from, to := pair(t, func(c *Config) { c.MaxPending, c.SilenceTimeout = 1<<20, time.Hour })
		serveRaft(t, to, accept)
		if _, err := voteTakes(from); err != nil {
			t.Fatal(err)
		}
		w.fabric.Cut("a", "b")
		start := time.Now()
		errs := make(chan error, 5)
		for range cap(errs) { // 5 MB for 256 KiB of socket, a write under way, and 1 MiB pending
			go func() {
				request := &raft.AppendEntriesRequest{Entries: []*raft.Log{{Data: make([]byte, 1<<20)}}}
				errs <- from.AppendEntries("b/1/1", "", request, &raft.AppendEntriesResponse{})
			}()
			synctest.Wait()
		}
		out := from.(*replica).net.links["b"].current().out
		out.mu.Lock()
		pending := len(out.pending) + out.behind
		out.mu.Unlock()
		if pending < 1<<20 || pending > 2<<20+1000 {
			t.Errorf("%d bytes pending, want no more than the bound and one message", pending)
		}
		refused := 0
		for range cap(errs) {
			err := <-errs
			wantError(t, err, errTimeout)
			if errors.Is(err, ErrUnreachable) {
				refused++
			}
		}
		if took := time.Since(start); took != 5*time.Second || refused == 0 {
			t.Errorf("%d found no room within %v, want some within 5s", refused, took)
		}
	})
}

func TestOutboxWakesSendersWhenThereIsRoom(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		o := newOutbox(1, 100)
		sent := make(chan error, 10)
		for i := range cap(sent) {
			go func() { sent <- o.put(t.Context(), kindPing, uint64(i), "", nil) }()
		}
		synctest.Wait()
		if n := len(sent); n != 1 {
			t.Errorf("%d of 10 found room for one", n)
		}
		var wire bytes.Buffer
		done := make(chan error)
		go func() { done <- o.run(&wire) }()
		for range cap(sent) {
			if err := <-sent; err != nil {
				t.Error(err)
			}
		}
		synctest.Wait()
		o.close(io.ErrClosedPipe)
		o.close(io.EOF)
		if err := <-done; err != nil {
			t.Error(err)
		}
		if want := 10 * (headSize + minBodySize); wire.Len() != want {
			t.Errorf("%d bytes written, want %d", wire.Len(), want)
		}
		wantError(t, o.put(t.Context(), kindPing, 0, "", nil), io.ErrClosedPipe)
	})
}

func TestOneConnectionServesAllReplicas(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		_, a, b, _, to := pair(t, nil)
		serveRaft(t, to, accept)
		serveRaft(t, b.Transport("b/2/1"), accept)
		for _, id := range []raft.ServerID{"a/1/1", "a/2/1", "a/3/1"} {
			for _, to := range []raft.ServerID{"b/1/1", "b/2/1"} {
				if err := transportOf(a, id).TimeoutNow(to, "", &raft.TimeoutNowRequest{}, &raft.TimeoutNowResponse{}); err != nil {
					t.Error(err)
				}
			}
		}
		if n := len(b.accepted); n != 1 {
			t.Errorf("%d connections, want 1", n)
		}
	})
}

func TestAnOutageIsLoggedOnce(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w, book := newFabricTown(), newLogBook()
		a := w.node(t, Config{Self: in("a"), Logger: book.logger()})
		outage := func() {
			b, err := w.start(Config{Self: in("b"), Logger: quiet(), Handle: echo})
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
			if _, err := a.Call(t.Context(), "b", nil); err != nil {
				t.Error(err)
			}
			if err := b.Close(); err != nil {
				t.Error(err)
			}
			time.Sleep(time.Minute)
		}
		for i := range 3 {
			outage()
			if n := book.count("level=INFO msg=\"no connection to peer\""); n != i+1 {
				t.Errorf("%d lines after outage %d", n, i+1)
			}
		}
	})
}

func TestALastingRefusalIsLoggedOnce(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w, book := newFabricTown(), newLogBook()
		w.node(t, Config{Self: in("b"), Verify: func(Identity) error { return errors.New("unknown") }})
		a := w.node(t, Config{Self: in("a"), Logger: book.logger()})
		_, err := a.Call(t.Context(), "b", nil)
		wantError(t, err, ErrUnreachable)
		time.Sleep(time.Minute)
		if n := book.count("level=ERROR"); n != 1 {
			t.Errorf("%d lines in a minute, want 1", n)
		}
	})
}
