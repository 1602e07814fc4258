package transport

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/ringraft/ringraft/op"
)

// Goroutines call through four connections a server in the same process that
// answers at once: both ends of every socket share the processors.
func BenchmarkLoopback(b *testing.B) {
	for _, size := range []int{0, 128, 4096} {
		for _, callers := range []int{1, 64, 512} {
			b.Run(fmt.Sprintf("get/%dB/%d", size, callers), func(b *testing.B) {
				res := op.Result{Found: true, Version: 1 << 20, Value: make([]byte, size)}
				req := op.Request{Op: get("a key of common length")}
				benchmarkLoopback(b, callers, &req, res)
			})
		}
	}
	b.Run("set/128B/64", func(b *testing.B) {
		req := op.Request{Op: set("a key of common length", string(make([]byte, 128)))}
		benchmarkLoopback(b, 64, &req, op.Result{Version: 1 << 20})
	})
}

func benchmarkLoopback(b *testing.B, callers int, req *op.Request, res op.Result) {
	_, addr := serveTCP(b, ServerConfig{Handler: handlerFunc(func(_ op.Request, reply op.Replier) { reply.Reply(res) })})
	var conns [4]*Conn
	for i := range conns {
		conns[i] = dialConn(b, addr, ConnConfig{})
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	b.ReportAllocs()
	b.ResetTimer()
	var wg sync.WaitGroup
	for g := range callers {
		wg.Go(func() {
			for i := g; i < b.N; i += callers {
				if _, err := conns[g%len(conns)].Do(ctx, req); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
}

// BenchmarkLookups is 16 lookups in one burst, over loopback, from a handler that answers at
// once: what the way to the handler costs, on both ends.
func BenchmarkLookups(b *testing.B) {
	ask := asking(b)
	b.ReportAllocs()
	for b.Loop() {
		if err := ask(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(16*b.N), "ns/lookup")
}
