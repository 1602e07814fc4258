package httpapi

import (
	"context"
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

// impatientNode gives no request longer than a moment.
type impatientNode struct{ Node }

func (n *impatientNode) Do(ctx context.Context, req op.Request) op.Result {
	ctx, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	return n.Node.Do(ctx, req)
}
