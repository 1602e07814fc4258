package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ringraft/ringraft/internal/fakenode"
	"github.com/ringraft/ringraft/op"
)

func TestConfigIsChecked(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	node := new(listeningNode)
	for _, cfg := range []Config{{}, {Listener: l}, {Node: node}, {Listener: l, Node: node, MaxConns: -1}, {Listener: l, Node: node, IdleTimeout: -1}, {Listener: l, Node: node, Origins: []string{"x"}}} {
		if _, err := NewServer(cfg); err == nil {
			t.Errorf("%+v is taken", cfg)
		}
	}
}

// TestShutdownLetsRequestsFinish holds a request up in the cluster while the server stops.
func TestShutdownLetsRequestsFinish(t *testing.T) {
	t.Parallel()
	f := startFront(t, Config{})
	under, release := make(chan struct{}), make(chan struct{})
	g := serveFront(t, f.cluster, Config{Node: &slippingNode{Node: f.cluster, slip: func() { close(under); <-release }}})
	answered := make(chan reply, 1)
	c := g.dial()
	go func() { answered <- c.send("PUT", "/k", "v") }()
	<-under
	stopped := make(chan error, 1)
	go func() { stopped <- g.server.Shutdown(context.Background()) }()
	for {
		conn, err := net.Dial("tcp", g.address)
		if err != nil {
			break // no more are taken
		}
		conn.Close()
	}
	close(release)
	if r := <-answered; r.status != 201 {
		t.Errorf("%+v", r)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

func TestShutdownGivesUpWithItsContext(t *testing.T) {
	t.Parallel()
	f := startFront(t, Config{RequestTimeout: time.Millisecond})
	under := make(chan struct{}, 1)
	f.cluster.Intercept(func(string, op.Request) *fakenode.Fault { under <- struct{}{}; return &fakenode.Fault{Mute: true} })
	c := f.dial()
	if _, err := fmt.Fprintf(c.conn, "PUT /k HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhalf"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	// The request's body never ends.
	if err := f.server.Shutdown(ctx); !errors.Is(err, context.Canceled) && err != nil {
		t.Errorf("err = %v", err)
	}
}

func TestSilenceOfTheClusterEndsInTime(t *testing.T) {
	t.Parallel()
	f := startFront(t, Config{RequestTimeout: 20 * time.Millisecond})
	f.cluster.Intercept(func(string, op.Request) *fakenode.Fault { return &fakenode.Fault{Mute: true} })
	f.send("PUT", "/k", "v").wantProblem(t, 504, "unknown-outcome")
	f.send("GET", "/k", "").wantProblem(t, 503, "unavailable")
	if v, _ := func() (string, bool) { f.cluster.Intercept(nil); return f.value("k") }(); v != "v" {
		t.Errorf("the write of unknown outcome left %q", v)
	}
}

func TestConnectionsOverTheLimitAreTurnedAway(t *testing.T) {
	t.Parallel()
	f := startFront(t, Config{MaxConns: 1})
	c := f.dial()
	c.send("PUT", "/k", "v")
	r := f.dial().receive("GET").wantProblem(t, 503, "crowded")
	if r.header.Get("Retry-After") == "" {
		t.Error("without Retry-After")
	}
	c.conn.Close()
	for { // the server learns of it soon
		d := f.dial()
		_, _ = fmt.Fprintf(d.conn, "GET /k HTTP/1.1\r\nHost: h\r\n\r\n")
		if r := d.receive("GET"); r.status == 200 {
			return
		}
		d.conn.Close()
	}
}

func TestHeadersHaveALimit(t *testing.T) {
	t.Parallel()
	f := startFront(t, Config{})
	c := f.dial()
	r := c.send("OPTIONS", "/k", "", "X: "+strings.Repeat("x", 2*maxHeader))
	if r.status != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("%+v", r)
	}
}

// TestSlowRequestsAreCutOff sends half of a header, half of a body, and nothing at all.
func TestSlowRequestsAreCutOff(t *testing.T) {
	t.Parallel()
	f := startFront(t, Config{HeaderTimeout: 20 * time.Millisecond, BodyTimeout: 20 * time.Millisecond, IdleTimeout: 20 * time.Millisecond})
	for _, start := range []string{"", "PUT /k HTTP/1.1\r\nHost", "PUT /k HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nhalf", "PUT /k HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\nx"} {
		c := f.dial()
		if _, err := c.conn.Write([]byte(start)); err != nil {
			t.Fatal(err)
		}
		for {
			if _, err := c.in.ReadByte(); err != nil {
				var timeout net.Error
				if errors.As(err, &timeout) && timeout.Timeout() {
					t.Errorf("after %q the connection stays open", start)
				}
				break
			}
		}
	}
	if v, _ := f.value("k"); v != "x" {
		t.Errorf("the key holds %q; want what the whole request brought", v)
	}
}
