package client

import (
	"context"
	"testing"
	"time"

	"github.com/ringraft/ringraft/op"
)

// instantConn is a connection over which reads and writes of one key are answered at once.
type instantConn struct{ conn }

func (c instantConn) DoUntil(ctx context.Context, until time.Time, req *op.Request) (op.Result, error) {
	switch req.Op.Code() {
	case op.CodeGet, op.CodeSet:
		return op.Result{Found: true}, nil
	}
	return c.conn.DoUntil(ctx, until, req)
}

// BenchmarkCallsAnsweredAtOnce measures what a call costs before and behind its connection.
func BenchmarkCallsAnsweredAtOnce(b *testing.B) {
	s := newStage(b)
	cfg, err := Config{Endpoints: []string{"n1:1"}}.withDefaults()
	if err != nil {
		b.Fatal(err)
	}
	c, err := open(b.Context(), cfg, func(ctx context.Context, address string) (conn, error) {
		conn, err := s.dial(ctx, address)
		return instantConn{conn}, err
	})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	value := make([]byte, 128)
	for name, call := range map[string]func(context.Context) error{
		"set": func(ctx context.Context) error { _, err := c.Set(ctx, "key", value); return err },
		"get": func(ctx context.Context) error { _, err := c.Get(ctx, "key"); return err },
	} {
		b.Run(name, func(b *testing.B) {
			ctx := b.Context() // without a deadline
			b.ReportAllocs()
			for b.Loop() {
				if err := call(ctx); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
