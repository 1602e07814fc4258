package storage

import (
	"sync"
	"sync/atomic"

	"github.com/hashicorp/raft"
)

// entryOverhead is what a cached entry costs beside its bytes. It also bounds the
// number of entries.
const entryOverhead = 128

// cacheShares divides the memory for cached entries equally among a node's open logs.
type cacheShares struct {
	total int // bytes
	open  atomic.Int64
}

func (s *cacheShares) each() int { return s.total / int(s.open.Load()) }

// cachedLogs keeps the newest entries of a log in memory, up to its share of bytes:
// Raft reads each of them back to send and to apply it. Data is shared with the
// readers, who must not change it. A share that became smaller is kept to from the next
// entry on.
type cachedLogs struct {
	logStore
	shares *cacheShares

	mu      sync.RWMutex
	entries []raft.Log // contiguous; the last one is the log's last, or there is none
	bytes   int
}

func newCachedLogs(logs logStore, shares *cacheShares) *cachedLogs {
	shares.open.Add(1)
	return &cachedLogs{logStore: logs, shares: shares}
}

// Close gives the share back. It must be called once, and leaves the log open.
func (c *cachedLogs) Close() error {
	c.shares.open.Add(-1)
	return nil
}

func (c *cachedLogs) GetLog(index uint64, entry *raft.Log) error {
	if c.lookup(index, entry) {
		return nil
	}
	return c.logStore.GetLog(index, entry)
}

func (c *cachedLogs) lookup(index uint64, entry *raft.Log) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	// An index below the first wraps round to a large number.
	if len(c.entries) == 0 || index-c.entries[0].Index >= uint64(len(c.entries)) {
		return false
	}
	*entry = c.entries[index-c.entries[0].Index]
	return true
}

func (c *cachedLogs) StoreLog(entry *raft.Log) error { return c.StoreLogs([]*raft.Log{entry}) }

// StoreLogs caches only what the log has taken.
func (c *cachedLogs) StoreLogs(entries []*raft.Log) error {
	if err := c.logStore.StoreLogs(entries); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range entries {
		c.append(e)
	}
	c.evict()
	return nil
}

// append copies the entry: Raft's pointer keeps the future of the proposal alive.
func (c *cachedLogs) append(e *raft.Log) {
	if n := len(c.entries); n > 0 && e.Index != c.entries[n-1].Index+1 {
		c.keep(0, 0)
	}
	c.entries = append(c.entries, *e)
	c.bytes += cost(e)
}

func (c *cachedLogs) evict() {
	from, bytes, limit := 0, c.bytes, c.shares.each()
	for ; bytes > limit; from++ {
		bytes -= cost(&c.entries[from])
	}
	c.keep(from, len(c.entries))
}

// DeleteRange forgets first, so that nothing deleted is ever found here.
func (c *cachedLogs) DeleteRange(min, max uint64) error {
	c.forget(min, max)
	return c.logStore.DeleteRange(min, max)
}

func (c *cachedLogs) forget(min, max uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := len(c.entries)
	if n == 0 {
		return
	}
	first, last := c.entries[0].Index, c.entries[n-1].Index
	switch {
	case min > max || max < first || min > last:
	case min <= first && max >= last:
		c.keep(0, 0)
	case max >= last:
		c.keep(0, int(min-first))
	case min <= first:
		c.keep(int(max+1-first), n)
	default:
		c.keep(0, 0)
	}
}

// keep drops all entries but [from, to), and lets their memory go.
func (c *cachedLogs) keep(from, to int) {
	for _, dropped := range [][]raft.Log{c.entries[:from], c.entries[to:]} {
		for i := range dropped {
			c.bytes -= cost(&dropped[i])
		}
		clear(dropped)
	}
	c.entries = c.entries[from:to]
}

func cost(e *raft.Log) int { return len(e.Data) + len(e.Extensions) + entryOverhead }
