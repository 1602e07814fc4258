package clerk

import (
	"context"
	"testing"

	"github.com/ringraft/ringraft/op"
)

// BenchmarkServe is what a write costs beside the node's work.
func BenchmarkServe(b *testing.B) {
	c, err := New(Config{Node: script(func(context.Context, op.Request) op.Result { return op.Result{Number: 1} })})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	reply := discard{}
	req := op.Request{Op: op.Set{Key: []byte("key:000001"), Value: make([]byte, 128)}}
	c.Do(b.Context(), req) // opens the session
	b.ReportAllocs()
	for b.Loop() {
		c.Serve(req, reply)
	}
}

type discard struct{}

func (discard) Reply(op.Result) {}
