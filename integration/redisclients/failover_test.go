package redisclients

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// TestFailover kills a node that leads while clients of several kinds put load on the
// cluster, one kind after the other.
func TestFailover(t *testing.T) {
	t.Parallel()
	d := start(t)
	for _, test := range []struct {
		name   string
		killed int // node
		open   func(retries int) redis.UniversalClient
	}{
		{"a pool at another node", 1, func(retries int) redis.UniversalClient {
			return redis.NewClient(&redis.Options{Addr: d.address(2), MaxRetries: retries})
		}},
		{"a pool that goes on at other nodes", 2, func(retries int) redis.UniversalClient {
			dialer := func(ctx context.Context, network, _ string) (net.Conn, error) { return d.dialAny(ctx, network, 2) }
			return redis.NewClient(&redis.Options{Addr: d.address(2), Dialer: dialer, MaxRetries: retries})
		}},
		{"a client in cluster mode that was given the node", 3, func(retries int) redis.UniversalClient {
			// It looks for new leaders once a minute unless it is told otherwise.
			return redis.NewClusterClient(&redis.ClusterOptions{
				Addrs: []string{d.address(3)}, ClusterStateReloadInterval: 200 * time.Millisecond, MaxRedirects: retries,
			})
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			d.allLead(t)
			l := newLoad(open(t, test.open(0)), open(t, test.open(-1)))
			l.start(t)
			eventually(t, "load runs", l.proceeds())
			d.kill(t, test.killed)
			killed := time.Now()
			eventually(t, "all is written again", l.proceeds())
			t.Logf("without errors after %v", time.Since(killed).Round(time.Millisecond))
			l.stop()
			l.check(t, d.linearizable(t, 1+test.killed%nodes))
		})
	}
}

// dialAny opens a connection to the first node that takes one, from first on.
func (d *dev) dialAny(ctx context.Context, network string, first int) (conn net.Conn, err error) {
	for i := range nodes {
		var dialer net.Dialer
		if conn, err = dialer.DialContext(ctx, network, d.address(1+(first-1+i)%nodes)); err == nil {
			return conn, nil
		}
	}
	return nil, err
}
