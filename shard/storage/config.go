package storage

import (
	"errors"
	"fmt"
	"log/slog"
	"time"
)

const (
	defaultStallAfter   = 10 * time.Second
	defaultCacheBytes   = 16 << 20
	defaultSegmentBytes = 16 << 20
	defaultMinFree      = 64 << 20
	minSegmentBytes     = 4 << 10
	maxSegmentBytes     = 1 << 30
)

// Config says how a node's storage is opened. Only Node is required.
type Config struct {
	Node   string       // the node's id, written into a fresh directory
	Logger *slog.Logger // nil: nothing is logged

	// StallAfter is how long a write may take before it counts as stalled, 0 for
	// 10 s. OnStall is then called, once per write, from a goroutine of its own,
	// with what is being written and since when. The write itself is never given
	// up: it may land later. OnStall must not wait for Close, which waits for it.
	StallAfter time.Duration
	OnStall    func(what string, since time.Time)

	// Log is the kind of the replicas' logs; "" for the one that the directory has, and
	// LogShared in a fresh one.
	Log LogKind
	// CacheBytes bounds the recent log entries that are held in memory, bookkeeping
	// included; 0 for 16 MiB. Each open replica has an equal share.
	CacheBytes int
	// SegmentBytes is the size of the files of a log, allocated in advance, 4 KiB to
	// 1 GiB; 0 for 16 MiB. A larger entry makes a larger file. LogBolt has none.
	SegmentBytes int

	// MinFree is how many bytes must be free on the disk for Full to return nil; 0
	// for 64 MiB.
	MinFree int64
}

// withDefaults returns c with the zero values replaced.
func (c Config) withDefaults() (Config, error) {
	if c.Node == "" {
		return c, errors.New("storage: the node id is empty")
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.StallAfter == 0 {
		c.StallAfter = defaultStallAfter
	}
	if c.OnStall == nil {
		c.OnStall = func(string, time.Time) {}
	}
	if c.CacheBytes == 0 {
		c.CacheBytes = defaultCacheBytes
	}
	if c.SegmentBytes == 0 {
		c.SegmentBytes = defaultSegmentBytes
	}
	if c.MinFree == 0 {
		c.MinFree = defaultMinFree
	}
	switch {
	case c.Log != "" && !c.Log.known():
		return c, fmt.Errorf("storage: Log is %q; it is one of %q", c.Log, LogKinds())
	case c.StallAfter < 0:
		return c, fmt.Errorf("storage: StallAfter is %v; it must be positive", c.StallAfter)
	case c.CacheBytes < 0:
		return c, fmt.Errorf("storage: CacheBytes is %d; it must be positive", c.CacheBytes)
	case c.MinFree < 0:
		return c, fmt.Errorf("storage: MinFree is %d; it must be positive", c.MinFree)
	case c.SegmentBytes < minSegmentBytes || c.SegmentBytes > maxSegmentBytes:
		return c, fmt.Errorf("storage: SegmentBytes is %d; it must lie between %d and %d", c.SegmentBytes, minSegmentBytes, maxSegmentBytes)
	}
	return c, nil
}
