package peer

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestFrameRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		k := kind(rapid.Byte().Draw(t, "kind"))
		id := rapid.Uint64().Draw(t, "id")
		target := rapid.StringN(0, 20, maxTarget).Draw(t, "target")
		payload := rapid.SliceOfN(rapid.Byte(), 0, 3*readStep).Draw(t, "payload")
		b := appendFrame([]byte("before"), k, id, target, func(b []byte) []byte { return append(b, payload...) })
		r := bufio.NewReader(bytes.NewReader(append(b[len("before"):], "after"...)))
		f, err := readFrame(r, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		if f.kind != k || f.id != id || string(f.target) != target || !bytes.Equal(f.payload, payload) {
			t.Fatalf("got %+v", f)
		}
		if rest, _ := io.ReadAll(r); string(rest) != "after" {
			t.Fatalf("left over: %q", rest)
		}
	})
}

func TestBadFrames(t *testing.T) {
	t.Parallel()
	good := appendFrame(nil, kindPing, 7, "n1/2/3", nil)
	change := func(at int, to byte) []byte {
		b := bytes.Clone(good)
		b[at] = to
		return b
	}
	longTarget := appendFrame(nil, kindPing, 7, "", nil)
	longTarget[headSize+minBodySize-1] = 9
	resum(longTarget)
	tests := map[string]struct {
		b    []byte
		want string
	}{
		"damaged body":           {change(len(good)-1, 'x'), "damaged"},
		"damaged sum":            {change(4, good[4]+1), "damaged"},
		"too short":              {change(0, minBodySize-1), "want 10 to 1000"},
		"too long":               {change(2, 1), "want 10 to 1000"},
		"half a head":            {good[:5], io.ErrUnexpectedEOF.Error()},
		"half a body":            {good[:len(good)-1], io.ErrUnexpectedEOF.Error()},
		"only a head":            {good[:headSize], io.ErrUnexpectedEOF.Error()},
		"target beyond its body": {longTarget, "target of 9 bytes"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := readFrame(bufio.NewReader(bytes.NewReader(test.b)), 1000)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("err = %v, want one with %q", err, test.want)
			}
		})
	}
	if _, err := readFrame(bufio.NewReader(strings.NewReader("")), 1000); err != io.EOF {
		t.Errorf("between frames: err = %v, want EOF", err)
	}
}

// greedyReader gives one byte at a time and records how many it was asked for.
type greedyReader struct {
	left, largest int
}

func (r *greedyReader) Read(b []byte) (int, error) {
	r.largest = max(r.largest, len(b))
	if r.left == 0 {
		return 0, io.EOF
	}
	n := min(len(b), r.left)
	r.left -= n
	return n, nil
}

func TestMemoryGrowsAsBytesArrive(t *testing.T) {
	t.Parallel()
	for _, arrives := range []int{0, 10, readStep, 10 * readStep} {
		r := &greedyReader{left: arrives}
		if _, err := readBody(r, 1<<30); err != io.ErrUnexpectedEOF {
			t.Fatalf("err = %v, want %v", err, io.ErrUnexpectedEOF)
		}
		if limit := 2*arrives + 2*readStep; r.largest > limit {
			t.Errorf("%d bytes came and %d were made room for, want at most %d", arrives, r.largest, limit)
		}
	}
}

func resum(b []byte) {
	body := b[headSize:]
	binary.LittleEndian.PutUint32(b, uint32(len(body)))
	binary.LittleEndian.PutUint32(b[4:], checksum(body))
}

func FuzzFrame(f *testing.F) {
	f.Add(appendFrame(nil, kindReply, 1, "n1/2/3", appendText("hello")))
	f.Add(appendFrame(nil, kindPing, 0, "", nil))
	f.Add([]byte("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) >= headSize+minBodySize {
			resum(b) // else nothing but checksum errors would be found
		}
		r := bufio.NewReader(bytes.NewReader(b))
		for {
			fr, err := readFrame(r, 1<<20)
			if err != nil {
				return
			}
			again := appendFrame(nil, fr.kind, fr.id, string(fr.target), func(b []byte) []byte { return append(b, fr.payload...) })
			if !bytes.Equal(again, b[:len(again)]) {
				t.Fatalf("frame %+v encodes to %x, came from %x", fr, again, b)
			}
			b = b[len(again):]
		}
	})
}

func FuzzChunks(f *testing.F) {
	var b bytes.Buffer
	if err := sendChunks(&b, strings.NewReader("a snapshot"), make([]byte, 4)); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes(), uint16(20))
	f.Fuzz(func(t *testing.T, b []byte, cut uint16) {
		c := &chunkReader{r: bufio.NewReader(bytes.NewReader(b[:min(len(b), int(cut))])), limit: 1 << 16}
		got, err := io.ReadAll(c)
		if len(got) > len(b) {
			t.Fatalf("%d bytes of %d", len(got), len(b))
		}
		if _, again := c.Read(make([]byte, 1)); err != nil && !errors.Is(again, err) {
			t.Fatalf("err = %v, then %v", err, again)
		}
	})
}
