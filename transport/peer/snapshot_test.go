package peer

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"

	"github.com/ringraft/ringraft/internal/bubble"
)

// install sends size bytes and returns what it took.
func install(from transport, to raft.ServerID, data io.Reader, size int) (raft.InstallSnapshotResponse, error) {
	var response raft.InstallSnapshotResponse
	err := from.InstallSnapshot(to, "", &raft.InstallSnapshotRequest{Term: 3, Size: int64(size)}, &response, data)
	return response, err
}

func TestSnapshotArrivesWhole(t *testing.T) {
	t.Parallel()
	w := newTown()
	a, b := w.node(t, Config{Self: in("a")}), w.node(t, Config{Self: in("b")})
	from, to := transportOf(a, "a/1/1"), transportOf(b, "b/1/1")
	sums := make(chan [sha256.Size]byte, 1)
	serveRaft(t, to, func(rpc raft.RPC) (any, error) {
		got, err := io.ReadAll(rpc.Reader)
		sums <- sha256.Sum256(got)
		return &raft.InstallSnapshotResponse{Term: 7, Success: true}, err
	})
	random := rand.NewChaCha8([32]byte{1})
	for _, size := range []int{0, 1, chunkSize, chunkSize + 1, 5<<20 + 3} {
		data := make([]byte, size)
		_, _ = random.Read(data)
		response, err := install(from, "b/1/1", bytes.NewReader(data), size)
		if err != nil || !response.Success || response.Term != 7 || <-sums != sha256.Sum256(data) {
			t.Errorf("%d bytes: %+v, %v", size, response, err)
		}
	}
}

func TestSnapshotsThatFail(t *testing.T) {
	broken := errors.New("disk is broken")
	tests := map[string]struct {
		change func(*Config)
		to     raft.ServerID
		data   io.Reader
		serve  func(raft.RPC) (any, error)
		want   string
	}{
		"no such replica":  {to: "b/2/1", want: `no replica "b/2/1" here`},
		"no such node":     {to: "x/1/1", want: "refused"},
		"not a member":     {change: func(c *Config) { c.Self.Cluster = "" }, want: errNotMember.Error()},
		"the source fails": {data: iotest.ErrReader(broken), want: broken.Error()},
		"the receiver fails": {
			serve: func(rpc raft.RPC) (any, error) {
				_, _ = io.Copy(io.Discard, rpc.Reader) // as raft does after an error
				return nil, broken
			},
			want: broken.Error(),
		},
		"nobody reads": {
			serve: func(raft.RPC) (any, error) { time.Sleep(time.Minute); return &raft.InstallSnapshotResponse{}, nil },
			want:  "timeout",
		},
		"nobody answers": {
			serve: func(rpc raft.RPC) (any, error) {
				_, _ = io.Copy(io.Discard, rpc.Reader)
				time.Sleep(time.Hour)
				return &raft.InstallSnapshotResponse{}, nil
			},
			data: strings.NewReader("short"), want: "timeout",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				_, a, _, from, to := pair(t, test.change)
				serve := accept
				if test.serve != nil {
					serve = test.serve
				}
				serveRaft(t, to, serve)
				id, data := test.to, test.data
				if id == "" {
					id = "b/1/1"
				}
				if data == nil {
					data = bytes.NewReader(make([]byte, 8*chunkSize))
				}
				_, err := install(from, id, data, 8*chunkSize)
				if err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("err = %v, want %q", err, test.want)
				}
				synctest.Wait()
				if len(a.sending) > 0 || len(a.conns) > 1 {
					t.Errorf("%d turns and %d connections are not given back", len(a.sending), len(a.conns))
				}
			})
		})
	}
}

// endless is a snapshot whose next chunk comes late.
type endless struct{ pause time.Duration }

func (e endless) Read(b []byte) (int, error) { time.Sleep(e.pause); return len(b), nil }

func TestReceiverGivesUpOnASilentSender(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		_, _, _, from, to := pair(t, nil)
		ended := make(chan error, 1)
		serveRaft(t, to, func(rpc raft.RPC) (any, error) {
			_, err := io.Copy(io.Discard, rpc.Reader)
			ended <- err
			return nil, err
		})
		go func() { // a source that has hung; the test cannot interrupt it, so it ends by itself
			_, _ = install(from, "b/1/1", io.LimitReader(endless{time.Minute}, 1), 1)
		}()
		start := time.Now()
		err := <-ended
		if took := time.Since(start); err == nil || took != 10*time.Second {
			t.Errorf("%v after %v, want a passed deadline after 10s", err, took)
		}
		time.Sleep(time.Minute)
	})
}

func TestSlowSnapshotLivesAsLongAsItProgresses(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		_, _, _, from, to := pair(t, nil)
		serveRaft(t, to, accept)
		size := 20 * chunkSize
		response, err := install(from, "b/1/1", io.LimitReader(endless{9 * time.Second}, int64(size)), size)
		if err != nil || !response.Success {
			t.Errorf("%+v, %v", response, err)
		}
	})
}

func TestDamagedSnapshotIsNoEnd(t *testing.T) {
	t.Parallel()
	var wire bytes.Buffer
	if err := sendChunks(&wire, strings.NewReader("0123456789"), make([]byte, 4)); err != nil {
		t.Fatal(err)
	}
	whole := wire.Bytes()
	read := func(b []byte) (string, error) {
		got, err := io.ReadAll(&chunkReader{r: bufio.NewReader(bytes.NewReader(b)), limit: 1000})
		return string(got), err
	}
	if got, err := read(whole); got != "0123456789" || err != nil {
		t.Fatalf("whole: %q, %v", got, err)
	}
	for i := range whole {
		if got, err := read(whole[:i]); err == nil {
			t.Errorf("cut to %d bytes: %q without an error", i, got)
		}
		damaged := bytes.Clone(whole)
		damaged[i] ^= 0x10
		if got, err := read(damaged); err == nil {
			t.Errorf("byte %d damaged: %q without an error", i, got)
		}
	}
}

func TestSnapshotsTakeTurns(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		_, a, _, from, to := pair(t, func(c *Config) { c.MaxSnapshots = 1 })
		serveRaft(t, to, accept)
		release := make(chan struct{})
		errs := make(chan error, 2)
		send := func(data io.Reader) {
			go func() { _, err := install(from, "b/1/1", data, 0); errs <- err }()
			synctest.Wait()
		}
		send(blocked{release})
		send(strings.NewReader(""))
		if len(errs) > 0 || len(a.sending) != 1 {
			t.Errorf("%d ended and %d under way, want the second to wait", len(errs), len(a.sending))
		}
		close(release)
		for range cap(errs) {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
		late := blocked{make(chan struct{})}
		send(late)
		start := time.Now()
		send(strings.NewReader(""))
		err := <-errs
		if took := time.Since(start); !errors.Is(err, errBusy) || took != 10*time.Second {
			t.Errorf("%v after %v, want busy after 10s", err, took)
		}
		close(late.release)
		<-errs
	})
}

// blocked is an empty snapshot that ends late.
type blocked struct{ release chan struct{} }

func (b blocked) Read([]byte) (int, error) { <-b.release; return 0, io.EOF }

func TestClosingTheReplicaEndsItsSnapshots(t *testing.T) {
	for name, side := range map[string]func(from, to transport) error{
		"sender":   func(from, _ transport) error { return from.Close() },
		"receiver": func(_, to transport) error { return to.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				_, _, _, from, to := pair(t, nil)
				read := make(chan error, 1)
				serveRaft(t, to, func(rpc raft.RPC) (any, error) {
					_, err := io.Copy(io.Discard, rpc.Reader)
					read <- err
					return &raft.InstallSnapshotResponse{}, err
				})
				sent := make(chan error, 1)
				go func() { _, err := install(from, "b/1/1", endless{100 * time.Millisecond}, 0); sent <- err }()
				time.Sleep(time.Second)
				if err := side(from, to); err != nil {
					t.Error(err)
				}
				if err := <-sent; err == nil {
					t.Error("the sender got no error")
				}
				if err := <-read; err == nil {
					t.Error("the receiver took half a snapshot for a whole one")
				}
			})
		})
	}
}
