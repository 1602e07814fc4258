package peer

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// writerFunc is an io.Writer.
type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

func framesOf(b []byte, limit int) *frameReader {
	return &frameReader{r: bufio.NewReader(bytes.NewReader(b)), limit: limit}
}

func filled(size int) func([]byte) []byte {
	return func(b []byte) []byte { return append(b, bytes.Repeat([]byte{'x'}, size)...) }
}

// sent returns what an outbox writes until nothing is left. during is called before each write.
func sent(t interface{ Fatal(...any) }, o *outbox, during func()) []byte {
	var wire bytes.Buffer
	for {
		b := o.take()
		if len(b) == 0 {
			break
		}
		during()
		wire.Write(b)
		o.giveBack(b)
	}
	if o.behind != 0 || len(o.long) != 0 {
		t.Fatal("the outbox still has bytes of long frames")
	}
	return wire.Bytes()
}

func TestFramesArriveWhateverTheirLengths(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const limit = 8 * partSize
		sizes := rapid.SliceOfN(rapid.OneOf(rapid.IntRange(0, 100), rapid.IntRange(partSize-20, partSize+20), rapid.IntRange(0, 3*partSize)), 1, 8).Draw(t, "sizes")
		o := newOutbox(1<<30, limit)
		next := 0
		post := func() {
			if next < len(sizes) {
				o.post(kindReply, uint64(next), filled(sizes[next]))
				next++
			}
		}
		for range rapid.IntRange(1, len(sizes)).Draw(t, "at first") {
			post()
		}
		wire := sent(t, o, post)
		r := framesOf(wire, limit)
		last := map[bool]int{false: -1, true: -1}
		for range next {
			f, err := r.next()
			if err != nil {
				t.Fatal(err)
			}
			id := int(f.id)
			if f.kind != kindReply || !bytes.Equal(f.payload, filled(sizes[id])(nil)) {
				t.Fatalf("frame %d of %d bytes arrives as one of kind %d and %d bytes", id, sizes[id], f.kind, len(f.payload))
			}
			long := isLong(minBodySize + sizes[id])
			if id <= last[long] {
				t.Errorf("frame %d comes after %d, both long: %v", id, last[long], long)
			}
			last[long] = id
		}
		if _, err := r.next(); err != io.EOF || next != len(sizes) {
			t.Errorf("after %d of %d frames: %v, want EOF", next, len(sizes), err)
		}
	})
}

// countingReader counts what has been read.
type countingReader struct {
	io.Reader
	n int
}

func (r *countingReader) Read(b []byte) (int, error) {
	n, err := r.Reader.Read(b)
	r.n += n
	return n, err
}

func TestShortFramesPassALongOne(t *testing.T) {
	t.Parallel()
	o := newOutbox(1<<30, 64<<20)
	o.post(kindAppend, 1, filled(16<<20))
	here, there := io.Pipe()
	done := make(chan error)
	writes := 0
	go func() {
		done <- o.run(writerFunc(func(b []byte) (int, error) {
			if writes++; writes == 1 {
				o.post(kindBeats, 2, nil)
			}
			return there.Write(b)
		}))
	}()
	arrived := &countingReader{Reader: here}
	r := &frameReader{r: bufio.NewReader(arrived), limit: 64 << 20}
	for _, want := range []struct {
		kind kind
		by   int
	}{{kindBeats, 3 * partSize}, {kindAppend, 17 << 20}} {
		if f, err := r.next(); err != nil || f.kind != want.kind || arrived.n > want.by {
			t.Fatalf("frame of kind %d after %d bytes, %v; want kind %d after %d at most", f.kind, arrived.n, err, want.kind, want.by)
		}
	}
	o.close(io.ErrClosedPipe)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestSendersWaitForLongFramesToLeave(t *testing.T) {
	t.Parallel()
	o := newOutbox(partSize, 64<<20)
	o.post(kindAppend, 1, filled(2*partSize))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := o.put(ended, kindAppend, 2, "", nil); err == nil {
		t.Error("there is room beside a frame longer than the limit")
	}
	o.take()
	o.take()
	if err := o.put(ended, kindAppend, 3, "", nil); err != nil {
		t.Errorf("no room once most of the frame has left: %v", err)
	}
}

func TestBadParts(t *testing.T) {
	t.Parallel()
	const limit = 4 * partSize
	whole := appendFrame(nil, kindAppend, 1, "", filled(2*partSize))
	parts := func(change func(i int, part []byte, left int) ([]byte, int)) []byte {
		var b []byte
		for i, rest := 0, whole; len(rest) > 0; i++ {
			part := rest[:min(len(rest), partSize)]
			rest = rest[len(part):]
			part, left := change(i, part, len(rest))
			b = appendPart(b, part, left)
		}
		return b
	}
	same := parts(func(_ int, part []byte, left int) ([]byte, int) { return part, left })
	if f, err := framesOf(same, limit).next(); err != nil || f.kind != kindAppend {
		t.Fatalf("frame of kind %d, %v", f.kind, err)
	}
	lying := func(b []byte) []byte {
		b = bytes.Clone(b)
		binary.LittleEndian.PutUint32(b, 77)
		return b
	}
	tests := map[string]struct {
		b    []byte
		want string
	}{
		"cut between parts": {same[:headSize+minBodySize+partSize], io.ErrUnexpectedEOF.Error()},
		"too long":          {appendPart(nil, []byte("part"), limit+headSize-3), "at most"},
		"far too long":      {appendFrame(nil, kindPart, 1<<63, "", filled(1)), "at most"},
		"empty":             {appendPart(nil, nil, 5), "empty"},
		"left out":          {parts(func(i int, part []byte, left int) ([]byte, int) { return part[min(i, 1):], left }), "are left"},
		"parts in parts":    {appendPart(nil, appendPart(nil, whole[:9], 0), 0), "malformed"},
		"short whole":       {appendPart(nil, []byte("part"), 0), "malformed"},
		"length that lies": {parts(func(i int, part []byte, left int) ([]byte, int) {
			if i == 0 {
				part = lying(part)
			}
			return part, left
		}), "malformed"},
		"damaged": {parts(func(i int, part []byte, left int) ([]byte, int) {
			if i == 1 {
				part = append([]byte("y"), part[1:]...)
			}
			return part, left
		}), "damaged"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := framesOf(test.b, limit).next()
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("err = %v, want one with %q", err, test.want)
			}
		})
	}
}

func TestMemoryOfALongFrameGrowsAsItsPartsArrive(t *testing.T) {
	t.Parallel()
	r := framesOf(appendPart(appendPart(nil, make([]byte, partSize), 60<<20), make([]byte, partSize), 60<<20-partSize), 64<<20)
	if _, err := r.next(); err != io.ErrUnexpectedEOF {
		t.Fatalf("err = %v, want %v", err, io.ErrUnexpectedEOF)
	}
	if most := 4 * partSize; cap(r.long) > most {
		t.Errorf("2 parts came and %d bytes were made room for, want at most %d", cap(r.long), most)
	}
}

func FuzzParts(f *testing.F) {
	whole := appendFrame(nil, kindAppend, 1, "n1/2/3", filled(10))
	f.Add(whole, uint8(7))
	f.Add(appendPart(nil, whole, 0), uint8(0))
	f.Fuzz(func(t *testing.T, b []byte, cut uint8) {
		var wire []byte
		for rest := b; len(rest) > 0; {
			n := min(len(rest), 1+int(cut))
			wire, rest = appendPart(wire, rest[:n], len(rest)-n), rest[n:]
		}
		got, err := framesOf(wire, 1<<20).next()
		want, wantErr := framesOf(b, 1<<20).next()
		if err == nil && (wantErr != nil || got.kind != want.kind || got.id != want.id || !bytes.Equal(got.payload, want.payload)) {
			t.Fatalf("in parts %+v, at once %+v, %v", got, want, wantErr)
		}
		r := framesOf(b, 1<<20)
		for err := error(nil); err == nil; {
			_, err = r.next()
		}
	})
}
