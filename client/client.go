package client

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/ringraft/ringraft/placement"
)

// Client talks to one cluster. Make it with New, share it, close it.
type Client struct {
	cfg       Config
	dial      dialer
	backoff   backoff
	cluster   string // id; set by New, before any pool exists
	ctx       context.Context
	stop      context.CancelFunc
	wg        sync.WaitGroup
	refreshes chan struct{}     // holds one request for a newer map
	metAt     map[string]string // by endpoint: the id of the node met there last; of New, then of refresh
	table     atomic.Pointer[table]
	spare     sync.Pool // of *attempts

	mu       sync.Mutex
	pools    map[string]*pool    // by node id; kept until Close, also for nodes that left
	accounts map[uint64]*account // by group; kept until Close
	closed   bool
}

// New asks the endpoints, one after another, for the cluster map, and returns a
// client of that cluster. If none answers, the error says why for each of them and
// matches ErrUnavailable; a configuration out of bounds, or a session token of another
// cluster, matches ErrRefused.
func New(ctx context.Context, cfg Config) (*Client, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	return open(ctx, cfg, transportDialer(cfg))
}

// open makes a client of a complete configuration, whose connections dial opens.
func open(ctx context.Context, cfg Config, dial dialer) (*Client, error) {
	c := &Client{
		cfg:       cfg,
		dial:      dial,
		backoff:   backoff{cfg.BackoffMin, cfg.BackoffMax},
		refreshes: make(chan struct{}, 1),
		metAt:     map[string]string{},
		pools:     map[string]*pool{},
		accounts:  map[uint64]*account{},
	}
	c.ctx, c.stop = context.WithCancel(context.Background())
	met, err := c.meetEndpoints(ctx)
	if err != nil {
		c.stop()
		return nil, err
	}
	c.cluster = met.cluster.Cluster
	c.install(met.cluster)
	c.pools[met.node].adopt(met.conn)
	c.table.Load().meta.led(c.pools[met.node]) // others may hang
	c.wg.Go(c.refresh)
	if cfg.SessionToken != "" {
		if err := c.AdoptToken(cfg.SessionToken); err != nil {
			c.Close()
			return nil, err
		}
	}
	return c, nil
}

// Close ends all calls under way, with ErrUnavailable or, for writes that may have
// been applied, ErrUnknownOutcome. It waits for the client's goroutines and may be
// called again.
func (c *Client) Close() error {
	c.mu.Lock()
	c.closed = true
	pools := c.pools
	c.mu.Unlock()
	c.stop()
	c.wg.Wait()
	for _, p := range pools {
		p.close()
	}
	return nil
}

// install makes m the map to route by, unless a newer one is in use.
func (c *Client) install(m placement.Map) {
	c.mu.Lock()
	defer c.mu.Unlock()
	old := c.table.Load()
	if c.closed || old != nil && m.Epoch <= old.cluster.Epoch {
		return
	}
	c.table.Store(newTable(m, old, c.poolOfLocked, c.accountLocked))
}

func (c *Client) poolOfLocked(n placement.Node) *pool {
	p := c.pools[n.ID]
	if p == nil {
		p = newPool(n.ID, n.Native, c.poolConfig())
		c.pools[n.ID] = p
	}
	p.moveTo(n.Native)
	return p
}

func (c *Client) poolConfig() poolConfig {
	return poolConfig{
		connect: c.connect,
		probe:   c.probe,
		failed:  c.refreshSoon,
		size:    c.cfg.ConnsPerNode,
		backoff: c.backoff,
	}
}
