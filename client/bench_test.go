package client_test

import (
	"context"
	"testing"
	"time"

	"github.com/ringraft/ringraft/client"
	"github.com/ringraft/ringraft/internal/fakenode"
)

// BenchmarkCalls measures the client's part of a call: the nodes only look into a map.
func BenchmarkCalls(b *testing.B) {
	nodes, err := fakenode.Start(fakenode.Config{})
	if err != nil {
		b.Fatal(err)
	}
	defer nodes.Close()
	c, err := client.New(b.Context(), client.Config{Endpoints: nodes.Endpoints()})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	value := make([]byte, 128)
	for _, bc := range []struct {
		name string
		call func(ctx context.Context) error
	}{
		{"set", func(ctx context.Context) error { _, err := c.Set(ctx, "key", value); return err }},
		{"get", func(ctx context.Context) error { _, err := c.Get(ctx, "key"); return err }},
	} {
		b.Run(bc.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetParallelism(32)
			b.RunParallel(func(pb *testing.PB) {
				ctx, cancel := context.WithTimeout(b.Context(), time.Minute)
				defer cancel()
				for pb.Next() {
					if err := bc.call(ctx); err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
}
