package transport

import (
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ringraft/ringraft/internal/stream"
	"github.com/ringraft/ringraft/op"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// handlerFunc is a Handler that is one function.
type handlerFunc func(op.Request, op.Replier)

func (f handlerFunc) Serve(req op.Request, reply op.Replier) { f(req, reply) }

// echo answers at once, with the key for a value.
var echo = handlerFunc(func(req op.Request, reply op.Replier) { reply.Reply(echoed(req)) })

func echoed(req op.Request) op.Result {
	switch o := req.Op.(type) {
	case op.Get:
		return op.Result{Found: true, Value: o.Key}
	case op.Set:
		return op.Result{Version: 7, Detail: o.Value}
	}
	return op.Result{Version: 1}
}

// taken is a request that a holder has and has not answered.
type taken struct {
	req   op.Request
	reply op.Replier
}

// holder is a Handler that answers nothing until a test does.
type holder struct {
	mu   sync.Mutex
	held []taken
}

func (h *holder) Serve(req op.Request, reply op.Replier) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.held = append(h.held, taken{req, reply})
}

func (h *holder) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.held)
}

// answer answers the first n requests held.
func (h *holder) answer(n int, res op.Result) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, t := range h.held[:n] {
		t.reply.Reply(res)
	}
	h.held = h.held[n:]
}

// pipeListener accepts the pipes that its dial makes.
type pipeListener struct {
	conns  chan net.Conn
	once   sync.Once
	closed chan struct{}
}

func newPipeListener() *pipeListener {
	return &pipeListener{conns: make(chan net.Conn), closed: make(chan struct{})}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *pipeListener) Addr() net.Addr { return &net.TCPAddr{} }

func (l *pipeListener) dial(context.Context, string, string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case l.conns <- far:
		return near, nil
	case <-l.closed:
		return nil, errors.New("connection refused")
	}
}

// serve starts a server and stops it when the test ends.
func serve(t testing.TB, cfg ServerConfig) *Server {
	t.Helper()
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	s, err := NewServer(cfg)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve() }()
	t.Cleanup(func() {
		s.Close()
		if err := <-served; err != nil {
			t.Errorf("Serve() = %v, want nil after Close", err)
		}
	})
	return s
}

// servePipe serves net.Pipes, for tests in fake time.
func servePipe(t testing.TB, cfg ServerConfig) (*Server, *pipeListener) {
	t.Helper()
	l := newPipeListener()
	cfg.Listener = l
	return serve(t, cfg), l
}

// serveTCP serves on a port that the system chooses.
func serveTCP(t testing.TB, cfg ServerConfig) (s *Server, addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	cfg.Listener = l
	return serve(t, cfg), l.Addr().String()
}

func dialConn(t testing.TB, addr string, cfg ConnConfig) *Conn {
	t.Helper()
	c, err := Dial(t.Context(), addr, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// rawClient speaks frames that a test makes itself.
type rawClient struct {
	t    testing.TB
	conn net.Conn
	in   frameReader
}

func newRawClient(t testing.TB, conn net.Conn) *rawClient {
	t.Cleanup(func() { conn.Close() })
	return &rawClient{t: t, conn: conn, in: newClientReader(conn)}
}

func newClientReader(src io.Reader) frameReader {
	return frameReader{stream.Reader{Src: src, Arm: func(bool) error { return nil }}, kindResponse, kindGoodbye}
}

func rawTCP(t testing.TB, addr string) *rawClient {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	// A test that would hang fails instead.
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	return newRawClient(t, conn)
}

func rawPipe(t testing.TB, l *pipeListener) *rawClient {
	t.Helper()
	conn, err := l.dial(t.Context(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	return newRawClient(t, conn)
}

func (c *rawClient) send(b []byte) {
	c.t.Helper()
	if _, err := c.conn.Write(b); err != nil {
		c.t.Fatalf("send %d bytes: %v", len(b), err)
	}
}

// receive returns the next frame's result.
func (c *rawClient) receive(want kind) (id uint32, res op.Result) {
	c.t.Helper()
	f, err := c.in.next()
	if err != nil {
		c.t.Fatalf("receive: %v", err)
	}
	if f.kind != want {
		c.t.Fatalf("received a frame of type %d, want %d", f.kind, want)
	}
	res, err = op.DecodeResult(f.body)
	if err != nil {
		c.t.Fatalf("decode the result: %v", err)
	}
	return f.id, res
}

// wantEnd fails unless the server has closed the connection.
func (c *rawClient) wantEnd() {
	c.t.Helper()
	if f, err := c.in.next(); !errors.Is(err, io.EOF) {
		c.t.Fatalf("after the goodbye: frame of type %d, err %v; want the end of the stream", f.kind, err)
	}
}

// request returns a whole frame.
func request(id uint32, o op.Op) []byte {
	req := op.Request{Op: o}
	b := req.AppendTo(begin(nil))
	seal(b, kindRequest, id)
	return b
}

func requests(n int, o op.Op) []byte {
	var b []byte
	for i := range n {
		b = append(b, request(uint32(i+1), o)...)
	}
	return b
}

func get(key string) op.Op { return op.Get{Key: []byte(key)} }

func set(key, value string) op.Op { return op.Set{Key: []byte(key), Value: []byte(value)} }

// logBook is a log that tests read.
type logBook struct {
	mu sync.Mutex
	sb strings.Builder
}

func (l *logBook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sb.Write(p)
}

func (l *logBook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sb.String()
}

// resealed changes f and gives it the checksum that fits.
func resealed(f []byte, change func([]byte)) []byte {
	change(f)
	header := [8]byte(f)
	seal(f, kind(f[5]), binary.BigEndian.Uint32(f[8:]))
	copy(f, header[:]) // seal has made it a good one
	sum := crc32.Update(crc32.Checksum(f[4:12], castagnoli), castagnoli, f[headerSize:])
	binary.BigEndian.PutUint32(f[12:], sum)
	return f
}
