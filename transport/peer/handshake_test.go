package peer

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"

	"github.com/ringraft/ringraft/internal/bubble"
)

func TestMembership(t *testing.T) {
	unknown := errors.New("not the incarnation that we know")
	tests := map[string]struct {
		a, b    Identity
		verify  func(Identity) error // on both
		call    error                // from a to b
		member  bool                 // what b makes of it
		message error                // a raft message from a to b
	}{
		"fellow members":      {a: in("a"), b: in("b"), member: true},
		"neither has one":     {a: Identity{Node: "a"}, b: Identity{Node: "b"}, message: errNotMember},
		"the caller has none": {a: Identity{Node: "a"}, b: in("b"), message: errNotMember},
		"the called has none": {a: in("a"), b: Identity{Node: "b"}, message: errNotMember},
		"another cluster":     {a: in("a"), b: Identity{Cluster: "d", Node: "b"}, message: errNotMember},
		"not verified": {
			a: in("a"), b: in("b"), verify: func(Identity) error { return unknown },
			call: ErrUnreachable, message: ErrUnreachable,
		},
		"not verified, of another cluster": {
			a: in("a"), b: Identity{Cluster: "d", Node: "b"}, verify: func(Identity) error { return unknown }, message: errNotMember,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				w := newFabricTown()
				calls := make(chan From, 1)
				a := w.node(t, Config{Self: test.a, Verify: test.verify})
				b := w.node(t, Config{Self: test.b, Verify: test.verify, Handle: func(_ context.Context, from From, _ []byte) ([]byte, error) {
					calls <- from
					return nil, nil
				}})
				serveRaft(t, b.Transport("b/1/1"), accept)
				_, err := a.Call(t.Context(), "b", nil)
				wantError(t, err, test.call)
				if err == nil {
					if from := <-calls; from != (From{Identity: test.a, Member: test.member}) {
						t.Errorf("the call comes from %+v", from)
					}
				}
				_, err = voteTakes(transportOf(a, "a/1/1"))
				wantError(t, err, test.message)
			})
		})
	}
}

func TestRaftMessagesFromStrangersAreRefusedByTheReceiverToo(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newFabricTown()
		a, b := w.node(t, Config{Self: Identity{Node: "a"}}), w.node(t, Config{Self: in("b"), Handle: echo})
		to := b.Transport("b/1/1")
		if _, err := a.Call(t.Context(), "b", nil); err != nil {
			t.Fatal(err)
		}
		session := a.links["b"].current()
		_, err := session.exchange(t.Context(), kindVote, "b/1/1", func(b []byte) []byte { return appendRequest(b, &raft.RequestVoteRequest{}) })
		if !errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), errNotMember.Error()) || len(to.Consumer()) > 0 {
			t.Errorf("err = %v with %d messages delivered", err, len(to.Consumer()))
		}
	})
}

func TestWipedMemberIsRefusedLoudly(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newFabricTown()
		book := newLogBook()
		w.node(t, Config{Self: in("b"), Logger: book.logger(), Verify: func(remote Identity) error {
			if remote != in("a") {
				return errors.New("its directory is another one")
			}
			return nil
		}})
		wiped := in("a")
		wiped.Incarnation = "new-disk"
		a := w.node(t, Config{Self: wiped})
		_, err := a.Call(t.Context(), "b", nil)
		if !errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), "its directory is another one") {
			t.Errorf("the wiped node learns %v", err)
		}
		if book.count("level=ERROR") == 0 || book.count("incarnation=new-disk") == 0 {
			t.Errorf("log: %s", &book.text)
		}
		if lines, limit := book.count("level=ERROR"), 1+int(500*time.Millisecond/logInterval); lines > limit {
			t.Errorf("%d lines, want at most %d", lines, limit)
		}
	})
}

func TestDialledNodeMustBeTheOneThatWasMeant(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newFabricTown()
		w.node(t, Config{Self: in("c")})
		l, err := w.fabric.listen("a")
		if err != nil {
			t.Fatal(err)
		}
		a, err := New(Config{
			Self: in("a"), Listener: l, Logger: quiet(),
			Address: func(string) (string, bool) { return "c", true },
			Dial:    func(ctx context.Context, addr string) (net.Conn, error) { return w.fabric.dial(ctx, "a", addr) },
		})
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		_, err = a.Call(t.Context(), "b", nil)
		if !errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), `thought to be that of node "b"`) {
			t.Errorf("err = %v", err)
		}
	})
}

func TestSetSelfShakesHandsAnew(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newFabricTown()
		var verified atomic.Int32
		verify := func(Identity) error { verified.Add(1); return nil }
		a := w.node(t, Config{Self: Identity{Node: "a", Incarnation: "a-disk"}, Verify: verify})
		b := w.node(t, Config{Self: Identity{Node: "b", Incarnation: "b-disk"}, Verify: verify, Handle: echo})
		serveRaft(t, b.Transport("b/1/1"), accept)
		if _, err := a.Call(t.Context(), "b", nil); err != nil || verified.Load() != 0 {
			t.Fatalf("before: %v, %d verified", err, verified.Load())
		}
		for n, self := range map[*Network]Identity{a: in("a"), b: in("b")} {
			if err := n.SetSelf(self); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if a.Reachable("b") {
			t.Error("the old connection is still there")
		}
		err := transportOf(a, "a/1/1").AppendEntries("b/1/1", "", &raft.AppendEntriesRequest{}, &raft.AppendEntriesResponse{})
		synctest.Wait()
		if err != nil || verified.Load() != 4 { // both connections, on both sides
			t.Errorf("after: %v, %d verified, want 4", err, verified.Load())
		}
		if err := a.SetSelf(Identity{Node: "a/b"}); err == nil {
			t.Error("a node id with a slash was taken")
		}
	})
}

func TestStrangersAreNamedAndClosed(t *testing.T) {
	t.Parallel()
	hello := appendFrame(nil, kindHello, 0, "", func(b []byte) []byte {
		return appendIntroduction(b, introduction{identity: in("x"), purpose: forTraffic})
	})
	version := func(v uint16) string { return string(binary.LittleEndian.AppendUint16([]byte(magic), v)) }
	tests := map[string]struct{ sent, want string }{
		"TLS":                {"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "TLS"},
		"HTTP":               {"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP"},
		"garbage":            {"\x00\xff\x00\xff\x00\xff\x00\xff\x00\xff", "not a peer"},
		"almost the magic":   {"ringpool and more", "not a peer"},
		"another version":    {version(protocolVersion+1) + string(hello), "versions differ"},
		"large introduction": {version(protocolVersion) + "\xff\xff\xff\x7f\x00\x00\x00\x00", "want 10 to 8192"},
		"damaged":            {version(protocolVersion) + string(hello[:len(hello)-1]) + "x", "damaged"},
		"wrong frame":        {version(protocolVersion) + string(appendFrame(nil, kindPing, 0, "", nil)), "where an introduction"},
		"bad node id": {version(protocolVersion) + string(appendFrame(nil, kindHello, 0, "", func(b []byte) []byte {
			return appendIntroduction(b, introduction{identity: Identity{Node: "x/y"}, purpose: forTraffic})
		})), "has no slash"},
		"bad purpose": {version(protocolVersion) + string(appendFrame(nil, kindHello, 0, "", func(b []byte) []byte {
			return appendIntroduction(b, introduction{identity: in("x"), purpose: 9})
		})), "purpose 9"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, book := newTown(), newLogBook()
			w.node(t, Config{Self: in("a"), Logger: book.logger(), HandshakeTimeout: time.Minute})
			addr, _ := w.address("a")
			conn, err := net.Dial("tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if _, err := io.WriteString(conn, test.sent); err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, conn) // returns once the node has closed; a reset is as good
			book.wait(t, "level=WARN")
			if book.count(test.want) == 0 {
				t.Errorf("log: %s, want %q", &book.text, test.want)
			}
		})
	}
}

func TestAnotherVersionIsTold(t *testing.T) {
	t.Parallel()
	w := newTown()
	w.node(t, Config{Self: in("a")})
	addr, _ := w.address("a")
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write(binary.LittleEndian.AppendUint16([]byte(magic), 99)); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(conn)
	if err := readPreamble(r); err != nil {
		t.Fatal(err)
	}
	f, err := readFrame(r, maxHandshake)
	if err != nil {
		t.Fatal(err)
	}
	if i, err := decodeIntroduction(f.payload); err != nil || i.refusal != "protocol versions differ: 99 there, 3 here" {
		t.Errorf("told %+v, %v", i, err)
	}
}

func TestSilentStrangerIsClosed(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newFabricTown()
		w.node(t, Config{Self: in("a")})
		conn, err := w.fabric.dial(t.Context(), "x", "a")
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		start := time.Now()
		done := make(chan struct{})
		go func() { // a byte now and then does not help
			defer close(done)
			for _, b := range []byte(magic) {
				time.Sleep(700 * time.Millisecond)
				if _, err := conn.Write([]byte{b}); err != nil {
					return
				}
			}
		}()
		_, _ = io.Copy(io.Discard, conn)
		if took := time.Since(start); took != 2*time.Second {
			t.Errorf("closed after %v, want the handshake's 2s", took)
		}
		<-done
	})
}

func TestSkippedLogLinesAreCounted(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		book, l := newLogBook(), newLimiter()
		for range 5 {
			l.log(book.logger(), 0, "noise")
		}
		if n := book.count("noise"); n != 1 {
			t.Errorf("%d lines at one instant, want 1", n)
		}
		time.Sleep(logInterval)
		l.log(book.logger(), 0, "noise")
		if book.count("more_like_it=4") != 1 {
			t.Errorf("log: %s", &book.text)
		}
	})
}

func TestConnectionsAreBounded(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newFabricTown()
		book := newLogBook()
		w.node(t, Config{Self: in("a"), MaxConns: 1, Logger: book.logger(), HandshakeTimeout: time.Hour, SilenceTimeout: time.Hour})
		first, err := w.fabric.dial(t.Context(), "x", "a")
		if err != nil {
			t.Fatal(err)
		}
		defer first.Close()
		synctest.Wait()
		second, err := w.fabric.dial(t.Context(), "x", "a")
		if err != nil {
			t.Fatal(err)
		}
		defer second.Close()
		if _, err := second.Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("err = %v, want the connection closed", err)
		}
		if book.count(errTooManyConns.Error()) != 1 {
			t.Errorf("log: %s", &book.text)
		}
	})
}
