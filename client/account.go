package client

import (
	"sync/atomic"

	"github.com/ringraft/ringraft/internal/session"
)

// account is where the client stands with a group. It outlives cluster maps.
type account struct {
	group    uint64
	sessions session.Pool
	seen     atomic.Uint64 // the newest log index that an answer has shown
}

// see notes that an answer has shown the log index.
func (a *account) see(index uint64) {
	for {
		seen := a.seen.Load()
		if index <= seen || a.seen.CompareAndSwap(seen, index) {
			return
		}
	}
}

// accountLocked returns the account with a group, a new one if there is none.
func (c *Client) accountLocked(group uint64) *account {
	a := c.accounts[group]
	if a == nil {
		a = &account{group: group}
		c.accounts[group] = a
	}
	return a
}
