package resp

import (
	"bytes"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/ringraft/ringraft/op"
)

// endless gives the same bytes again and again.
type endless struct {
	b  []byte
	at int
}

func (e *endless) Read(p []byte) (int, error) {
	n := copy(p, e.b[e.at:])
	e.at = (e.at + n) % len(e.b)
	return n, nil
}

func BenchmarkRequestReader(b *testing.B) {
	for name, sent := range map[string]string{
		"get": bulks("GET", "key:000000000042"),
		"set": bulks("SET", "key:000000000042", strings.Repeat("x", 128)),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			r := newTestReader(&endless{b: bytes.Repeat([]byte(sent), 1000)})
			for b.Loop() {
				if _, err := r.next(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkGet is 16 commands in one pipeline, over loopback, from a node that answers at
// once.
func BenchmarkGet(b *testing.B) {
	node := &standIn{value: make([]byte, 128)}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	s, err := NewServer(ServerConfig{Listener: l, Node: node})
	if err != nil {
		b.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve() }()
	defer func() { s.Close(); <-served }()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	sent := []byte(strings.Repeat(bulks("GET", "key:000000000042"), 16))
	r := reply{proto: 2}
	renderValue(&r, op.Result{Found: true, Value: node.value})
	answers := make([]byte, 16*len(r.b))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := conn.Write(sent); err != nil {
			b.Fatal(err)
		}
		if _, err := io.ReadFull(conn, answers); err != nil {
			b.Fatal(err)
		}
	}
}
