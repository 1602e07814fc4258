package httpapi

import (
	"context"

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
