package transport

import (
	"bytes"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ringraft/ringraft/internal/stream"
	"github.com/ringraft/ringraft/op"
)

// scriptedConn gives a fixed stream and takes what is written.
type scriptedConn struct {
	in  io.Reader
	mu  sync.Mutex
	out bytes.Buffer
}

func (c *scriptedConn) Read(p []byte) (int, error) { return c.in.Read(p) }

func (c *scriptedConn) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.out.Write(p)
}

func (c *scriptedConn) Close() error { return nil }

func (c *scriptedConn) LocalAddr() net.Addr { return &net.TCPAddr{} }

func (c *scriptedConn) RemoteAddr() net.Addr { return &net.TCPAddr{} }

func (c *scriptedConn) SetDeadline(time.Time) error { return nil }

func (c *scriptedConn) SetReadDeadline(time.Time) error { return nil }

func (c *scriptedConn) SetWriteDeadline(time.Time) error { return nil }

// Whatever bytes come, the connection ends when they do, memory is bounded, every
// frame out is well formed, and as many responses leave as requests were taken. The
// stream starts with body in a good frame, so that the fuzzer gets past the checksum.
func FuzzServer(f *testing.F) {
	body := func(o op.Op) []byte { return request(1, o)[headerSize:] }
	f.Add([]byte{}, []byte{})
	f.Add(body(get("k")), requests(3, get("k")))
	f.Add(body(set("k", "v")), []byte{0, 0, 0, 0})
	f.Add(body(op.MSet{Pairs: []op.Pair{{Key: []byte("k")}}}), []byte("GET / HTTP/1.1\r\n\r\n"))
	f.Add([]byte{0x94, 0, 0, 0, 0x94, 0, 0, 0, 0x91, 0x7f}, []byte("\x16\x03\x01\x02\x00\x01\x00\x01\xfc"))
	f.Add([]byte{0xdd, 0xff, 0xff, 0xff, 0xff}, request(1, set("k", strings.Repeat("v", 3*stream.BlockSize)))[:2*stream.BlockSize])
	f.Fuzz(func(t *testing.T, body, tail []byte) {
		stream := append(begin(nil), body...)
		seal(stream, kindRequest, 1)
		stream = append(stream, tail...)
		served := 0
		cfg, err := ServerConfig{
			Listener: newPipeListener(),
			Logger:   slog.New(slog.DiscardHandler),
			Handler: handlerFunc(func(req op.Request, reply op.Replier) {
				served++
				reply.Reply(echoed(req))
			}),
		}.withDefaults()
		if err != nil {
			t.Fatal(err)
		}
		conn := &scriptedConn{in: &meter{t: t, left: stream, pieces: func() int { return len(stream) }}}
		newServerConn(&cfg, conn).Run()
		out, responses := newClientReader(&conn.out), 0
		for {
			frame, err := out.next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatalf("the server wrote a bad frame: %v", err)
			}
			if _, err := op.DecodeResult(frame.body); err != nil {
				t.Fatalf("the server wrote a bad result: %v", err)
			}
			if frame.kind == kindResponse {
				responses++
			}
		}
		if responses < max(served, 1) {
			t.Fatalf("%d requests were served, %d responses left", served, responses)
		}
	})
}
