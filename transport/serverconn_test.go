package transport

import (
	"bytes"
	"encoding/binary"
	"errors"
	"log/slog"
	"net"
	"strings"
	"testing"

	"github.com/ringraft/ringraft/op"
)

// A bad request costs its sender an error and nobody the connection.
func TestBadRequestIsAnswered(t *testing.T) {
	t.Parallel()
	_, addr := serveTCP(t, ServerConfig{Handler: echo})
	neighbour := dialConn(t, addr, ConnConfig{})
	body := func(b ...byte) []byte {
		f := append(begin(nil), b...)
		seal(f, kindRequest, 77)
		return f
	}
	ask := func(level byte, operation ...byte) []byte {
		return body(append([]byte{0x94, 0, level, 0, 0x94, 0, 0, 0}, operation...)...)
	}
	for _, tc := range []struct {
		name  string
		frame []byte
		field string
	}{
		{"empty body", body(), "request"},
		{"no array", body(0x01), "request"},
		{"unknown level", ask(9, 0x92, 1, 0xa1, 'k'), "request"},
		{"unknown code", ask(0, 0x91, 0x7f), "code"},
		{"code over a byte", ask(0, 0x91, 0xcd, 0xff, 0xff), "code"},
		{"too few fields", ask(0, 0x91, 1), "request"},
		{"truncated key", ask(0, 0x92, 1, 0xc4, 0xff, 'k'), "request"},
		{"key length of 4 GiB", ask(0, 0x92, 1, 0xc6, 0xff, 0xff, 0xff, 0xff), "request"},
		{"bytes behind the request", ask(0, 0x92, 1, 0xa1, 'k', 0), "request"},
		{"garbage", body(bytes.Repeat([]byte{0xdd}, 300)...), "request"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := rawTCP(t, addr)
			c.send(append(tc.frame, request(78, get("next"))...))
			id, res := c.receive(kindResponse)
			if id != 77 || !errors.Is(res.Err, op.ErrRefused) || res.Err.Field != tc.field {
				t.Errorf("answer to %d: %+v, want a refusal of 77 that names %s", id, res.Err, tc.field)
			}
			if id, res = c.receive(kindResponse); id != 78 || string(res.Value) != "next" {
				t.Errorf("the request behind it: id %d, result %+v", id, res)
			}
			wantEcho(t, neighbour, "neighbour")
		})
	}
}

// What breaks the framing ends the connection with a reason, after the answers to
// what was sent before, and disturbs nobody else.
func TestBrokenFramingGetsAGoodbye(t *testing.T) {
	t.Parallel()
	var book logBook
	_, addr := serveTCP(t, ServerConfig{Handler: echo, Logger: slog.New(slog.NewTextHandler(&book, nil))})
	neighbour := dialConn(t, addr, ConnConfig{})
	changed := func(change func([]byte)) []byte { return resealed(request(5, get("k")), change) }
	damaged := request(5, get("k"))
	damaged[len(damaged)-1] ^= 1
	for _, tc := range []struct {
		name  string
		bytes []byte
		field string
		says  string
	}{
		{"length 0", []byte{0, 0, 0, 0}, "length", "12 and"},
		{"length over the limit", binary.BigEndian.AppendUint32(nil, maxLength+1), "length", "12 and"},
		{"greatest length", []byte{0xff, 0xff, 0xff, 0xff}, "length", "12 and"},
		{"wrong version", changed(func(f []byte) { f[4] = 9 }), "version", "is 9; it must be 1"},
		{"a response", changed(func(f []byte) { f[5] = byte(kindResponse) }), "type", "is 2"},
		{"unknown type", changed(func(f []byte) { f[5] = 200 }), "type", "is 200"},
		{"reserved bits", changed(func(f []byte) { f[6] = 1 }), "reserved", "is 256; it must be 0"},
		{"damaged body", damaged, "checksum", "bytes give"},
		{"garbage", bytes.Repeat([]byte("\xa5\x5a"), 5000), "length", "12 and"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := rawTCP(t, addr)
			c.send(append(request(4, get("before")), tc.bytes...))
			if id, res := c.receive(kindResponse); id != 4 || string(res.Value) != "before" {
				t.Errorf("the request before: id %d, result %+v", id, res)
			}
			_, res := c.receive(kindGoodbye)
			if res.Err == nil || res.Err.Kind != op.KindInvalid || res.Err.Field != tc.field || !strings.Contains(res.Err.Message, tc.says) {
				t.Errorf("goodbye = %+v, want one that names %s and says %q", res.Err, tc.field, tc.says)
			}
			c.wantEnd()
			wantEcho(t, neighbour, "neighbour")
		})
	}
	for _, tc := range []struct{ name, bytes, looks string }{
		{"TLS hello", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "a TLS handshake"},
		{"HTTP", "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", "an HTTP request"},
		{"Redis", "*1\r\n$4\r\nPING\r\n", "a Redis command"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := rawTCP(t, addr)
			c.send([]byte(tc.bytes))
			_, res := c.receive(kindGoodbye)
			if res.Err == nil || res.Err.Field != "protocol" || !strings.Contains(res.Err.Message, tc.looks) {
				t.Errorf("goodbye = %+v, want one that names protocol and says %q", res.Err, tc.looks)
			}
			c.wantEnd()
			wantEcho(t, neighbour, "neighbour")
			line := "looks_like=\"" + tc.looks + "\""
			if n := strings.Count(book.String(), line); n != 1 {
				t.Errorf("the log says %s %d times, want once:\n%s", line, n, book.String())
			}
			if remote := c.conn.LocalAddr().String(); !strings.Contains(book.String(), remote) {
				t.Errorf("the log does not name %s:\n%s", remote, book.String())
			}
		})
	}
}

func wantEcho(t *testing.T, c *Conn, key string) {
	t.Helper()
	res, err := c.Do(t.Context(), &op.Request{Op: get(key)})
	if err != nil || string(res.Value) != key {
		t.Errorf("Do(get %s) = %+v, %v", key, res, err)
	}
}

func TestOversizedResultIsReplacedByAnError(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		op   op.Op
		want error
	}{
		{get("k"), op.ErrRefused},
		{set("k", "v"), op.ErrUnknownOutcome},
	} {
		h := handlerFunc(func(_ op.Request, reply op.Replier) {
			reply.Reply(op.Result{Value: make([]byte, op.MaxMessage)})
		})
		_, addr := serveTCP(t, ServerConfig{Handler: h})
		c := rawTCP(t, addr)
		c.send(request(1, tc.op))
		if _, res := c.receive(kindResponse); !errors.Is(res.Err, tc.want) || len(res.Value) > 0 {
			t.Errorf("%s: result error %v, want %v", tc.op.Code(), res.Err, tc.want)
		}
	}
}

func TestSecondAnswerIsDroppedAndLogged(t *testing.T) {
	t.Parallel()
	var book logBook
	h := handlerFunc(func(_ op.Request, reply op.Replier) {
		reply.Reply(op.Result{Version: 1})
		reply.Reply(op.Result{Version: 2})
	})
	_, addr := serveTCP(t, ServerConfig{Handler: h, Logger: slog.New(slog.NewTextHandler(&book, nil))})
	c := rawTCP(t, addr)
	c.send(requests(2, get("k")))
	for want := uint32(1); want <= 2; want++ {
		if id, res := c.receive(kindResponse); id != want || res.Version != 1 {
			t.Errorf("answer to %d, version %d; want %d, version 1", id, res.Version, want)
		}
	}
	if !strings.Contains(book.String(), "answered twice") {
		t.Errorf("the log does not say so:\n%s", book.String())
	}
}

// What a handler keeps stays as it was, whatever comes later.
func TestRequestsOwnTheirMemory(t *testing.T) {
	t.Parallel()
	const all = 3000
	h, full := &holder{}, make(chan struct{})
	_, addr := serveTCP(t, ServerConfig{MaxPending: all + 1, Handler: handlerFunc(func(req op.Request, reply op.Replier) {
		h.Serve(req, reply)
		if h.count() == all {
			close(full)
		}
	})})
	c := rawTCP(t, addr)
	key := func(i int) string { return strings.Repeat(string(rune('a'+i%26)), 1+i%97) }
	for i := range all {
		c.send(request(uint32(i), get(key(i))))
	}
	<-full
	for i, held := range h.held {
		if got := held.req.Op.(op.Get).Key; string(got) != key(i) {
			t.Fatalf("request %d holds the key %q, want %q", i, got, key(i))
		}
	}
	h.answer(all, op.Result{})
}

func TestPanicOfAHandlerIsNotSwallowed(t *testing.T) {
	t.Parallel()
	cfg, err := ServerConfig{
		Listener: newPipeListener(),
		Handler:  handlerFunc(func(op.Request, op.Replier) { panic("out of its mind") }),
	}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	c := newServerConn(&cfg, &scriptedConn{in: bytes.NewReader(request(1, get("k")))})
	defer func() {
		if got := recover(); got != "out of its mind" {
			t.Errorf("recovered %v, want the handler's panic", got)
		}
	}()
	c.read()
}

func TestHalfClosedClientGetsItsAnswers(t *testing.T) {
	t.Parallel()
	h := &holder{}
	_, addr := serveTCP(t, ServerConfig{Handler: handlerFunc(func(req op.Request, reply op.Replier) {
		h.Serve(req, reply)
		if h.count() == 3 {
			go h.answer(3, op.Result{Version: 9})
		}
	})})
	c := rawTCP(t, addr)
	c.send(requests(3, get("k")))
	if err := c.conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, res := c.receive(kindResponse); res.Version != 9 {
			t.Errorf("result %+v, want version 9", res)
		}
	}
	c.wantEnd()
}
