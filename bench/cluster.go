package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ringraft/ringraft/client"
	"github.com/ringraft/ringraft/op"
)

// Client is what a load needs of a *client.Client.
type Client interface {
	Get(ctx context.Context, key string, opts ...client.ReadOption) (client.Value, error)
	Set(ctx context.Context, key string, value []byte, opts ...client.WriteOption) (uint64, error)
	SetMany(ctx context.Context, pairs []client.Pair, opts ...client.WriteOption) ([]client.Result, error)
}

// Cluster is a Ringraft cluster as its client sees it: requests go to the node that
// serves them, and writes happen exactly once. All callers share the client's connections.
type Cluster struct {
	client Client
	reads  []client.ReadOption
	writes []client.WriteOption
	groups []int // by slot
	count  int   // of groups
}

// NewCluster returns the cluster that cl talks to, for reads at the level, and writes
// that end after ttl unless that is 0. groupOf names the group of each slot, in any
// numbers; nil counts the cluster as one group.
func NewCluster(cl Client, level client.Level, ttl time.Duration, groupOf []uint64) (*Cluster, error) {
	if len(groupOf) != op.Slots && groupOf != nil {
		return nil, fmt.Errorf("the cluster map has %d slots, want %d", len(groupOf), op.Slots)
	}
	c := &Cluster{client: cl, reads: []client.ReadOption{client.At(level)}, groups: make([]int, op.Slots), count: 1}
	if ttl > 0 {
		c.writes = append(c.writes, client.WithTTL(ttl))
	}
	seen := map[uint64]int{}
	for slot, id := range groupOf {
		if _, ok := seen[id]; !ok {
			seen[id] = len(seen)
		}
		c.groups[slot] = seen[id]
	}
	c.count = max(1, len(seen))
	return c, nil
}

// Caller returns the cluster itself: any number of goroutines may call it.
func (c *Cluster) Caller(int) Caller { return c }

// Close does nothing: the client is its owner's to close.
func (c *Cluster) Close() error { return nil }

// Groups returns the number of the cluster's groups.
func (c *Cluster) Groups() int { return c.count }

// Group returns the group of key, as it was at the start.
func (c *Cluster) Group(key []byte) int { return c.groups[op.SlotOf(key)] }

// Do carries the requests out: one as it is, several writes as a SetMany.
func (c *Cluster) Do(ctx context.Context, batch []Request) {
	if len(batch) > 1 && !batch[0].Read {
		c.setMany(ctx, batch)
		return
	}
	for i := range batch {
		c.one(ctx, &batch[i])
	}
}

func (c *Cluster) one(ctx context.Context, r *Request) {
	if !r.Read {
		_, r.Err = c.client.Set(ctx, string(r.Key), r.Value, c.writes...)
		return
	}
	if _, r.Err = c.client.Get(ctx, string(r.Key), c.reads...); errors.Is(r.Err, op.ErrNotFound) {
		r.Err = nil
	}
}

func (c *Cluster) setMany(ctx context.Context, batch []Request) {
	pairs := make([]client.Pair, len(batch))
	for i := range batch {
		pairs[i] = client.Pair{Key: string(batch[i].Key), Value: batch[i].Value}
	}
	results, err := c.client.SetMany(ctx, pairs, c.writes...)
	for i := range batch {
		batch[i].Err = err
		if len(results) == len(batch) {
			batch[i].Err = results[i].Err
		}
	}
}
