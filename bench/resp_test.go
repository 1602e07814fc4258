package bench

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/ringraft/ringraft/op"
)

func TestRESPCommandsOnTheWire(t *testing.T) {
	t.Parallel()
	get := Request{Read: true, Key: []byte("a")}
	set := Request{Key: []byte("bb"), Value: []byte("v\r\n")}
	for name, c := range map[string]struct {
		dialect respDialect
		batch   []Request
		want    string
	}{
		"read":             {respDialect{wait: 1}, []Request{get}, "*2\r\n$3\r\nGET\r\n$1\r\na\r\n"},
		"write":            {respDialect{}, []Request{set}, "*3\r\n$3\r\nSET\r\n$2\r\nbb\r\n$3\r\nv\r\n\r\n"},
		"write with a ttl": {respDialect{ttl: 1500}, []Request{set}, "*5\r\n$3\r\nSET\r\n$2\r\nbb\r\n$3\r\nv\r\n\r\n$2\r\nPX\r\n$4\r\n1500\r\n"},
		"write that waits": {
			respDialect{wait: 2, patience: 500}, []Request{set, get},
			"*3\r\n$3\r\nSET\r\n$2\r\nbb\r\n$3\r\nv\r\n\r\n*2\r\n$3\r\nGET\r\n$1\r\na\r\n*3\r\n$4\r\nWAIT\r\n$1\r\n2\r\n$3\r\n500\r\n",
		},
	} {
		if got := string(c.dialect.append(nil, c.batch)); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// answers gives a batch of a read and two writes, or what batch says, the server's answers.
func answers(dialect respDialect, batch []Request, stream string) ([]Request, error) {
	dialect.append(nil, batch)
	for i := range batch {
		batch[i].Err = errUnanswered
	}
	err := dialect.readAll(bufio.NewReader(iotest.OneByteReader(strings.NewReader(stream))), batch)
	return batch, err
}

func TestRESPAnswers(t *testing.T) {
	t.Parallel()
	const r, w = true, false
	for name, c := range map[string]struct {
		wait   int
		reads  []bool
		stream string
		want   []error
	}{
		"value, nothing, number": {0, []bool{r, r, r}, "$3\r\na\r\n\r\n$-1\r\n:7\r\n", []error{nil, nil, nil}},
		"empty value":            {0, []bool{r}, "$0\r\n\r\n", []error{nil}},
		"written, refused":       {0, []bool{w, w}, "+OK\r\n-OOM no memory\r\n", []error{nil, op.ErrUnavailable}},
		"enough replicas":        {1, []bool{w, r, w}, "+OK\r\n$1\r\na\r\n+OK\r\n:2\r\n", []error{nil, nil, nil}},
		"too few replicas":       {2, []bool{w, r}, "+OK\r\n$1\r\na\r\n:1\r\n", []error{op.ErrUnknownOutcome, nil}},
		"refused, too few":       {1, []bool{w, w}, "-READONLY replica\r\n+OK\r\n:0\r\n", []error{op.ErrUnavailable, op.ErrUnknownOutcome}},
		"reads wait for nobody":  {1, []bool{r}, "$-1\r\n", []error{nil}},
	} {
		batch := make([]Request, len(c.reads))
		for i := range batch {
			batch[i] = Request{Read: c.reads[i], Key: []byte("k")}
		}
		batch, err := answers(respDialect{wait: c.wait}, batch, c.stream)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for i := range batch {
			if !errors.Is(batch[i].Err, c.want[i]) {
				t.Errorf("%s: request %d: err = %v, want %v", name, i, batch[i].Err, c.want[i])
			}
		}
	}
}

func TestRESPStreamsThatCannotBeReadOn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		stream string
		want   error
	}{
		"end":                   {"", io.ErrUnexpectedEOF},
		"end within a line":     {"$3", io.ErrUnexpectedEOF},
		"end within a string":   {"$3\r\na", io.ErrUnexpectedEOF},
		"end before its end":    {"$3\r\nabc\r", io.ErrUnexpectedEOF},
		"empty line":            {"\r\n", errReply},
		"no return":             {"+OK\n", errReply},
		"list":                  {"*1\r\n$1\r\na\r\n", errReply},
		"no number":             {":x\r\n", errReply},
		"number too large":      {":9223372036854775808\r\n", errReply},
		"negative length":       {"$-2\r\n", errReply},
		"length over the limit": {"$16777217\r\n", errReply},
		"string that goes on":   {"$3\r\nabcd\r\n", errReply},
		"endless line":          {"+" + strings.Repeat("a", 1<<17), errReply},
	} {
		_, err := answers(respDialect{}, []Request{{Read: true, Key: []byte("k")}}, c.stream)
		if !errors.Is(err, c.want) {
			t.Errorf("%s: err = %v, want %v", name, err, c.want)
		}
	}
	wait := []Request{{Key: []byte("k")}}
	if batch, err := answers(respDialect{wait: 1}, wait, "+OK\r\n-ERR unknown command\r\n"); err == nil || batch[0].Err != errUnanswered {
		t.Errorf("WAIT is refused: err = %v, the write's %v; want the connection to end without its answer", err, batch[0].Err)
	}
}

// FuzzRESP checks that no stream makes the parser panic or take memory, and that an
// answer it accepts is one that the protocol can write.
func FuzzRESP(f *testing.F) {
	for _, seed := range []string{"+OK\r\n", "-ERR x\r\n", ":-12\r\n", "$3\r\nabc\r\n", "$-1\r\n", "$0\r\n\r\n", "*1\r\n", "$5\r\nab", ":+1\r\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		in := bytes.NewReader(stream)
		r := bufio.NewReaderSize(in, 1<<10)
		for {
			before := len(stream) - in.Len() - r.Buffered()
			a, err := readReply(r)
			if err != nil {
				return
			}
			took := stream[before : len(stream)-in.Len()-r.Buffered()]
			if !bytes.HasSuffix(took, []byte("\r\n")) || took[0] != a.kind || !strings.ContainsRune("+-:$", rune(a.kind)) {
				t.Fatalf("%q is read as %+v", took, a)
			}
			if a.kind == '$' && a.number >= 0 && int64(len(took)) < a.number+5 {
				t.Fatalf("a string of %d bytes in %q", a.number, took)
			}
			if (a.failure() != nil) != (a.kind == '-') {
				t.Fatalf("%q fails with %v", took, a.failure())
			}
		}
	})
}

func BenchmarkRESP(b *testing.B) {
	batch := make([]Request, 16)
	for i := range batch {
		batch[i] = Request{Read: true, Key: []byte("bench:12345")}
	}
	value := "$128\r\n" + strings.Repeat("v", 128) + "\r\n"
	stream := strings.Repeat(value, len(batch))
	d := respDialect{}
	source := strings.NewReader(stream)
	in := bufio.NewReaderSize(source, readBuffer)
	var out []byte
	b.ReportAllocs()
	for b.Loop() {
		out = d.append(out[:0], batch)
		source.Reset(stream)
		in.Reset(source)
		if err := d.readAll(in, batch); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed())/float64(time.Nanosecond)/float64(b.N*len(batch)), "ns/request")
}
