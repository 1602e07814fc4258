package peer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"
)

// Config is what a [Network] needs. Self, Listener and Address are required; for the
// rest the zero value works.
type Config struct {
	Self     Identity
	Listener net.Listener // owned by the Network, which closes it

	// Dial opens a connection. Nil: TCP.
	Dial func(ctx context.Context, addr string) (net.Conn, error)

	// Address returns where a node listens, and whether that is known.
	Address func(node string) (addr string, ok bool)

	// Verify judges a node that says it belongs to our cluster: is it a member, and
	// is its incarnation the one that we know? An error refuses the connection, and
	// its text is told to the node. It is called at each handshake, on both sides.
	// Nil: every such node is believed.
	Verify func(remote Identity) error

	// Handle answers a call from another node. It runs on at most MaxCalls
	// goroutines and must return soon after ctx ends: Close waits for it. The
	// request is its own to keep. Errors travel as text. Nil: calls are refused.
	Handle func(ctx context.Context, from From, request []byte) ([]byte, error)

	// Departed is told that a node's process is gone: its connections have ended and
	// its host refuses another. It is told so again, with gone false, once the node is
	// back. It must not block, nor call the Network. Nil: nobody is told.
	Departed func(node string, gone bool)

	Logger *slog.Logger // nil: slog.Default()

	DialTimeout      time.Duration // to open a connection; 1 s
	HandshakeTimeout time.Duration // for both introductions; 2 s
	PingInterval     time.Duration // a connection on which nothing arrived for so long is pinged; 500 ms
	SilenceTimeout   time.Duration // one on which nothing arrived, or nothing could be written, is dropped; 3 s
	ReconnectWait    time.Duration // how long AppendEntries and Call wait for a lost connection; 500 ms
	AppendTimeout    time.Duration // for AppendEntries in all; 5 s
	VoteTimeout      time.Duration // for votes, pre-votes and TimeoutNow; 2 s
	HeartbeatWait    time.Duration // heartbeats to a node leave at most once in so long, together; 150 ms
	CallTimeout      time.Duration // for a call whose context allows more, on both sides; 30 s
	ChunkTimeout     time.Duration // for a snapshot's next chunk, and for a turn to send one; 10 s
	InstallTimeout   time.Duration // for the answer once all of a snapshot is sent; 2 min

	MaxFrame       int // bytes of a message; 64 MiB
	MaxAppendBytes int // bytes of entries in one AppendEntries, which has at least one entry; 4 MiB
	MaxPending     int // bytes waiting to be written to a peer before senders wait; 16 MiB
	MaxQueue       int // Raft messages waiting for one replica before others are refused; 128
	MaxCalls       int // calls handled at once; 64
	MaxSnapshots   int // snapshots at once, for each direction; 2
	MaxConns       int // accepted connections at once; 256
}

func (c Config) withDefaults() Config {
	if c.Dial == nil {
		c.Dial = func(ctx context.Context, addr string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "tcp", addr)
		}
	}
	if c.Verify == nil {
		c.Verify = func(Identity) error { return nil }
	}
	if c.Handle == nil {
		c.Handle = func(context.Context, From, []byte) ([]byte, error) { return nil, errors.New("calls are not served") }
	}
	if c.Departed == nil {
		c.Departed = func(string, bool) {}
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	setDefault(&c.DialTimeout, time.Second)
	setDefault(&c.HandshakeTimeout, 2*time.Second)
	setDefault(&c.PingInterval, 500*time.Millisecond)
	setDefault(&c.SilenceTimeout, 3*time.Second)
	setDefault(&c.ReconnectWait, 500*time.Millisecond)
	setDefault(&c.AppendTimeout, 5*time.Second)
	setDefault(&c.VoteTimeout, 2*time.Second)
	setDefault(&c.HeartbeatWait, 150*time.Millisecond)
	setDefault(&c.CallTimeout, 30*time.Second)
	setDefault(&c.ChunkTimeout, 10*time.Second)
	setDefault(&c.InstallTimeout, 2*time.Minute)
	setDefault(&c.MaxFrame, 64<<20)
	setDefault(&c.MaxAppendBytes, 4<<20)
	setDefault(&c.MaxPending, 16<<20)
	setDefault(&c.MaxQueue, 128)
	setDefault(&c.MaxCalls, 64)
	setDefault(&c.MaxSnapshots, 2)
	setDefault(&c.MaxConns, 256)
	return c
}

func setDefault[T int | time.Duration](field *T, value T) {
	if *field == 0 {
		*field = value
	}
}

// validate checks a Config that has its defaults.
func (c Config) validate() error {
	if err := c.Self.validate(); err != nil {
		return err
	}
	if c.Listener == nil || c.Address == nil {
		return errors.New("peer: Listener and Address are required")
	}
	for _, d := range []time.Duration{
		c.DialTimeout, c.HandshakeTimeout, c.PingInterval, c.SilenceTimeout, c.ReconnectWait,
		c.AppendTimeout, c.VoteTimeout, c.HeartbeatWait, c.CallTimeout, c.ChunkTimeout, c.InstallTimeout,
	} {
		if d < 0 {
			return fmt.Errorf("peer: a timeout is %v, want more than 0", d)
		}
	}
	for _, n := range []int{c.MaxAppendBytes, c.MaxPending, c.MaxQueue, c.MaxCalls, c.MaxSnapshots, c.MaxConns} {
		if n < 0 {
			return fmt.Errorf("peer: a bound is %d, want more than 0", n)
		}
	}
	if c.MaxFrame < minFrame {
		return fmt.Errorf("peer: MaxFrame is %d, want at least %d", c.MaxFrame, minFrame)
	}
	if c.MaxAppendBytes > c.MaxFrame/2 {
		return fmt.Errorf("peer: MaxAppendBytes is %d, want at most half of MaxFrame, %d", c.MaxAppendBytes, c.MaxFrame)
	}
	if c.SilenceTimeout < 2*c.PingInterval {
		return fmt.Errorf("peer: SilenceTimeout is %v, want at least twice PingInterval, %v", c.SilenceTimeout, c.PingInterval)
	}
	return nil
}
