package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Records of 152 bytes: a key has about 13.
const (
	snapshotValue   = "139"
	snapshotClients = "256"
	snapshotLimit   = "16GiB" // of a group, so that nothing is evicted

	snapshotEvery  = time.Second // between orders to take one
	snapshotsWait  = 5 * time.Minute
	snapshotSettle = 2 * time.Second // for the disk, and for a snapshot just ordered to begin
)

// besideSnapshots fills the cluster and compares the p99 of writes while all nodes write
// snapshots of all groups, again and again, with that of the same writes before.
func besideSnapshots(ctx context.Context, c *cluster) ([]reading, error) {
	if _, err := c.ask(ctx, "cluster", "config", "set", "max-bytes", snapshotLimit); err != nil {
		return nil, err
	}
	keys := []string{"--keys", strconv.Itoa(c.lab.entries), "--value-size", snapshotValue}
	if _, err := c.load(ctx, time.Second, 0, append(keys, "--op", "get", "--read", "local")...); err != nil { // it puts the keys first
		return nil, err
	}
	if err := c.snapshotsWritten(ctx); err != nil {
		return nil, err
	}
	writes := append(keys, "--op", "set", "--clients", snapshotClients)
	before := c.snapshots()
	usual, err := c.load(ctx, c.lab.duration, warmup, writes...)
	if err != nil {
		return nil, err
	}
	if after := c.snapshots(); !slices.Equal(before, after) {
		return nil, fmt.Errorf("a snapshot was taken of %d records by itself: measure for less time", c.lab.entries)
	}
	beside, err := c.loadBesideSnapshots(ctx, writes)
	if err != nil {
		return nil, err
	}
	taken := 0
	for _, s := range c.snapshots() {
		if !slices.Contains(before, s) {
			taken++
		}
	}
	if taken == 0 {
		return nil, fmt.Errorf("no snapshot was taken")
	}
	return []reading{
		{p99 + " before", usual.P99}, {p99 + " beside", beside.P99}, {ratioOfP99, beside.P99 / usual.P99},
		{opsPerS + " before", usual.OpsPerS}, {opsPerS + " beside", beside.OpsPerS}, {"max ms beside", beside.Max},
	}, nil
}

// loadBesideSnapshots orders snapshots while it puts the load on. A node does not begin one
// while it writes the one before.
func (c *cluster) loadBesideSnapshots(ctx context.Context, writes []string) (r loadResult, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan struct{})
	go func() { // ends with the load, whose time is bounded
		defer close(ended)
		r, err = c.load(ctx, c.lab.duration, warmup, writes...)
	}()
	for {
		for _, n := range c.nodes {
			if err := n.signal(syscall.SIGUSR1); err != nil {
				cancel()
				<-ended
				return r, err
			}
		}
		select {
		case <-ended:
			return r, err
		case <-time.After(snapshotEvery):
		}
	}
}

// snapshotsWritten has all nodes take snapshots, so that none is due soon, and waits until
// they are written.
func (c *cluster) snapshotsWritten(ctx context.Context) error {
	for _, n := range c.nodes {
		if err := n.signal(syscall.SIGUSR1); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, snapshotsWait)
	defer cancel()
	for pause(ctx, snapshotSettle) {
		if !slices.ContainsFunc(c.snapshots(), unfinished) {
			return nil
		}
	}
	return fmt.Errorf("waiting for snapshots: %w", ctx.Err())
}

// snapshots are those on the nodes' disks, finished or not.
func (c *cluster) snapshots() (all []string) {
	for _, n := range c.nodes {
		found, _ := filepath.Glob(filepath.Join(n.dir, "data", "groups", "*", "snapshots", "*")) // the pattern is a good one
		all = append(all, found...)
	}
	return all
}

func unfinished(snapshot string) bool {
	return strings.HasSuffix(snapshot, ".tmp") && exists(snapshot)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
