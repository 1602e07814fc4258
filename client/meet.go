package client

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/ringraft/ringraft/op"
	"github.com/ringraft/ringraft/placement"
	"github.com/ringraft/ringraft/transport"
)

// dialer opens a connection to the node at address.
type dialer func(ctx context.Context, address string) (conn, error)

func transportDialer(cfg Config) dialer {
	return func(ctx context.Context, address string) (conn, error) {
		return transport.Dial(ctx, address, transport.ConnConfig{Dial: cfg.Dial, DialTimeout: cfg.DialTimeout})
	}
}

// encounter is a node met at an endpoint: its connection, its id, and its map.
type encounter struct {
	conn    conn
	node    string
	cluster placement.Map
}

// meetEndpoints returns the first encounter that the endpoints grant. Nodes that hang
// leave time for the endpoints behind them: what is left of ctx's time is shared.
func (c *Client) meetEndpoints(ctx context.Context) (encounter, error) {
	var reasons []string
	for i, address := range c.cfg.Endpoints {
		attempt, cancel := context.WithTimeout(ctx, c.share(ctx, len(c.cfg.Endpoints)-i))
		met, err := c.meet(attempt, address)
		cancel()
		switch {
		case err == nil:
			return met, nil
		case ctx.Err() != nil:
			return encounter{}, fmt.Errorf("%w: %w while asking %s", op.ErrUnavailable, ctx.Err(), address)
		}
		reasons = append(reasons, err.Error())
	}
	return encounter{}, op.Unavailable("no endpoint answers: %s", strings.Join(reasons, "; "))
}

// share returns how long the first of n endpoints may take.
func (c *Client) share(ctx context.Context, n int) time.Duration {
	end, bounded := ctx.Deadline()
	if !bounded || n == 1 {
		return c.cfg.DialTimeout
	}
	return time.Until(end) / time.Duration(n)
}

func (c *Client) meet(ctx context.Context, address string) (encounter, error) {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.DialTimeout)
	defer cancel()
	conn, greeting, err := c.greetAt(ctx, address)
	if err != nil {
		return encounter{}, err
	}
	m, err := fetchMap(ctx, conn, 0)
	if _, known := m.Node(greeting.Node); err == nil && !known {
		err = fmt.Errorf("node %s has no cluster map that names it", greeting.Node)
	}
	if err != nil {
		conn.Close()
		return encounter{}, fmt.Errorf("%s: %w", address, err)
	}
	c.metAt[address] = greeting.Node
	return encounter{conn, greeting.Node, m}, nil
}

// connect opens a connection to the node that is expected at address.
func (c *Client) connect(ctx context.Context, address, node string) (conn, error) {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.DialTimeout)
	defer cancel()
	conn, greeting, err := c.greetAt(ctx, address)
	if err != nil {
		return nil, err
	}
	if greeting.Node != node {
		conn.Close()
		return nil, op.Unavailable("%s: node %s answers where the cluster map has %s", address, greeting.Node, node)
	}
	if greeting.Epoch > c.table.Load().cluster.Epoch {
		c.refreshSoon()
	}
	return conn, nil
}

// greetAt opens a connection to address. A node of another cluster is refused.
func (c *Client) greetAt(ctx context.Context, address string) (conn, op.Greeting, error) {
	conn, err := c.dial(ctx, address)
	if err != nil {
		return nil, op.Greeting{}, op.Unavailable("%s: %v", address, err)
	}
	greeting, err := greet(ctx, conn, c.cluster)
	if err != nil {
		conn.Close()
		return nil, op.Greeting{}, op.Unavailable("%s: %v", address, err)
	}
	return conn, greeting, nil
}

func greet(ctx context.Context, c conn, cluster string) (op.Greeting, error) {
	var g op.Greeting
	res, err := c.Do(ctx, &op.Request{Op: op.Hello{Cluster: cluster}})
	if err != nil {
		return g, err
	}
	if res.Err != nil {
		return g, res.Err
	}
	if err := op.DecodeDetail(res.Detail, &g); err != nil {
		return g, fmt.Errorf("the greeting cannot be read: %w", err)
	}
	if cluster != "" && g.Cluster != cluster {
		return g, fmt.Errorf("it belongs to cluster %q, not to %q", g.Cluster, cluster)
	}
	return g, nil
}

// probe asks the node behind conn for a sign of life.
func (c *Client) probe(ctx context.Context, conn conn) error {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.DialTimeout)
	defer cancel()
	if _, err := greet(ctx, conn, c.cluster); err != nil {
		return op.Unavailable("the node shows no sign of life: %v", err)
	}
	return nil
}

// fetchMap returns the node's map if it is newer than epoch, else a zero one.
func fetchMap(ctx context.Context, c conn, epoch uint64) (placement.Map, error) {
	res, err := c.Do(ctx, &op.Request{Op: op.ClusterMap{Epoch: epoch}})
	if err != nil {
		return placement.Map{}, err
	}
	if res.Err != nil {
		return placement.Map{}, res.Err
	}
	return decodeMap(res.Detail)
}

func decodeMap(detail []byte) (m placement.Map, err error) {
	if len(detail) == 0 {
		return m, nil
	}
	if err := op.DecodeDetail(detail, &m); err != nil {
		return m, fmt.Errorf("the cluster map cannot be read: %w", err)
	}
	if err := m.Check(); err != nil {
		return m, fmt.Errorf("the cluster map is not valid: %w", err)
	}
	return m, nil
}
