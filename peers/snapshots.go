package main

import (
	"context"
	"errors"
	"fmt"
	"math"
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
	snapshotsBound = 3 * time.Minute // for all groups of all nodes to finish one

	closedCase = snapshotClients + " clients"
	openCase   = closedCase + ", half the rate"
)

// startFilled starts a cluster with as many records as the flags say.
func startFilled(ctx context.Context, l *lab) (*cluster, error) {
	c, err := startRingraft(4, false)(ctx, l)
	if err != nil {
		return nil, err
	}
	if _, err := c.ask(ctx, "cluster", "config", "set", "max-bytes", snapshotLimit); err != nil {
		return nil, err
	}
	_, err = c.load(ctx, time.Second, 0, append(records(c), "--op", "get", "--read", "local")...) // it puts the keys first
	return c, err
}

func records(c *cluster) []string {
	return []string{"--keys", strconv.Itoa(c.lab.entries), "--value-size", snapshotValue}
}

func snapshotLoads() []measure {
	units := []string{p99 + " before", p99 + " beside", ratioOfP99, opsPerS + " before", opsPerS + " beside", "max ms beside", seconds, entries}
	return []measure{
		{closedCase, units, besideSnapshots},
		{openCase, append(slices.Clone(units), ofRate, answered), besideSnapshotsAtRate},
	}
}

// besideSnapshots compares the p99 of writes while all nodes write snapshots of all groups,
// all at once, with that of the same writes before.
func besideSnapshots(ctx context.Context, c *cluster) ([]reading, error) {
	_, _, readings, err := c.compareBesideSnapshots(ctx)
	return readings, err
}

// besideSnapshotsAtRate does the same with an open loop, at half of what a closed one makes.
func besideSnapshotsAtRate(ctx context.Context, c *cluster) ([]reading, error) {
	most, err := c.load(ctx, c.lab.duration, warmup, snapshotWrites(c)...)
	if err != nil {
		return nil, err
	}
	rate := math.Max(1, math.Round(most.OpsPerS/2))
	before, beside, readings, err := c.compareBesideSnapshots(ctx, "--rate", fmt.Sprintf("%.0f", rate))
	return append(readings,
		beside.read(ofRate, 100*min(before.OpsPerS, beside.OpsPerS)/rate),
		beside.read(answered, min(before.answered(), beside.answered())),
	), err
}

func snapshotWrites(c *cluster) []string {
	return append(records(c), "--op", "set", "--clients", snapshotClients)
}

func (c *cluster) compareBesideSnapshots(ctx context.Context, more ...string) (usual, beside loadResult, readings []reading, err error) {
	if err := c.snapshotsWritten(ctx); err != nil {
		return usual, beside, nil, err
	}
	writes := append(snapshotWrites(c), more...)
	before := c.snapshots()
	if usual, err = c.load(ctx, c.lab.duration, warmup, writes...); err != nil {
		return usual, beside, nil, err
	}
	if after := c.snapshots(); !slices.Equal(before, after) {
		return usual, beside, nil, fmt.Errorf("a snapshot was taken of %d records by itself: measure for less time", c.lab.entries)
	}
	if beside, err = c.loadBesideSnapshots(ctx, writes); err != nil {
		return usual, beside, nil, err
	}
	return usual, beside, []reading{
		usual.read(p99+" before", usual.P99), beside.read(p99+" beside", beside.P99), beside.read(ratioOfP99, beside.P99/usual.P99),
		usual.read(opsPerS+" before", usual.OpsPerS), beside.read(opsPerS+" beside", beside.OpsPerS), beside.read("max ms beside", beside.Max),
		beside.read(seconds, beside.Seconds), beside.read(entries, float64(c.lab.entries)),
	}, nil
}

// loadBesideSnapshots puts the load on until every group of every node has finished a
// snapshot that began meanwhile.
func (c *cluster) loadBesideSnapshots(ctx context.Context, writes []string) (r loadResult, err error) {
	end, ended := make(chan struct{}), make(chan struct{})
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	go func() { // ends with the load, whose time is bounded
		defer close(ended)
		r, err = c.loadUntil(ctx, end, 2*snapshotsBound, warmup, writes...)
		stop(err)
	}()
	pause(ctx, warmup+snapshotEvery/2) // the measurement has begun then
	before := c.snapshots()
	failed := orderSnapshots(ctx, c.lab.duration, c.orderSnapshots, func() []string { return c.withoutSnapshot(before) })
	close(end)
	<-ended
	return r, errors.Join(err, failed)
}

// orderSnapshots orders some again and again, for so long and until none is missing: a node
// begins none of a group while it writes the one before.
func orderSnapshots(ctx context.Context, least time.Duration, order func() error, missing func() []string) error {
	for start := time.Now(); ; {
		if err := order(); err != nil {
			return err
		}
		if !pause(ctx, snapshotEvery) {
			return context.Cause(ctx)
		}
		left, took := missing(), time.Since(start)
		switch {
		case len(left) == 0 && took >= least:
			return nil
		case took >= max(least, snapshotsBound):
			return fmt.Errorf("no snapshot was finished within %v by %s", took.Round(time.Second), strings.Join(left, ", "))
		}
	}
}

func (c *cluster) orderSnapshots() error {
	for _, n := range c.nodes {
		if err := n.signal(syscall.SIGUSR1); err != nil {
			return err
		}
	}
	return nil
}

// withoutSnapshot returns the replicas that have finished none but those that were there
// before, finished or not. The meta group, 0, takes none on demand.
func (c *cluster) withoutSnapshot(before []string) (missing []string) {
	for _, n := range c.nodes {
		replicas, _ := filepath.Glob(filepath.Join(n.dir, "data", "groups", "[1-9]*", "snapshots")) // the pattern is a good one
		for _, dir := range replicas {
			files, _ := os.ReadDir(dir) // one that cannot be read has none
			if !slices.ContainsFunc(files, func(f os.DirEntry) bool {
				path := filepath.Join(dir, f.Name())
				return !strings.HasSuffix(path, unfinishedEnd) && !slices.Contains(before, path) && !slices.Contains(before, path+unfinishedEnd)
			}) {
				missing = append(missing, n.name+" of "+filepath.Base(filepath.Dir(dir)))
			}
		}
	}
	return missing
}

// snapshotsWritten has all nodes take snapshots, so that none is due soon, and waits until
// they are written.
func (c *cluster) snapshotsWritten(ctx context.Context) error {
	if err := c.orderSnapshots(); err != nil {
		return err
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

const unfinishedEnd = ".tmp"

func unfinished(snapshot string) bool {
	return strings.HasSuffix(snapshot, unfinishedEnd) && exists(snapshot)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
