package integration

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ringraft/ringraft/client"
)

// brittleConn breaks at one of its reads, in place of what it would have read: the
// replies are lost, and whose they were is not known.
type brittleConn struct {
	net.Conn
	left atomic.Int64 // reads until then
}

func (c *brittleConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if c.left.Add(-1) >= 0 {
		return n, err
	}
	c.Close()
	return 0, errors.New("the connection broke")
}

// dialBrittle opens connections, and counts them, that break after a varying number of
// reads, the first few of which are the greeting's.
func dialBrittle(dials *atomic.Int64) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		var d net.Dialer
		conn, err := d.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		c := &brittleConn{Conn: conn}
		c.left.Store(5 + 7*dials.Add(1)%40)
		return c, nil
	}
}

// TestRepliesStayWithTheirCalls breaks connections under pipelined calls, and kills a
// leader under them: no caller gets another one's value, and every call counts once.
func TestRepliesStayWithTheirCalls(t *testing.T) {
	t.Parallel()
	c := startCluster(t, 3)
	var dials atomic.Int64
	cl, err := c.dial(client.Config{Dial: dialBrittle(&dials), ConnsPerNode: 1, RequestTimeout: patience})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cl.Close() })
	var calls atomic.Int64
	callers := make([]*pipelined, 100)
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for i := range callers {
		callers[i] = &pipelined{client: cl, calls: &calls, key: fmt.Sprintf("caller-%d", i)}
		wg.Go(func() {
			for ctx.Err() == nil {
				if err := callers[i].call(); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	awaitCalls(t, &calls)
	victim := c.leader(1)
	victim.kill()
	awaitCalls(t, &calls)
	victim.start()
	awaitCalls(t, &calls)
	eventually(t, "enough connections break for the test to prove something", func() error {
		if n := dials.Load(); n < 20 {
			return fmt.Errorf("%d were opened, want 20", n)
		}
		return nil
	})
	stop()
	wg.Wait()
	for _, p := range callers {
		if sum, err := c.client.Add(t.Context(), p.counter(), 0); err != nil || sum != p.done {
			t.Errorf("%s stands at %d, %v, after %d calls", p.counter(), sum, err, p.done)
		}
	}
}

// pipelined is one of many callers that share a connection.
type pipelined struct {
	client *client.Client
	calls  *atomic.Int64
	key    string
	done   int64 // calls to add one to the counter
}

func (p *pipelined) counter() string { return p.key + "-counter" }

// call writes the key into the key's own value, reads it back, and counts.
func (p *pipelined) call() error {
	ctx := context.Background() // what is under way when the test ends is let through
	if _, err := p.client.Set(ctx, p.key, []byte(p.key)); err != nil {
		return fmt.Errorf("set %s: %w", p.key, err)
	}
	v, err := p.client.Get(ctx, p.key, client.At(client.Linearizable))
	if err != nil || string(v.Bytes) != p.key {
		return fmt.Errorf("get %s: %q, %w", p.key, v.Bytes, err)
	}
	if _, err := p.client.Add(ctx, p.counter(), 1); err != nil {
		return fmt.Errorf("add to %s: %w", p.counter(), err)
	}
	p.done++
	p.calls.Add(3)
	return nil
}
