package transport

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/ringraft/ringraft/internal/stream"
	"github.com/ringraft/ringraft/op"
	"pgregory.net/rapid"
)

// A frame on the wire, byte by byte, so that the format cannot change unseen.
func TestFrameLayout(t *testing.T) {
	t.Parallel()
	got := append(begin(nil), 0x90)
	seal(got, kindResponse, 0x01020304)
	want := []byte{0, 0, 0, 13, 1, 2, 0, 0, 1, 2, 3, 4, 0x6c, 0xd9, 0x55, 0x30, 0x90}
	if !bytes.Equal(got, want) {
		t.Errorf("frame = % x, want % x", got, want)
	}
}

// meter hands a stream out in pieces and checks that no read is offered more memory
// than the bytes that came before justify.
type meter struct {
	t      interface{ Fatalf(string, ...any) }
	left   []byte
	pieces func() int // size of the next piece, at least 1
	came   int
}

func (m *meter) Read(p []byte) (int, error) {
	if limit := max(stream.LongStep, m.came); len(p) > limit {
		m.t.Fatalf("after %d bytes a read of %d bytes was offered, want at most %d", m.came, len(p), limit)
	}
	if len(m.left) == 0 {
		return 0, io.EOF
	}
	n := copy(p, m.left[:min(m.pieces(), len(m.left))])
	m.left = m.left[n:]
	m.came += n
	return n, nil
}

func TestFramesSurviveAnyCutting(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfN(rapid.OneOf(
			rapid.IntRange(0, 300),
			rapid.IntRange(stream.BlockSize-headerSize-2, stream.BlockSize+2),
			rapid.IntRange(stream.LongStep-headerSize-2, 5*stream.LongStep),
		), 1, 20).Draw(t, "sizes")
		keeps := rapid.Bool()
		var sent []byte
		var want [][]byte
		for i, size := range sizes {
			body := bytes.Repeat([]byte{byte(i + 1)}, size)
			start := len(sent)
			sent = append(begin(sent), body...)
			seal(sent[start:], kindResponse, uint32(i))
			want = append(want, body)
		}
		pieces := rapid.SampledFrom([]int{1, 7, 1000, stream.BlockSize, 1 << 20})
		fr := newClientReader(&meter{t: t, left: sent, pieces: func() int { return pieces.Draw(t, "piece") }})
		kept := map[int][]byte{}
		for i := range want {
			f, err := fr.next()
			if err != nil || f.id != uint32(i) || f.kind != kindResponse {
				t.Fatalf("frame %d: got id %d, type %d, err %v", i, f.id, f.kind, err)
			}
			if !bytes.Equal(f.body, want[i]) {
				t.Fatalf("frame %d: body of %d bytes differs from the one of %d sent", i, len(f.body), len(want[i]))
			}
			if keeps.Draw(t, "keep") {
				fr.Keep()
				kept[i] = f.body
			}
		}
		if f, err := fr.next(); err != io.EOF {
			t.Fatalf("after the last frame: id %d, err %v; want io.EOF", f.id, err)
		}
		for i, body := range kept {
			if !bytes.Equal(body, want[i]) {
				t.Fatalf("body %d, which was to be kept, was overwritten by later frames", i)
			}
		}
	})
}

func TestFrameRefusesWhatBreaksTheFormat(t *testing.T) {
	t.Parallel()
	good := func() []byte {
		res := op.Result{Version: 3}
		return appendResult(nil, kindResponse, 9, &res)
	}
	length := func(n uint32) func([]byte) {
		return func(f []byte) { binary.BigEndian.PutUint32(f, n) }
	}
	for _, tc := range []struct {
		name   string
		change func([]byte)
		field  string
	}{
		{"length 0", length(0), "length"},
		{"length under the header", length(minLength - 1), "length"},
		{"length over the limit", length(maxLength + 1), "length"},
		{"greatest length", length(1<<32 - 1), "length"},
		{"version 0", func(f []byte) { f[4] = 0 }, "version"},
		{"version 2", func(f []byte) { f[4] = 2 }, "version"},
		{"type 0", func(f []byte) { f[5] = 0 }, "type"},
		{"type that the other end sends", func(f []byte) { f[5] = byte(kindRequest) }, "type"},
		{"type 4", func(f []byte) { f[5] = 4 }, "type"},
		{"reserved bits", func(f []byte) { f[7] = 1 }, "reserved"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			fr := newClientReader(bytes.NewReader(resealed(good(), tc.change)))
			_, err := fr.next()
			var bad *frameError
			if !errors.As(err, &bad) || bad.field != tc.field {
				t.Fatalf("err = %v, want one that names the field %s", err, tc.field)
			}
		})
	}
	t.Run("any byte that the checksum covers", func(t *testing.T) {
		t.Parallel()
		for i := 8; i < len(good()); i++ {
			f := good()
			f[i] ^= 0x10
			fr := newClientReader(bytes.NewReader(f))
			_, err := fr.next()
			var bad *frameError
			if !errors.As(err, &bad) || bad.field != "checksum" {
				t.Errorf("byte %d changed: err = %v, want one that names the checksum", i, err)
			}
		}
	})
	t.Run("every truncation", func(t *testing.T) {
		t.Parallel()
		for n := 1; n < len(good()); n++ {
			fr := newClientReader(iotest.DataErrReader(bytes.NewReader(good()[:n])))
			if _, err := fr.next(); !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("%d bytes: err = %v, want %v", n, err, io.ErrUnexpectedEOF)
			}
		}
	})
}

func TestAnnouncedLengthCostsNothing(t *testing.T) {
	t.Parallel()
	f := append(begin(nil), make([]byte, op.MaxMessage)...)
	seal(f, kindResponse, 1)
	for _, sent := range []int{headerSize, stream.LongStep, 1 << 20, len(f) - 1} {
		fr := newClientReader(&meter{t: t, left: f[:sent], pieces: func() int { return 1 << 20 }})
		if _, err := fr.next(); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%d bytes sent: err = %v, want %v", sent, err, io.ErrUnexpectedEOF)
		}
	}
	fr := newClientReader(&meter{t: t, left: f, pieces: func() int { return 1 << 20 }})
	if got, err := fr.next(); err != nil || len(got.body) != op.MaxMessage {
		t.Errorf("the longest frame: body of %d bytes, err %v", len(got.body), err)
	}
}

// Every frame that is returned stands in the input as it was read, and memory
// follows the bytes that came.
func FuzzFrameReader(f *testing.F) {
	res := op.Result{Version: 1, Value: []byte("value")}
	one := appendResult(nil, kindResponse, 1, &res)
	f.Add(one, byte(3), true)
	f.Add(append(bytes.Clone(one), one...), byte(100), false)
	f.Add(one[:len(one)-1], byte(255), true)
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"), byte(9), false)
	f.Add([]byte{1, 0, 0, 0, 1, 2, 0, 0}, byte(1), false)
	f.Fuzz(func(t *testing.T, sent []byte, piece byte, keep bool) {
		fr := newClientReader(&meter{t: t, left: sent, pieces: func() int { return 1 + int(piece) }})
		rest := sent
		for {
			got, err := fr.next()
			if err != nil {
				if err == io.EOF && len(rest) > 0 {
					t.Fatalf("io.EOF with %d bytes left over", len(rest))
				}
				return
			}
			if keep {
				fr.Keep()
			}
			again := append(begin(nil), got.body...)
			seal(again, got.kind, got.id)
			if !bytes.HasPrefix(rest, again) {
				t.Fatalf("frame %x is not what was sent: %x", again, rest)
			}
			rest = rest[len(again):]
		}
	})
}

func TestLookalike(t *testing.T) {
	t.Parallel()
	for first, want := range map[string]string{
		"\x16\x03\x01\x02":                 "a TLS handshake",
		"GET /metrics HTTP/1.1\r\n":        "an HTTP request",
		"POST / HTTP/1.1\r\n":              "an HTTP request",
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n": "an HTTP/2 request",
		"*1\r\n$4\r\nPING\r\n":             "a Redis command",
		"SSH-2.0-OpenSSH":                  "an SSH client",
		"":                                 "",
		"\x00\x00\x00\x0d":                 "",
		strings.Repeat("x", 20):            "",
	} {
		if got := lookalike([]byte(first)); got != want {
			t.Errorf("lookalike(%q) = %q, want %q", first, got, want)
		}
	}
}
