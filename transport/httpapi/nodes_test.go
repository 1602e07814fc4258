package httpapi

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/ringraft/ringraft/op"
)

// slippingNode lets something happen before each write.
type slippingNode struct {
	Node
	slip func()
}

func (n *slippingNode) Do(ctx context.Context, req op.Request) op.Result {
	if _, writes := req.Op.(op.Write); writes {
		n.slip()
	}
	return n.Node.Do(ctx, req)
}

// impatientNode gives the first request that is one of those chosen no longer than a moment.
type impatientNode struct {
	Node
	chosen func(req op.Request) bool
	gone   atomic.Bool // the first has come
}

func (n *impatientNode) Do(ctx context.Context, req op.Request) op.Result {
	if n.chosen(req) && !n.gone.Swap(true) {
		short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
		defer cancel()
		ctx = short
	}
	return n.Node.Do(ctx, req)
}
