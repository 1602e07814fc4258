package transport

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringraft/ringraft/op"
)

// looker echoes the lookups of one connection at once, but for keys that begin with
// "slow"; others are served.
type looker struct {
	looked, served atomic.Int64
	bursts         atomic.Int64 // of lookups
	value          []byte       // in place of the key
	res            op.Result
}

func (h *looker) Serve(req op.Request, reply op.Replier) {
	h.served.Add(1)
	echo(req, reply)
}

func (h *looker) LookUp(asked []op.Lookup, answer func(i int, res *op.Result) bool) int {
	h.bursts.Add(1)
	for i, a := range asked {
		if strings.HasPrefix(string(a.Key), "slow") {
			return i
		}
		h.looked.Add(1)
		h.res = op.Result{Found: true, Value: a.Key, Index: a.Bound}
		if h.value != nil {
			h.res.Value = h.value
		}
		if !answer(i, &h.res) {
			return i + 1
		}
	}
	return len(asked)
}

func requestFrame(b []byte, id uint32, req op.Request) []byte {
	start := len(b)
	b = req.AppendTo(begin(b))
	seal(b[start:], kindRequest, id)
	return b
}

// TestLookupsAndOtherRequestsInOneBurst: each gets its answer, from where it belongs.
func TestLookupsAndOtherRequestsInOneBurst(t *testing.T) {
	t.Parallel()
	h := &looker{}
	_, addr := serveTCP(t, ServerConfig{Handler: h})
	c := rawTCP(t, addr)
	requests := []op.Request{
		{Op: get("a")}, {Op: get("b"), Level: op.Session, Bound: 1 << 40, Epoch: 300},
		{Op: set("c", "v")},
		{Op: get("slow")}, {Op: get(strings.Repeat("d", op.MaxKey))},
		{Op: get("e"), Level: op.Linearizable}, {Op: get("f"), Level: op.Bounded, Bound: 9},
		{Op: get("g")}, {Op: op.Get{}}, {Op: get("h")},
	}
	var sent []byte
	for i, req := range requests {
		sent = requestFrame(sent, uint32(i), req)
	}
	for _, part := range [][]byte{sent[:100], sent[100:]} {
		c.send(part)
	}
	got := map[uint32]string{}
	for range requests {
		id, res := c.receive(kindResponse)
		got[id] = string(res.Value) + string(res.Detail)
	}
	want := map[uint32]string{0: "a", 1: "b", 2: "v", 3: "slow", 4: strings.Repeat("d", op.MaxKey), 5: "e", 6: "f", 7: "g", 8: "", 9: "h"}
	if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w {
		t.Errorf("answers %s\nwant %s", g, w)
	}
	if looked, served := h.looked.Load(), h.served.Load(); looked+served != 10 || served < 5 || served > 6 {
		t.Errorf("%d were looked up and %d served, want 5 and 5, or one less for the one that was cut in two", looked, served)
	}
}

// TestLookupsOfAClientThatDoesNotRead are bounded as other requests are.
func TestLookupsOfAClientThatDoesNotRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := &looker{value: make([]byte, 1000)}
		_, l := servePipe(t, ServerConfig{Handler: h, MaxUnsent: 10_000, WriteTimeout: time.Minute})
		c := rawPipe(t, l)
		var sent []byte
		for i := range 2000 {
			sent = requestFrame(sent, uint32(i), op.Request{Op: get("k")})
		}
		go c.conn.Write(sent)
		synctest.Wait()
		if n := h.looked.Load(); n < 10 || n > 200 {
			t.Errorf("%d lookups were answered, want about a burst of 64", n)
		}
		time.Sleep(2 * time.Minute)
		if _, err := io.Copy(io.Discard, c.conn); err != nil {
			t.Errorf("after the timeout: %v, want the end of the connection", err)
		}
	})
}

// TestLongAnswersEndABurst, and all come.
func TestLongAnswersEndABurst(t *testing.T) {
	t.Parallel()
	h := &looker{value: bytes.Repeat([]byte("v"), lookupBytes/2)}
	_, addr := serveTCP(t, ServerConfig{Handler: h})
	c := rawTCP(t, addr)
	var sent []byte
	for i := range 64 {
		sent = requestFrame(sent, uint32(i), op.Request{Op: get("k")})
	}
	c.send(sent)
	seen := map[uint32]bool{}
	for range 64 {
		id, res := c.receive(kindResponse)
		if seen[id] || len(res.Value) != len(h.value) {
			t.Fatalf("answer %d of %d bytes", id, len(res.Value))
		}
		seen[id] = true
	}
}

func TestGarbageBehindLookupsEndsTheConnection(t *testing.T) {
	t.Parallel()
	_, addr := serveTCP(t, ServerConfig{Handler: &looker{}})
	c := rawTCP(t, addr)
	frame := requestFrame(nil, 7, op.Request{Op: get("k")})
	broken := bytes.Clone(frame)
	broken[len(broken)-1] ^= 1
	c.send(append(bytes.Clone(frame), broken...))
	if id, res := c.receive(kindResponse); id != 7 || string(res.Value) != "k" {
		t.Errorf("answer %d: %+v", id, res)
	}
	if _, res := c.receive(kindGoodbye); res.Err == nil || res.Err.Field != "checksum" {
		t.Errorf("goodbye = %+v, want one that names the checksum", res.Err)
	}
}

// asking returns a function that asks a server of its own for 16 keys and reads the answers.
func asking(t testing.TB) func() error {
	t.Helper()
	_, addr := serveTCP(t, ServerConfig{Handler: &looker{value: make([]byte, 128)}})
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	var sent []byte
	for i := range 16 {
		sent = requestFrame(sent, uint32(i), op.Request{Op: get("key:000000000042")})
	}
	res := op.Result{Found: true, Value: make([]byte, 128)}
	answers := make([]byte, 16*len(appendResult(nil, kindResponse, 1, &res)))
	return func() error {
		if _, err := conn.Write(sent); err != nil {
			return err
		}
		_, err := io.ReadFull(conn, answers)
		return err
	}
}

func TestLookupsTakeNoMemory(t *testing.T) {
	ask := asking(t)
	if n := testing.AllocsPerRun(200, func() {
		if err := ask(); err != nil {
			t.Error(err)
		}
	}); n > 0 {
		t.Errorf("%v allocations for 16 lookups, want none", n)
	}
}
