package peer

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"
)

var errBusy = errors.New("busy")

// Call sends a request to a node, for its Config.Handle, and returns the answer. It
// waits ReconnectWait for a lost connection, unless the node is gone, and CallTimeout in
// all unless ctx ends sooner. ErrUnreachable means that the request was certainly not handled; after any
// other error it may have been. A [RemoteError] is the handler's own.
func (n *Network) Call(ctx context.Context, node string, request []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, n.cfg.CallTimeout)
	defer cancel()
	l, err := n.link(node)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	s, err := l.await(ctx, n.cfg.ReconnectWait, false)
	if err != nil {
		return nil, err
	}
	return s.exchange(ctx, kindCall, "", func(b []byte) []byte {
		deadline, _ := ctx.Deadline()
		return append(binary.AppendUvarint(b, uint64(max(1, time.Until(deadline).Milliseconds()))), request...)
	})
}

// decodeCall returns how long the caller waits, at most limit, and its request.
func decodeCall(b []byte, limit time.Duration) (time.Duration, []byte, error) {
	r := reader{b: b}
	ms := r.uint()
	if r.err != nil {
		return 0, nil, r.err
	}
	if ms >= uint64(limit/time.Millisecond) {
		return limit, r.b, nil
	}
	return time.Duration(ms) * time.Millisecond, r.b, nil
}

// call handles a call on a goroutine of its own, of which there are at most MaxCalls.
func (c *inbound) call(f frame) {
	timeout, request, err := decodeCall(f.payload, c.net.cfg.CallTimeout)
	if err != nil {
		c.out.post(kindRefused, f.id, appendText(err.Error()))
		return
	}
	select {
	case c.net.calls <- struct{}{}:
	default:
		c.out.post(kindRefused, f.id, appendText(errBusy.Error()))
		return
	}
	c.wg.Go(func() {
		defer func() { <-c.net.calls }()
		ctx, cancel := context.WithTimeout(c.ctx, timeout)
		defer cancel()
		reply, err := c.net.cfg.Handle(ctx, c.from, request)
		if err == nil {
			err = c.out.put(ctx, kindReply, f.id, "", func(b []byte) []byte { return append(b, reply...) })
		}
		if err != nil {
			c.failed(f.id, err)
		}
	})
}
