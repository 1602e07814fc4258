package resp

import (
	"bytes"
	"strings"
	"testing"
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
// once, one by one or all together.
func BenchmarkGet(b *testing.B) {
	for name, node := range map[string]Node{"served": &standIn{value: make([]byte, 128)}, "looked-up": newLookNode()} {
		b.Run(name, func(b *testing.B) {
			ask := asking(b, node)
			b.ReportAllocs()
			for b.Loop() {
				if err := ask(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
