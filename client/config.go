package client

import (
	"context"
	"log/slog"
	"net"
	"time"

	"github.com/ringraft/ringraft/op"
)

// Config says how to reach a cluster. Only Endpoints must be set.
type Config struct {
	// Endpoints are addresses, host:port, of any nodes of the cluster. They are
	// asked for the cluster map in this order: by New, and when no node that the
	// map names answers any more. A node that cannot be reached at the address that
	// the map tells is looked for at the endpoints: where the map's addresses are of
	// no use from here, name every node. Names are resolved at every attempt.
	Endpoints []string
	// DialTimeout bounds one attempt to reach a node, its greeting included, and
	// how long a node may owe any sign of life. 0 is 2 s.
	DialTimeout time.Duration
	// RequestTimeout bounds a call whose context has no deadline. 0 is 5 s.
	RequestTimeout time.Duration
	// AttemptTimeout bounds how long the first node asked may take over a call that can
	// be repeated: then others are asked, even if they name it, and it is not for as long
	// again. The second node has the same time, and further ones twice that of the one
	// before. 0 is 500 ms.
	AttemptTimeout time.Duration
	// SessionTTL is how long the cluster keeps the answers to this client's writes, so
	// that it can repeat them without doing them again, when no write of it comes. It
	// lies between op.MinSessionTTL and op.MaxSessionTTL ms. 0 is 5 min.
	SessionTTL time.Duration
	// SessionToken, unless it is empty, is adopted at once: see Client.AdoptToken.
	SessionToken string
	// ConnsPerNode is the most connections to one node, 1 to 64. 0 is 2.
	ConnsPerNode int
	// BackoffMin and BackoffMax bound the pauses between attempts: the n-th is a
	// random part of BackoffMin × 2ⁿ, at most of BackoffMax. 0 is 5 ms and 250 ms.
	BackoffMin, BackoffMax time.Duration
	// Logger takes what no call reports: that refreshing the map failed, in the
	// background. nil discards it.
	Logger *slog.Logger
	// Dial opens a connection to a node's address, which it resolves. nil is the
	// DialContext of a net.Dialer.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// withDefaults returns the configuration in which every field has its value, or
// an error that names the field that is out of bounds.
func (c Config) withDefaults() (Config, error) {
	if len(c.Endpoints) == 0 {
		return c, op.Invalid("Endpoints", "is empty; at least one host:port is needed")
	}
	for _, e := range c.Endpoints {
		if _, _, err := net.SplitHostPort(e); err != nil {
			return c, op.Invalid("Endpoints", "%q is no host:port: %v", e, err)
		}
	}
	for _, d := range []struct {
		field string
		value *time.Duration
		unset time.Duration
	}{
		{"DialTimeout", &c.DialTimeout, 2 * time.Second},
		{"RequestTimeout", &c.RequestTimeout, 5 * time.Second},
		{"AttemptTimeout", &c.AttemptTimeout, 500 * time.Millisecond},
		{"SessionTTL", &c.SessionTTL, 5 * time.Minute},
		{"BackoffMin", &c.BackoffMin, 5 * time.Millisecond},
		{"BackoffMax", &c.BackoffMax, 250 * time.Millisecond},
	} {
		if *d.value < 0 {
			return c, op.Invalid(d.field, "is %v; it cannot be negative", *d.value)
		}
		if *d.value == 0 {
			*d.value = d.unset
		}
	}
	if ttl := c.SessionTTL.Milliseconds(); ttl < op.MinSessionTTL || ttl > op.MaxSessionTTL {
		return c, op.Invalid("SessionTTL", "is %v; it lies between %v and %v", c.SessionTTL,
			op.MinSessionTTL*time.Millisecond, op.MaxSessionTTL*time.Millisecond)
	}
	if c.BackoffMax < c.BackoffMin {
		return c, op.Invalid("BackoffMax", "is %v, less than BackoffMin, %v", c.BackoffMax, c.BackoffMin)
	}
	if c.ConnsPerNode == 0 {
		c.ConnsPerNode = 2
	}
	if c.ConnsPerNode < 1 || c.ConnsPerNode > 64 {
		return c, op.Invalid("ConnsPerNode", "is %d; it must lie between 1 and 64", c.ConnsPerNode)
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c, nil
}
