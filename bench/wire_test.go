package bench

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/ringraft/ringraft/client"
	"github.com/ringraft/ringraft/internal/fakenode"
	"github.com/ringraft/ringraft/op"
)

func TestWireReads(t *testing.T) {
	t.Parallel()
	nodes, cl := fake(t)
	long := strings.Repeat("v", 3*readBuffer)
	for key, value := range map[string]string{"bench:1": "one", "bench:2": long, "bench:3": ""} {
		if _, err := cl.Set(t.Context(), key, []byte(value)); err != nil {
			t.Fatal(err)
		}
	}
	for _, level := range []client.Level{client.Local, client.Bounded(time.Minute)} {
		s, err := NewWire(nodes.Endpoints(), level, 10*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		caller := s.Caller(1)
		defer caller.Close()
		before := nodes.Served(op.CodeGet)
		for range 3 {
			batch := make([]Request, 5)
			for i := range batch {
				batch[i] = Request{Read: true, Key: AppendKey(nil, i)}
			}
			caller.Do(t.Context(), batch)
			for i := range batch {
				if batch[i].Err != nil {
					t.Errorf("%v: key %d: %v", level, i, batch[i].Err)
				}
			}
		}
		if served := nodes.Served(op.CodeGet) - before; served != 15 {
			t.Errorf("%v: %d reads served, want 15", level, served)
		}
	}
}

func TestWireTellsRefusals(t *testing.T) {
	t.Parallel()
	nodes, _ := fake(t)
	nodes.Intercept(func(_ string, req op.Request) *fakenode.Fault {
		if get, ok := req.Op.(op.Get); ok && string(get.Key) == "bad" {
			return &fakenode.Fault{Err: op.Unavailable("busy")}
		}
		return nil
	})
	s, err := NewWire(nodes.Endpoints(), client.Local, 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	caller := s.Caller(0)
	defer caller.Close()
	batch := []Request{{Read: true, Key: []byte("good")}, {Read: true, Key: []byte("bad")}}
	caller.Do(t.Context(), batch)
	if batch[0].Err != nil || !errors.Is(batch[1].Err, op.ErrUnavailable) {
		t.Errorf("errors %v, %v; want only the second", batch[0].Err, batch[1].Err)
	}
	for _, level := range []client.Level{client.Linearizable, client.Session} {
		if _, err := NewWire(nodes.Endpoints(), level, time.Second); !errors.Is(err, op.ErrRefused) {
			t.Errorf("level %v: err = %v, want a refusal", level, err)
		}
	}
}

// frameOf returns an answer as a node sends it, in which change may then alter bytes.
func frameOf(d *wireDialect, id uint32, res op.Result, change func([]byte)) []byte {
	f := res.AppendTo(make([]byte, frameHeader))
	binary.BigEndian.PutUint32(f, uint32(len(f)-4))
	f[4], f[5] = frameVersion, frameResponse
	binary.BigEndian.PutUint32(f[8:], id)
	binary.BigEndian.PutUint32(f[12:], d.sum(f))
	if change != nil {
		change(f)
	}
	return f
}

func localDialect(t testing.TB) *wireDialect {
	t.Helper()
	s, err := NewWire([]string{"127.0.0.1:1"}, client.Local, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	return s.speak().(*wireDialect)
}

func TestWireRefusesWhatIsNoAnswer(t *testing.T) {
	t.Parallel()
	found := op.Result{Found: true, Value: []byte("v")}
	for name, c := range map[string]struct {
		ids    []uint32 // after the first
		change func([]byte)
		want   string
	}{
		"in order":          {[]uint32{0, 1}, nil, ""},
		"in another order":  {[]uint32{1, 0}, nil, ""},
		"twice":             {[]uint32{1, 1}, nil, "not pending"},
		"unknown":           {[]uint32{2, 0}, nil, "not pending"},
		"one missing":       {[]uint32{0}, nil, io.ErrUnexpectedEOF.Error()},
		"another version":   {[]uint32{0, 1}, func(f []byte) { f[4] = 9 }, "version 9"},
		"goodbye":           {[]uint32{0, 1}, func(f []byte) { f[5] = 3 }, "type 3"},
		"body changed":      {[]uint32{0, 1}, func(f []byte) { f[len(f)-1] ^= 1 }, "checksum"},
		"length too small":  {[]uint32{0, 1}, func(f []byte) { copy(f, []byte{0, 0, 0, 3}) }, "a frame of 7 bytes"},
		"length too large":  {[]uint32{0, 1}, func(f []byte) { copy(f, []byte{255, 0, 0, 0}) }, "the limit is"},
		"longer than it is": {[]uint32{0, 1}, func(f []byte) { f[1] = 16 }, io.ErrUnexpectedEOF.Error()},
	} {
		d := localDialect(t)
		batch := []Request{{Read: true, Key: []byte("a")}, {Read: true, Key: []byte("b")}}
		d.append(nil, batch)
		var stream []byte
		for _, id := range c.ids {
			stream = append(stream, frameOf(d, d.first+id, found, c.change)...)
		}
		batch[0].Err, batch[1].Err = errUnanswered, errUnanswered
		err := d.readAll(bufio.NewReaderSize(bytes.NewReader(stream), readBuffer), batch)
		if c.want == "" && (err != nil || batch[0].Err != nil || batch[1].Err != nil) {
			t.Errorf("%s: %v, %v, %v", name, err, batch[0].Err, batch[1].Err)
		}
		if c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: err = %v, want %q in it", name, err, c.want)
		}
	}
}

// FuzzWire checks that no stream makes the reader panic, and that what it accepts is
// what a node would have sent.
func FuzzWire(f *testing.F) {
	d := localDialect(f)
	f.Add(frameOf(d, 1, op.Result{Found: true, Value: []byte("v")}, nil))
	f.Add(frameOf(d, 1, op.Fail(op.Unavailable("busy")), nil))
	f.Add(frameOf(d, 1, op.Result{}, func(f []byte) { f[0] = 1 }))
	f.Fuzz(func(t *testing.T, stream []byte) {
		d := localDialect(t)
		in := bytes.NewReader(stream)
		r := bufio.NewReaderSize(in, 64)
		id, res, err := d.readFrame(r)
		if err != nil {
			return
		}
		took := stream[:len(stream)-in.Len()-r.Buffered()]
		again, res2, err := d.readFrame(bufio.NewReader(bytes.NewReader(frameOf(d, id, res, nil))))
		if err != nil || again != id || !bytes.Equal(res2.Value, res.Value) || len(took) < frameHeader {
			t.Fatalf("%q is read as %+v, that as %+v, %v", took, res, res2, err)
		}
	})
}

// wireRounds returns a function that encodes 16 reads and decodes their answers.
func wireRounds(t testing.TB) func() error {
	d := localDialect(t)
	batch := make([]Request, 16)
	var stream []byte
	for i := range batch {
		batch[i] = Request{Read: true, Key: []byte("bench:12345")}
		value := op.Result{Index: 1 << 20, Version: 1 << 10, Found: true, Value: make([]byte, 128)}
		stream = append(stream, frameOf(d, uint32(MaxBatch+i), value, nil)...)
	}
	source := bytes.NewReader(nil)
	in := bufio.NewReaderSize(source, readBuffer)
	var out []byte
	return func() error {
		d.first = 0
		out = d.append(out[:0], batch)
		for i := range batch {
			batch[i].Err = errUnanswered
		}
		source.Reset(stream)
		in.Reset(source)
		return d.readAll(in, batch)
	}
}

func TestWireTakesNoMemory(t *testing.T) {
	round := wireRounds(t)
	if n := testing.AllocsPerRun(100, func() {
		if err := round(); err != nil {
			t.Error(err)
		}
	}); n > 0 {
		t.Errorf("%v allocations for 16 reads, want none", n)
	}
}

func BenchmarkWire(b *testing.B) {
	round := wireRounds(b)
	b.ReportAllocs()
	for b.Loop() {
		if err := round(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed())/float64(time.Nanosecond)/float64(b.N*16), "ns/request")
}
