package integration

import (
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/ringraft/ringraft/op"
)

// TestSimProtectedRecordsAreNeverEvicted: neither by ordinary records, of which many
// times the limit are written, nor by one another; also not on a replica that has
// been away, nor after a restart of all of them. The same goes for what a session was
// answered.
func TestSimProtectedRecordsAreNeverEvicted(t *testing.T) {
	simulate(t, 1, func(t *testing.T, c *simCluster) {
		const limit = 1 << 20
		c.do(op.SetConfig{Name: "max-bytes", Value: "1MiB"}, op.Local)
		time.Sleep(time.Second)
		held := func(i int) []byte { return fmt.Appendf(nil, "held-%d", i) }
		for i := range 100 {
			o := op.Set{Key: held(i), Value: []byte("7"), Protect: true}
			if i%2 == 0 {
				o.TTL = time.Hour.Milliseconds()
			}
			c.do(o, op.Local)
			c.do(op.Add{Key: held(i), Delta: int64(i)}, op.Local) // keeps both
		}
		wantHeld := func(when string) {
			t.Helper()
			for i := range 100 {
				for _, m := range c.init {
					res := c.at(m.ID, op.Get{Key: held(i)}, op.Local)
					if string(res.Value) != strconv.Itoa(7+i) || (res.TTL > 0) != (i%2 == 0) {
						t.Fatalf("%s: %s on %s is %q with a TTL of %d (%v)", when, held(i), m.ID, res.Value, res.TTL, res.Err)
					}
				}
			}
		}
		session := c.do(op.OpenSession{OnSlot: op.SlotOf([]byte("n")), TTL: op.MaxSessionTTL}, op.Local)
		once := op.Request{Session: uint64(session.Number), Sequence: 1, Acknowledged: 1, Op: op.Add{Key: []byte("n"), Delta: 5}}
		wantOnce := func(when string) {
			t.Helper()
			if res := c.through("n1", once, 10*time.Second); res.Err != nil || res.Number != 5 {
				t.Errorf("%s the repeat of a write is answered with %d, %v; want 5", when, res.Number, res.Err)
			}
		}
		wantOnce("at first")
		c.do(op.Add{Key: []byte("n"), Delta: 1}, op.Local)
		away := c.follower(0, 1)
		c.halt(away)
		for i := range 2000 { // eight times the limit
			c.do(op.Set{Key: fmt.Appendf(nil, "plain-%d", i), Value: make([]byte, 4000)}, op.Local)
		}
		c.restart(away)
		c.checkDigests()
		wantHeld("after eight times the limit")
		wantOnce("after eight times the limit")
		if res := c.do(op.Get{Key: []byte("n")}, op.Linearizable); res.Found {
			t.Error("a counter that nobody protects is still there: the test proves nothing")
		}
		for _, m := range c.init {
			if r := c.replicaStatus(m.ID, 1); r.Bytes > limit || r.Bytes < limit*9/10 {
				t.Errorf("%s holds %d bytes, want it full", m.ID, r.Bytes)
			}
		}

		more := 0
		for ; ; more++ {
			o := op.Set{Key: held(100 + more), Value: make([]byte, 1000), Protect: true}
			if _, err := c.try(o, op.Local); errors.Is(err, op.ErrOutOfMemory) {
				break
			} else if err != nil || more > 1100 {
				t.Fatalf("after %d more protected records: %v", more, err)
			}
		}
		for name, o := range map[string]op.Op{
			"an ordinary record":       op.Set{Key: []byte("plain"), Value: make([]byte, 1000)},
			"a larger protected value": op.Set{Key: held(100), Value: make([]byte, 3000), Protect: true},
			"several":                  op.MSet{Pairs: []op.Pair{{Key: []byte("plain"), Value: make([]byte, 1000)}}},
		} {
			if _, err := c.try(o, op.Local); !errors.Is(err, op.ErrOutOfMemory) {
				t.Errorf("%s without room: %v, want out of memory", name, err)
			}
		}
		if res := c.do(op.Get{Key: held(100)}, op.Linearizable); len(res.Value) != 1000 {
			t.Errorf("a value that was to be replaced has %d bytes, want the old 1000", len(res.Value))
		}
		wantHeld("full of protected records")
		wantOnce("full of protected records")
		c.do(op.Delete{Key: held(100)}, op.Local)
		c.do(op.Set{Key: []byte("plain"), Value: make([]byte, 1000)}, op.Local)

		for _, m := range c.init {
			c.halt(m.ID)
		}
		for _, m := range c.init {
			c.restart(m.ID)
		}
		c.waitReady()
		c.checkDigests()
		wantHeld("after a restart")
		wantOnce("after a restart")
	})
}
