package client

import (
	"github.com/ringraft/ringraft/internal/sealed"
	"github.com/ringraft/ringraft/op"
)

// TokenPrefix is what every session token starts with.
const TokenPrefix = sealed.TokenPrefix

// maxToken bounds the text of a session token, in bytes: thousands of groups.
const maxToken = 1 << 20

// SessionToken returns, as text that starts with TokenPrefix, what this client has seen
// of the cluster. A client that adopts it, in whatever process, sees at least as much at the level Session.
func (c *Client) SessionToken() string {
	token := sealed.Token{Cluster: c.cluster}
	c.mu.Lock()
	for group, a := range c.accounts {
		if index := a.seen.Load(); index > 0 {
			token.Seen = append(token.Seen, op.GroupIndex{Group: group, Index: index})
		}
	}
	c.mu.Unlock()
	return token.String()
}

// AdoptToken makes this client's reads at the level Session show at least what the
// client that gave the token out had seen. A text that is no token, or one of another
// cluster, is refused; so is, with the field bound, a read that is to show what the
// cluster has never had, as before a restore.
func (c *Client) AdoptToken(token string) error {
	body, invalid := sealed.ParseToken(token, c.cluster, maxToken)
	if invalid != nil {
		return invalid
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, seen := range body.Seen {
		if _, known := c.table.Load().cluster.Group(seen.Group); !known {
			return op.Invalid("session token", "names group %d, which the cluster does not have", seen.Group)
		}
	}
	for _, seen := range body.Seen {
		c.accountLocked(seen.Group).see(seen.Index)
	}
	return nil
}
