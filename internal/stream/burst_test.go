package stream

import (
	"bytes"
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

// gathered is what gathers for a writer.
type gathered struct {
	mu     sync.Mutex
	out    []byte
	sealed bool
}

func (g *gathered) add(b []byte) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.out = append(g.out, b...)
}

func (g *gathered) take(spare []byte) (burst []byte, more bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	burst, g.out = g.out, spare
	return burst, !g.sealed
}

func (g *gathered) seal() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.sealed = true
}

// connect returns the two ends of a connection over the network.
func connect(t *testing.T) (near, far net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if near, err = net.Dial("tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if far, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { near.Close(); far.Close() })
	return near, far
}

// TestFlushWritesWithoutTheWriter: nothing runs but the flush.
func TestFlushWritesWithoutTheWriter(t *testing.T) {
	t.Parallel()
	near, far := connect(t)
	var g gathered
	w := NewBurstWriter(NewSocket(near), time.Minute, g.take)
	for _, text := range []string{"one", "two", "three"} {
		g.add([]byte(text))
		w.Flush()
		got := make([]byte, len(text))
		if _, err := io.ReadFull(far, got); err != nil || string(got) != text {
			t.Fatalf("read %q, %v; want %q", got, err, text)
		}
	}
}

// TestFlushLeavesToTheWriterWhatTheSocketDoesNotTake: nobody reads until all has been
// flushed, so flushes that blocked would never end.
func TestFlushLeavesToTheWriterWhatTheSocketDoesNotTake(t *testing.T) {
	t.Parallel()
	near, far := connect(t)
	var g gathered
	w := NewBurstWriter(NewSocket(near), time.Minute, g.take)
	var want []byte
	for i := range 64 {
		part := bytes.Repeat([]byte{byte(i)}, 1<<20)
		want = append(want, part...)
		g.add(part)
		w.Flush()
	}
	ended := make(chan error, 1)
	go func() { ended <- w.Run() }()
	got := make([]byte, len(want))
	if _, err := io.ReadFull(far, got); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("the bytes are not those that were flushed, in their order")
	}
	g.seal()
	w.Signal()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestFlushAndRunShareOneStream: both write what gathers at the same time.
func TestFlushAndRunShareOneStream(t *testing.T) {
	t.Parallel()
	near, far := connect(t)
	var g gathered
	w := NewBurstWriter(NewSocket(near), time.Minute, g.take)
	ended := make(chan error, 1)
	go func() { ended <- w.Run() }()
	go func() {
		for i := range 10_000 {
			g.add([]byte{byte(i)})
			if i%3 == 0 {
				w.Flush()
			} else {
				w.Signal()
			}
		}
		g.seal()
		w.Signal()
	}()
	got := make([]byte, 10_000)
	if _, err := io.ReadFull(far, got); err != nil {
		t.Fatal(err)
	}
	for i, b := range got {
		if b != byte(i) {
			t.Fatalf("byte %d is %d, want %d", i, b, byte(i))
		}
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestAFlushThatFailsEndsTheWriter(t *testing.T) {
	t.Parallel()
	near, _ := connect(t)
	var g gathered
	w := NewBurstWriter(NewSocket(near), time.Minute, g.take)
	near.Close()
	g.add([]byte("x"))
	w.Flush()
	if err := w.Run(); err == nil {
		t.Error("the writer ended without an error")
	}
}
