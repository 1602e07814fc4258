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

// refreshOnce asks all nodes that the map names for a newer one, until one has it,
// and the endpoints if no node answers.
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
		return nil
	}
	return c.returnToEndpoints()
}

func (c *Client) askForMap(p *pool, epoch uint64) (placement.Map, error) {
	ctx, cancel := context.WithTimeout(c.ctx, c.cfg.DialTimeout)
	defer cancel()
	link, err := p.take(ctx)
	if err != nil {
		return placement.Map{}, err
	}
	return fetchMap(ctx, link, epoch)
}

func (c *Client) returnToEndpoints() error {
	met, err := c.meetEndpoints(c.ctx)
	if err != nil {
		return err
	}
	c.install(met.cluster)
	if p := c.table.Load().nodes[met.node]; p != nil {
		p.adopt(met.conn)
		return nil
	}
	return met.conn.Close()
}
