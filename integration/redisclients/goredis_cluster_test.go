package redisclients

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"
)

// goRedisCluster knows one node and finds the others: keys go to all of them, and any
// command that clients in cluster mode send on works.
func goRedisCluster(t *testing.T, d *dev) {
	d.allLead(t)
	ctx := t.Context()
	for name, opt := range map[string]redis.ClusterOptions{
		"default":    {},
		"read-only":  {ReadOnly: true},
		"randomly":   {RouteRandomly: true},
		"by latency": {RouteByLatency: true},
	} {
		opt.Addrs = []string{d.address(2)}
		c := open(t, redis.NewClusterClient(&opt))
		eventually(t, name+": all nodes are masters", func() error { // a busy one may lose its groups for a moment
			masters, err := addressesOf(ctx, c.ForEachMaster)
			if want := d.addresses(); err != nil || !slices.Equal(masters, want) {
				c.ReloadState(ctx)
				return fmt.Errorf("masters are %v, %w, want %v", masters, err, want)
			}
			return nil
		})
		if _, err := c.Pipelined(ctx, func(p redis.Pipeliner) error {
			for i := range 200 {
				p.Set(ctx, fmt.Sprintf("cluster:%s:%d", name, i), i, 0)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		for i := range 200 {
			eventually(t, "a key is there on every node", func() error { // one that did not write it may be behind
				if v, err := c.Get(ctx, fmt.Sprintf("cluster:%s:%d", name, i)).Int(); err != nil || v != i {
					return fmt.Errorf("%d, %w", v, err)
				}
				return nil
			})
		}
		cmds, err := c.TxPipelined(ctx, func(p redis.Pipeliner) error {
			p.Set(ctx, "cluster:{tag}:a", 1, 0)
			p.Incr(ctx, "cluster:{tag}:a")
			return nil
		})
		if err != nil {
			t.Fatalf("%s: transaction: %v", name, err)
		}
		wants(t, wanted{cmds[1], "2"}, wanted{c.Del(ctx, "cluster:{tag}:a", "cluster:{tag}:b"), "1"})
	}
	c := open(t, redis.NewClusterClient(&redis.ClusterOptions{Addrs: d.addresses()}))
	eventually(t, "CLUSTER SHARDS tells of all", func() error {
		shards, err := c.ClusterShards(ctx).Result()
		if err != nil || len(shards) != nodes || len(shards[0].Nodes) != nodes || shards[0].Nodes[0].Role != "master" {
			return fmt.Errorf("%+v, %w", shards, err)
		}
		return nil
	})
}

// addressesOf returns where a cluster client's nodes of a kind are, sorted.
func addressesOf(ctx context.Context, each func(context.Context, func(context.Context, *redis.Client) error) error) (list []string, err error) {
	var mu sync.Mutex
	err = each(ctx, func(ctx context.Context, c *redis.Client) error {
		mu.Lock()
		defer mu.Unlock()
		list = append(list, c.Options().Addr)
		return c.Ping(ctx).Err()
	})
	slices.Sort(list)
	return list, err
}
