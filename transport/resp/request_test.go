package resp

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/ringraft/ringraft/internal/stream"
	"github.com/ringraft/ringraft/op"
)

func newTestReader(src io.Reader) *requestReader {
	return &requestReader{Reader: stream.Reader{Src: src, Arm: func(bool) error { return nil }}}
}

func bulks(args ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(args))
	for _, a := range args {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(a), a)
	}
	return b.String()
}

func words(args [][]byte) string {
	var b strings.Builder
	for _, a := range args {
		fmt.Fprintf(&b, "[%s]", a)
	}
	return b.String()
}

func TestCommandsAreReadHoweverTheyArrive(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 3*stream.LongStep)
	sent := bulks("SET", "k", "v") + "*0\r\n" + "\r\n" + "*-1\r\n" + "GET k\r\n" + "PING\n" +
		bulks("SET", "", "a\r\nb\x00") + bulks("SET", "long", long) + `set "a b" 'c d' "\x41\n\"" 'it\'s' plain` + "\r\n" + bulks("QUIT")
	want := []string{
		"[SET][k][v]", "[GET][k]", "[PING]", "[SET][][a\r\nb\x00]", "[SET][long][" + long + "]",
		"[set][a b][c d][A\n\"][it's][plain]", "[QUIT]",
	}
	for name, src := range map[string]io.Reader{
		"at once":      strings.NewReader(sent),
		"byte by byte": iotest.OneByteReader(strings.NewReader(sent)),
		"in halves":    iotest.HalfReader(strings.NewReader(sent)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newTestReader(src)
			var got [][][]byte
			for range want {
				args, err := r.next()
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, args)
			}
			for i, args := range got { // read first, so that what was overwritten shows
				if words(args) != want[i] {
					t.Errorf("command %d: %.80q, want %.80q", i, words(args), want[i])
				}
			}
			if _, err := r.next(); err != io.EOF {
				t.Errorf("after the last command: %v, want io.EOF", err)
			}
		})
	}
}

func TestBreachesOfTheProtocolAreNamed(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ sent, want string }{
		"count is no number":    {"*x\r\n", "invalid multibulk length"},
		"count over the limit":  {fmt.Sprintf("*%d\r\n", maxArgs+1), "invalid multibulk length"},
		"count without end":     {"*" + strings.Repeat("1", maxHead), "too big mbulk count string"},
		"no bulk":               {"*1\r\n:1\r\n", "expected '$', got ':'"},
		"a line break for bulk": {"*1\r\n\n", `expected '$', got '\x0a'`},
		"length is no number":   {"*1\r\n$x\r\n", "invalid bulk length"},
		"length below 0":        {"*1\r\n$-1\r\n", "invalid bulk length"},
		"length over the limit": {fmt.Sprintf("*1\r\n$%d\r\n", maxArg+1), "invalid bulk length"},
		"length without end":    {"*1\r\n$" + strings.Repeat("1", maxHead), "too big bulk count string"},
		"bulk longer than said": {"*1\r\n$1\r\nab\r\n", "expected CRLF"},
		"endless line":          {strings.Repeat("x", maxInline), "too big inline request"},
		"open quote":            {"get \"k\r\n", "unbalanced quotes in request"},
		"text after a quote":    {"get \"k\"x\r\n", "unbalanced quotes in request"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := newTestReader(strings.NewReader(tc.sent)).next()
			var breach *protocolError
			if !errors.As(err, &breach) || !strings.HasPrefix(err.Error(), "Protocol error: "+tc.want) {
				t.Errorf("got %v, want a protocol error: %s", err, tc.want)
			}
		})
	}
}

// TestArgumentsAreBoundedTogether: each is within its limit.
func TestArgumentsAreBoundedTogether(t *testing.T) {
	t.Parallel()
	arg := strings.Repeat("x", maxArg)
	var readers []io.Reader
	readers = append(readers, strings.NewReader("*5\r\n"))
	for range 5 {
		readers = append(readers, strings.NewReader(fmt.Sprintf("$%d\r\n", maxArg)), strings.NewReader(arg), strings.NewReader("\r\n"))
	}
	_, err := newTestReader(io.MultiReader(readers...)).next()
	var breach *protocolError
	if !errors.As(err, &breach) {
		t.Errorf("%d arguments of %d bytes: %v, want a protocol error", 5, maxArg, err)
	}
}

// growing hands out bytes, and checks that no read is offered more memory than those
// that came before justify.
type growing struct {
	t    testing.TB
	left []byte
	came int
}

func (g *growing) Read(p []byte) (int, error) {
	if limit := max(stream.LongStep, g.came); len(p) > limit {
		g.t.Fatalf("after %d bytes a read of %d bytes was offered, want at most %d", g.came, len(p), limit)
	}
	if len(g.left) == 0 {
		return 0, io.EOF
	}
	n := copy(p, g.left[:min(1000, len(g.left))])
	g.left = g.left[n:]
	g.came += n
	return n, nil
}

func TestMemoryFollowsTheBytesThatCome(t *testing.T) {
	t.Parallel()
	for _, sent := range []string{
		fmt.Sprintf("*2\r\n$%d\r\n%s", op.MaxValueLimit, strings.Repeat("x", 100_000)),
		fmt.Sprintf("*%d\r\n$1\r\nx\r\n", maxArgs),
	} {
		if _, err := newTestReader(&growing{t: t, left: []byte(sent)}).next(); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("a command that is cut off: %v, want %v", err, io.ErrUnexpectedEOF)
		}
	}
}

// FuzzRequestReader: what is read, written as an array, reads the same again.
func FuzzRequestReader(f *testing.F) {
	f.Add([]byte(bulks("SET", "k", "v") + "GET k\r\n"))
	f.Add([]byte("set \"a\\x41\" 'b\\'c'\r\n"))
	f.Add([]byte("*1\r\n$-1\r\n"))
	f.Add([]byte("*3\r\n$3\r\nSET"))
	f.Fuzz(func(t *testing.T, sent []byte) {
		r := newTestReader(&growing{t: t, left: sent})
		for {
			args, err := r.next()
			if err != nil {
				return
			}
			var texts []string
			for _, a := range args {
				texts = append(texts, string(a))
			}
			again, err := newTestReader(strings.NewReader(bulks(texts...))).next()
			if err != nil || !bytes.Equal([]byte(words(again)), []byte(words(args))) {
				t.Fatalf("%q reads as %q again, %v", words(args), words(again), err)
			}
		}
	})
}
