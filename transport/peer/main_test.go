package peer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// logBook records log lines.
type logBook struct {
	mu   sync.Mutex
	text bytes.Buffer
	grew chan struct{} // capacity 1
}

func newLogBook() *logBook { return &logBook{grew: make(chan struct{}, 1)} }

func (l *logBook) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

func (l *logBook) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case l.grew <- struct{}{}:
	default:
	}
	return l.text.Write(b)
}

func (l *logBook) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return bytes.Count(l.text.Bytes(), []byte(text))
}

// wait returns once text has been logged.
func (l *logBook) wait(t *testing.T, text string) {
	t.Helper()
	for l.count(text) == 0 {
		select {
		case <-l.grew:
		case <-t.Context().Done():
			t.Fatalf("never logged: %s", text)
		}
	}
}

// town is some nodes of one cluster. On a fabric if there is one, else on loopback.
type town struct {
	fabric *Fabric
	mu     sync.Mutex
	addrs  map[string]string
}

func newTown() *town          { return &town{addrs: make(map[string]string)} }
func newFabricTown() *town    { return &town{fabric: NewFabric()} }
func quiet() *slog.Logger     { return slog.New(slog.DiscardHandler) }
func in(node string) Identity { return Identity{Cluster: "c", Node: node, Incarnation: node + "-disk"} }

func (w *town) address(node string) (string, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	addr, ok := w.addrs[node]
	return addr, ok
}

// node starts a node, closed at the test's end.
func (w *town) node(t testing.TB, cfg Config) *Network {
	t.Helper()
	if cfg.Logger == nil {
		cfg.Logger = quiet()
	}
	n, err := w.start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return n
}

func (w *town) start(cfg Config) (*Network, error) {
	if w.fabric != nil {
		return w.fabric.Network(cfg)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	w.addrs[cfg.Self.Node] = l.Addr().String()
	w.mu.Unlock()
	cfg.Listener, cfg.Address = l, w.address
	n, err := New(cfg)
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return n, nil
}

// transport has all that raft may ask for.
type transport interface {
	raft.Transport
	raft.WithPreVote
	raft.WithClose
}

func transportOf(n *Network, id raft.ServerID) transport { return n.Transport(id).(transport) }

// serveRaft answers a replica's messages in the way of raft, one after the other,
// until the test ends.
func serveRaft(t testing.TB, tr raft.Transport, answer func(raft.RPC) (any, error)) {
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case rpc := <-tr.Consumer():
				rpc.Respond(answer(rpc))
			case <-stop:
				return
			}
		}
	}()
	t.Cleanup(func() { close(stop); <-done })
}

// accept grants everything that it is asked for, and discards snapshots.
func accept(rpc raft.RPC) (any, error) {
	switch c := rpc.Command.(type) {
	case *raft.AppendEntriesRequest:
		return &raft.AppendEntriesResponse{Term: c.Term, LastLog: c.PrevLogEntry + uint64(len(c.Entries)), Success: true}, nil
	case *raft.RequestVoteRequest:
		return &raft.RequestVoteResponse{Term: c.Term, Granted: true}, nil
	case *raft.RequestPreVoteRequest:
		return &raft.RequestPreVoteResponse{Term: c.Term, Granted: true}, nil
	case *raft.TimeoutNowRequest:
		return &raft.TimeoutNowResponse{}, nil
	case *raft.InstallSnapshotRequest:
		n, err := io.Copy(io.Discard, rpc.Reader)
		return &raft.InstallSnapshotResponse{Term: c.Term, Success: err == nil && n == c.Size}, err
	}
	return nil, fmt.Errorf("%T is not known", rpc.Command)
}

// echo answers a call with the request.
func echo(_ context.Context, _ From, request []byte) ([]byte, error) { return request, nil }

// within fails the test if f takes longer, in the time of the bubble.
func within(t *testing.T, d time.Duration, f func()) {
	t.Helper()
	start := time.Now()
	f()
	if took := time.Since(start); took > d {
		t.Errorf("took %v, want at most %v", took, d)
	}
}

// errTimeout is what a passed deadline is.
var errTimeout = context.DeadlineExceeded

func wantError(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("err = %v, want %v", err, want)
	}
}
