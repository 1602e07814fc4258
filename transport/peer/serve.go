package peer

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/ringraft/ringraft/internal/mutant"
)

// acceptPause is how long accepting rests after an error, such as too many open files.
const acceptPause = 100 * time.Millisecond

func (n *Network) accept() {
	for {
		conn, err := n.cfg.Listener.Accept()
		switch {
		case n.ctx.Err() != nil:
			if err == nil {
				_ = conn.Close()
			}
			return
		case errors.Is(err, net.ErrClosed):
			n.log.Error("peer listener was closed by others", "error", err)
			return
		case err != nil:
			n.noise.log(n.log, slog.LevelError, "peer connections are not accepted", "error", err)
			select {
			case <-n.ctx.Done():
			case <-time.After(acceptPause):
			}
			continue
		}
		select {
		case n.accepted <- struct{}{}:
			n.wg.Go(func() {
				defer func() { <-n.accepted }()
				n.serve(conn)
			})
		default:
			n.noise.log(n.log, slog.LevelWarn, "peer connection refused", "remote", conn.RemoteAddr(), "error", errTooManyConns)
			_ = conn.Close()
		}
	}
}

// serve owns an accepted connection, from the handshake to its end.
func (n *Network) serve(conn net.Conn) {
	s, r, err := n.begin(conn)
	if err != nil {
		return // the Network is closed, and with it the connection
	}
	defer n.drop(s)
	from, p, err := n.receive(s, r)
	if err != nil {
		n.logRefusal(conn, err)
		return
	}
	if p == forSnapshot {
		err = n.takeSnapshot(s, r, from)
	} else {
		err = newInbound(n, s, r, from).run()
	}
	if n.ctx.Err() == nil && !errors.Is(err, io.EOF) {
		n.log.Debug("connection from peer ended", "node", from.Node, "error", err)
	}
}

// hear notes that a node has connected, and until the call of what it returns that this
// lasts. A fellow member is dialled as well, so that its end is noticed.
func (n *Network) hear(from From) (ended func()) {
	if !from.Member {
		return func() {}
	}
	l, err := n.link(from.Node)
	if err != nil {
		return func() {} // the Network is closed
	}
	l.presence.opened()
	return l.presence.ended
}

func (n *Network) logRefusal(conn net.Conn, err error) {
	var refused *refusedError
	switch {
	case n.ctx.Err() != nil || errors.Is(err, io.EOF):
	case errors.As(err, &refused) && refused.alarm:
		n.alarms.log(n.log, slog.LevelError, "a node of this cluster's name is not the member that we know",
			"node", refused.remote.Node, "incarnation", refused.remote.Incarnation, "remote", conn.RemoteAddr(), "error", refused.reason)
	default:
		n.noise.log(n.log, slog.LevelWarn, "peer handshake failed", "remote", conn.RemoteAddr(), "error", err)
	}
}

// inbound is an accepted connection for traffic: requests come in, answers go out.
type inbound struct {
	net    *Network
	stream *stream
	reader *bufio.Reader
	out    *outbox
	from   From
	ctx    context.Context // ends with the connection
	stop   context.CancelCauseFunc
	wg     sync.WaitGroup // the writer, the calls being handled, heartbeats being answered

	beating chan struct{} // a token per frame of heartbeats that are unanswered
}

func newInbound(n *Network, s *stream, r *bufio.Reader, from From) *inbound {
	c := &inbound{
		net: n, stream: s, reader: r, from: from, out: newOutbox(n.cfg.MaxPending, n.cfg.MaxFrame),
		beating: make(chan struct{}, maxBeatFrames),
	}
	c.ctx, c.stop = context.WithCancelCause(n.ctx)
	return c
}

// run serves requests until the connection ends, and returns why once its
// goroutines are gone.
func (c *inbound) run() error {
	c.wg.Go(func() {
		if err := c.out.run(c.stream); err != nil {
			c.end(err)
		}
	})
	ended := c.net.hear(c.from)
	err := c.read()
	ended()
	c.end(err)
	c.wg.Wait()
	return err
}

// end closes the connection and gives up what is being handled for it.
func (c *inbound) end(err error) {
	c.stop(err)
	c.out.close(err)
	c.net.drop(c.stream)
}

func (c *inbound) read() error {
	frames := frameReader{r: c.reader, limit: c.net.cfg.MaxFrame}
	for {
		f, err := frames.next()
		if err != nil {
			return err
		}
		switch f.kind {
		case kindPing:
			c.out.post(kindReply, f.id, nil)
		case kindCall:
			c.call(f)
		case kindBeats:
			if err := c.beats(f); err != nil {
				return err
			}
		case kindAppend, kindVote, kindPreVote, kindTimeoutNow:
			if err := c.deliver(f); err != nil {
				c.out.post(kindRefused, f.id, appendText(err.Error()))
			}
		default:
			return fmt.Errorf("frame of kind %d is no request", f.kind)
		}
	}
}

// deliver hands a Raft message to its replica, and never waits for it: others share
// the connection. The error says why it did not.
func (c *inbound) deliver(f frame) error {
	r, request, err := c.open(f.kind, f.target, f.payload)
	if err != nil {
		return err
	}
	return r.offer(c, f.id, request)
}

// open returns a Raft message and the replica that it is for.
func (c *inbound) open(k kind, target, payload []byte) (*replica, any, error) {
	if !c.from.Member {
		return nil, nil, errNotMember
	}
	request, err := decodeRequest(k, payload)
	if err != nil {
		return nil, nil, err
	}
	r := c.net.replica(target)
	if r == nil && mutant.VoteByError {
		return nil, nil, fmt.Errorf("unexpected command for %q", target)
	}
	if r == nil {
		return nil, nil, fmt.Errorf("no replica %q here", target)
	}
	return r, request, nil
}

// failed answers that a request ended in an error.
func (c *inbound) failed(id uint64, err error) {
	c.out.post(kindFailed, id, appendText(err.Error()))
}
