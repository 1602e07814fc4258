package script

import "context"

// places are taken and given back. Who waits for one gets it in the order of waiting.
type places chan struct{}

func (p places) take(ctx context.Context) error {
	select {
	case p <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p places) give() { <-p }
