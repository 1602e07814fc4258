package client

import (
	"cmp"
	"slices"

	"github.com/ringraft/ringraft/op"
)

// TokenPrefix is what every session token starts with.
const TokenPrefix = "ringraft-session."

// maxToken bounds the text of a session token, in bytes: thousands of groups.
const maxToken = 1 << 20

// tokenBody is what a session token says.
type tokenBody struct {
	Cluster string       `codec:"cluster"`
	Seen    []groupIndex `codec:"seen"`
}

// groupIndex is the newest log index of a group that a client has seen.
type groupIndex struct {
	Group uint64 `codec:"group"`
	Index uint64 `codec:"index"`
}

// SessionToken returns, as text that starts with TokenPrefix, what this client has seen
// of the cluster. A client that adopts it, in whatever process, sees at least as much at the level Session.
func (c *Client) SessionToken() string {
	body := tokenBody{Cluster: c.cluster}
	c.mu.Lock()
	for group, a := range c.accounts {
		if index := a.seen.Load(); index > 0 {
			body.Seen = append(body.Seen, groupIndex{group, index})
		}
	}
	c.mu.Unlock()
	slices.SortFunc(body.Seen, func(a, b groupIndex) int { return cmp.Compare(a.Group, b.Group) })
	return seal(TokenPrefix, body)
}

// AdoptToken makes this client's reads at the level Session show at least what the
// client that gave the token out had seen. A text that is no token, or one of another
// cluster, is refused; so is, with the field bound, a read that is to show what the
// cluster has never had, as before a restore.
func (c *Client) AdoptToken(token string) error {
	var body tokenBody
	if err := unseal("session token", TokenPrefix, token, maxToken, &body); err != nil {
		return err
	}
	if body.Cluster != c.cluster {
		return op.Invalid("session token", "is of cluster %q; this one is %q", body.Cluster, c.cluster)
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
