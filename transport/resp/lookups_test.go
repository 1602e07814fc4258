package resp

import (
	"bytes"
	"io"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/ringraft/ringraft/op"
)

// TestGetsAreLookedUpTogether, in their turn, with what the connection has seen for a bound.
func TestGetsAreLookedUpTogether(t *testing.T) {
	t.Parallel()
	node := newTestNode(t)
	var keys []string
	var bounds []uint64
	node.look = func(a op.Lookup) bool {
		keys, bounds = append(keys, string(a.Key)), append(bounds, a.Bound)
		return string(a.Key) != "slow"
	}
	served := 0
	node.hold = func(req op.Request) bool {
		if _, gets := req.Op.(op.Get); gets {
			served++
		}
		return false
	}
	c := connect(t, node)
	c.want("SET a 1", "+OK")
	c.send("GET a", "get b", "GET slow", "GET a", "STRLEN a", "GET nothing", "CLIENT REPLY SKIP", "GET a", "PING")
	for i, want := range []string{"1", "nil", "nil", "1", ":1", "nil", "+PONG"} {
		if got := c.read(); got != want {
			t.Errorf("answer %d: %q, want %q", i, got, want)
		}
	}
	if served != 2 {
		t.Errorf("%d GETs were served one by one, want that of the slow key and that without an answer", served)
	}
	if want := []string{"a", "b", "slow", "slow", "a", "nothing"}; !slices.Equal(keys, want) {
		t.Errorf("looked up %q, want %q", keys, want)
	}
	if bounds[0] == 0 || bounds[4] != bounds[0] {
		t.Errorf("bounds %d: want the write's index for its key", bounds)
	}
}

// TestNoLookupWhereItIsNotAtLevelSession, or in a transaction.
func TestNoLookupWhereItIsNotAtLevelSession(t *testing.T) {
	t.Parallel()
	node := newTestNode(t)
	looked := 0
	node.look = func(op.Lookup) bool { looked++; return true }
	c := connect(t, node)
	c.want("READMODE linearizable", "+OK")
	c.want("GET a", "nil")
	c.want("READMODE session", "+OK")
	c.want("MULTI", "+OK")
	c.want("GET a", "+QUEUED")
	c.want("DISCARD", "+OK")
	if looked > 0 {
		t.Errorf("%d lookups, want none", looked)
	}
	c.want("GET a", "nil")
	if looked != 1 {
		t.Errorf("%d lookups, want one", looked)
	}
}

// FuzzParseGet: what is taken for a GET is one to the reader of commands, too.
func FuzzParseGet(f *testing.F) {
	for _, s := range []string{bulks("GET", "k"), bulks("get", strings.Repeat("k", 300)), bulks("GET", ""), bulks("GETX", "k"), bulks("SET", "k", "v"),
		"GET k\r\n", "*2\r\n$3\r\nGET\r\n$05\r\nabcde\r\n", "*2\r\n$3\r\nGET\r\n$5\r\nabcdef\r\n", "*2\r\n$3\r\nGET\r\n$-1\r\n"} {
		f.Add([]byte(s), 0)
		f.Add([]byte(s), 5)
	}
	f.Fuzz(func(t *testing.T, sent []byte, cut int) {
		if cut > 0 && cut < len(sent) {
			sent = sent[:len(sent)-cut]
		}
		key, size, ok := parseGet(sent)
		if !ok {
			return
		}
		args, err := newTestReader(bytes.NewReader(sent[:size])).next()
		if err != nil || len(args) != 2 || !strings.EqualFold(string(args[0]), "get") || !bytes.Equal(args[1], key) {
			t.Fatalf("%q is taken for a GET of %q; it is %q, %v", sent, key, args, err)
		}
	})
}

// lookNode answers lookups only.
type lookNode struct {
	standIn
	res op.Result
}

func (n *lookNode) LookUp(asked []op.Lookup, answer func(i int, res *op.Result) bool) int {
	for i := range asked {
		answer(i, &n.res)
	}
	return len(asked)
}

// asking returns a function that asks a server of its own for 16 keys and reads the answers.
func asking(t testing.TB, node Node) func() error {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewServer(ServerConfig{Listener: l, Node: node})
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve() }()
	t.Cleanup(func() { s.Close(); <-served })
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	sent := []byte(strings.Repeat(bulks("GET", "key:000000000042"), 16))
	r := reply{proto: 2}
	renderValue(&r, op.Result{Found: true, Value: make([]byte, 128)})
	answers := make([]byte, 16*len(r.b))
	return func() error {
		if _, err := conn.Write(sent); err != nil {
			return err
		}
		_, err := io.ReadFull(conn, answers)
		return err
	}
}

func newLookNode() *lookNode {
	return &lookNode{res: op.Result{Found: true, Index: 9, Value: make([]byte, 128)}}
}

func TestLookupsTakeNoMemory(t *testing.T) {
	ask := asking(t, newLookNode())
	if n := testing.AllocsPerRun(200, func() {
		if err := ask(); err != nil {
			t.Error(err)
		}
	}); n > 0 {
		t.Errorf("%v allocations for 16 GETs, want none", n)
	}
}
