package httpapi

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/ringraft/ringraft/internal/fakenode"
	"github.com/ringraft/ringraft/op"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// front is a server before a fake cluster.
type front struct {
	t       *testing.T
	cluster *fakenode.Cluster
	server  *Server
	address string
}

func startFront(t *testing.T, cfg Config) *front {
	t.Helper()
	cluster, err := fakenode.Start(fakenode.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	return serveFront(t, cluster, cfg)
}

func serveFront(t *testing.T, cluster *fakenode.Cluster, cfg Config) *front {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	cfg.Listener, cfg.Logger = l, slog.New(slog.DiscardHandler)
	if cfg.Node == nil {
		cfg.Node = cluster
	}
	server, err := NewServer(cfg)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve() }()
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return &front{t, cluster, server, l.Addr().String()}
}

// reply is an answer as it came.
type reply struct {
	status int
	header http.Header
	body   string
}

// connection is one to the front, on which requests follow each other.
type connection struct {
	front *front
	conn  net.Conn
	in    *bufio.Reader
}

func (f *front) dial() *connection {
	f.t.Helper()
	conn, err := net.Dial("tcp", f.address)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		f.t.Fatal(err)
	}
	return &connection{f, conn, bufio.NewReader(conn)}
}

// send sends a request whose target goes out byte for byte, with lines of headers, and
// returns the answer, which must be one that the table lists.
func (c *connection) send(method, target, body string, headers ...string) reply {
	c.front.t.Helper()
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: %s\r\n", method, target, c.front.address)
	if body != "" && !slices.ContainsFunc(headers, func(h string) bool { return strings.HasPrefix(h, "Transfer-Encoding") }) {
		fmt.Fprintf(&b, "Content-Length: %d\r\n", len(body))
	}
	for _, h := range headers {
		b.WriteString(h + "\r\n")
	}
	b.WriteString("\r\n" + body)
	// What the server does not read may break the connection; its answer then tells why.
	_, _ = c.conn.Write(b.Bytes())
	r := c.receive(method)
	c.front.checkListed(method, target, r.status)
	return r
}

func (c *connection) receive(method string) reply {
	c.front.t.Helper()
	res, err := http.ReadResponse(c.in, &http.Request{Method: method})
	if err != nil {
		c.front.t.Fatalf("%s: %v", method, err)
	}
	body, err := io.ReadAll(res.Body)
	if err != nil {
		c.front.t.Fatalf("%s: %v", method, err)
	}
	return reply{res.StatusCode, res.Header, string(body)}
}

// send sends one request on a connection of its own.
func (f *front) send(method, target, body string, headers ...string) reply {
	f.t.Helper()
	c := f.dial()
	defer c.conn.Close()
	return c.send(method, target, body, headers...)
}

// checkListed fails the test if the table does not list the status for the action.
func (f *front) checkListed(method, target string, status int) {
	f.t.Helper()
	path, _, _ := splitTarget(target)
	decoded, err := url.PathUnescape(path)
	if err != nil {
		return // net/http answers by itself
	}
	r, _ := find(f.server.resources, decoded)
	if r == nil {
		return
	}
	if a := r.action(method); a != nil && !slices.Contains(a.all(), status) {
		f.t.Errorf("%s %s: status %d is not in the table", method, r.path, status)
	}
}

// want fails the test unless the answer has this status and body.
func (r reply) want(t *testing.T, status int, body string) reply {
	t.Helper()
	if r.status != status || strings.TrimSuffix(r.body, "\n") != body {
		t.Fatalf("status %d, body %q; want %d, %q", r.status, r.body, status, body)
	}
	return r
}

// wantProblem fails the test unless the answer is a problem of a kind.
func (r reply) wantProblem(t *testing.T, status int, kind string) reply {
	t.Helper()
	if r.status != status || !strings.Contains(r.body, `"urn:ringraft:problem:`+kind+`"`) || r.header.Get("Content-Type") != problemType {
		t.Fatalf("status %d, %s, body %q; want %d and the problem %s", r.status, r.header.Get("Content-Type"), r.body, status, kind)
	}
	return r
}

// put writes a key as another front would.
func (f *front) put(key, value string, ttl time.Duration) {
	f.t.Helper()
	res := f.cluster.Do(f.t.Context(), op.Request{Op: op.Set{Key: []byte(key), Value: []byte(value), TTL: ttl.Milliseconds()}})
	if res.Err != nil {
		f.t.Fatal(res.Err)
	}
}

// value reads a key as another front would.
func (f *front) value(key string) (value string, found bool) {
	f.t.Helper()
	res := f.cluster.Do(f.t.Context(), op.Request{Op: op.Get{Key: []byte(key)}, Level: op.Linearizable})
	if res.Err != nil {
		f.t.Fatal(res.Err)
	}
	return string(res.Value), res.Found
}
