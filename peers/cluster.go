package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"time"
)

const (
	loadTool = "load"

	readyWait  = 60 * time.Second       // for a system to serve
	readyPoll  = 200 * time.Millisecond // between looks
	loadSlack  = 10 * time.Minute       // that a load process may take over its own time: it puts keys first
	warmup     = time.Second            // of a load
	idleSettle = 3 * time.Second        // after a start, before idleness is measured
)

// cluster is a system that runs.
type cluster struct {
	lab      *lab
	nodes    []*process
	loader   string   // the tool that puts load on it
	loadArgs []string // that always go to the loader
	wire     *wire    // between the nodes; nil where they are all on loopback
	resp     string   // of Ringraft: where its first node speaks RESP
}

// await asks until there is no error.
func (c *cluster) await(ctx context.Context, ask func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, readyWait)
	defer cancel()
	for {
		err := ask(ctx)
		if err == nil {
			return nil
		}
		if !pause(ctx, readyPoll) {
			return errors.Join(fmt.Errorf("waiting: %w: %w", context.Cause(ctx), err), c.lab.lastWords())
		}
	}
}

// loadResult is what bench prints, as far as it is of use here. Times are in ms.
type loadResult struct {
	OpsPerS     float64 `json:"ops_per_s"`
	P50         float64 `json:"p50_ms"`
	P99         float64 `json:"p99_ms"`
	Max         float64 `json:"max_ms"`
	MaxGroupGap float64 `json:"max_group_gap_ms"`
	OK          int64   `json:"ok"`
	Errors      int64   `json:"errors"`
	Unknown     int64   `json:"unknown"`
	Unsent      int64   `json:"unsent"`
}

// load puts a load on the cluster for so long, by a process of its own.
func (c *cluster) load(ctx context.Context, duration, warmup time.Duration, args ...string) (loadResult, error) {
	ctx, cancel := context.WithTimeout(ctx, duration+warmup+loadSlack)
	defer cancel()
	all := append(append([]string{}, c.loadArgs...), "--duration", duration.String(), "--warmup", warmup.String())
	cmd := exec.CommandContext(ctx, c.lab.tools[c.loader].program, append(all, args...)...)
	var r loadResult
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return r, errors.Join(fmt.Errorf("the load: %w: %s", err, exit.Stderr), context.Cause(ctx), c.lab.lastWords())
	}
	if err != nil {
		return r, fmt.Errorf("the load: %w", err)
	}
	if err := json.Unmarshal(out, &r); err != nil {
		return r, fmt.Errorf("what the load printed: %w", err)
	}
	return r, nil
}

// usage sums up what the nodes have used.
func (c *cluster) usage() (sum usage, err error) {
	for _, p := range c.nodes {
		u, err := p.usage()
		if err != nil {
			return sum, err
		}
		sum.cpu += u.cpu
		sum.rss += u.rss
	}
	return sum, nil
}

// pause waits for d and reports whether ctx goes on.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
