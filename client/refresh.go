package client

import (
	"context"

	"github.com/ringraft/ringraft/placement"
)

// refreshSoon asks for a newer map. It does not wait.
func (c *Client) refreshSoon() {
	select {
	case c.refreshes <- struct{}{}:
	default:
	}
}

// refresh gets a newer map when one is asked for, at most once per BackoffMax.
func (c *Client) refresh() {
	failing := false
	for {
		select {
		case <-c.refreshes:
		case <-c.ctx.Done():
			return
		}
		err := c.refreshOnce()
		if err != nil && !failing && c.ctx.Err() == nil {
			c.cfg.Logger.Warn("the cluster map cannot be refreshed", "epoch", c.table.Load().cluster.Epoch, "err", err)
		}
		failing = err != nil
		c.sleep(c.ctx, c.cfg.BackoffMax)
	}
}

// refreshOnce asks all nodes that the map names for a newer one, until one has it. The
// endpoints are asked for the nodes that do not answer.
func (c *Client) refreshOnce() error {
	t := c.table.Load()
	answered := false
	for _, p := range t.meta.replicas {
		m, err := c.askForMap(p, t.cluster.Epoch)
		if err != nil {
			continue
		}
		answered = true
		if m.Epoch > t.cluster.Epoch && m.Cluster == c.cluster {
			c.install(m)
			return nil
		}
	}
	if answered {
		c.seekAtEndpoints(t)
		return nil
	}
	return c.returnToEndpoints()
}

func (c *Client) askForMap(p *pool, epoch uint64) (placement.Map, error) {
	ctx, cancel := context.WithTimeout(c.ctx, c.cfg.DialTimeout)
	defer cancel()
	conn, err := p.take(ctx)
	if err != nil {
		return placement.Map{}, err
	}
	return fetchMap(ctx, conn, epoch)
}

func (c *Client) returnToEndpoints() error {
	met, err := c.meetEndpoints(c.ctx)
	if err == nil {
		c.welcome(met)
	}
	return err
}

// seekAtEndpoints looks for nodes that are not reached at the addresses that the map
// tells: those may be of no use from here. It passes over endpoints that the map tells
// too, and those that lead to a node that is connected.
func (c *Client) seekAtEndpoints(t *table) {
	if !t.lacksNode() {
		return
	}
	for _, address := range c.cfg.Endpoints {
		if p := t.nodes[c.metAt[address]]; t.tells(address) || p != nil && p.connected() {
			continue
		}
		if met, err := c.meet(c.ctx, address); err == nil { // if not, the pool's error stands
			c.welcome(met)
		}
	}
}

// welcome takes over the map of a node that was met, and the connection to it.
func (c *Client) welcome(met encounter) {
	c.install(met.cluster)
	if p := c.table.Load().nodes[met.node]; p != nil {
		p.adopt(met.conn)
		return
	}
	met.conn.Close()
}
