package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"time"
)

const (
	loadTool   = "load"
	exitFailed = 1 // of a load that was interrupted

	readyWait  = 60 * time.Second       // for a system to serve
	readyPoll  = 200 * time.Millisecond // between looks
	loadSlack  = 10 * time.Minute       // that a load process may take over its own time: it puts keys first
	warmup     = time.Second            // of a load
	idleSettle = 3 * time.Second        // after a start, before idleness is measured
	idleLeast  = 30 * time.Second       // that it is measured for: what a node does now and then counts

	shortestLook = 100 * time.Millisecond // between looks at how busy the machine is
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
	Seconds     float64 `json:"seconds"`
	OK          int64   `json:"ok"`
	Errors      int64   `json:"errors"`
	Unknown     int64   `json:"unknown"`
	Unsent      int64   `json:"unsent"`

	busy *busy // while it was measured
}

// read is what was read of the load.
func (r loadResult) read(unit string, value float64) reading { return reading{unit, value, r.busy} }

// answered returns the percentage of requests that were.
func (r loadResult) answered() float64 {
	return 100 * float64(r.OK) / float64(max(1, r.OK+r.Errors+r.Unknown+r.Unsent))
}

// load puts a load on the cluster for so long, by a process of its own.
func (c *cluster) load(ctx context.Context, duration, warmup time.Duration, args ...string) (loadResult, error) {
	return c.loadUntil(ctx, nil, duration, warmup, args...)
}

// loadUntil does the same, and interrupts the load when end is closed.
func (c *cluster) loadUntil(ctx context.Context, end <-chan struct{}, duration, warmup time.Duration, args ...string) (r loadResult, err error) {
	ctx, cancel := context.WithTimeout(ctx, duration+warmup+loadSlack)
	defer cancel()
	all := slices.Concat(c.loadArgs, []string{"--duration", duration.String(), "--warmup", warmup.String()}, args)
	cmd := exec.CommandContext(ctx, c.lab.tools[c.loader].program, all...)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Start(); err != nil {
		return r, fmt.Errorf("the load: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }() // ends with the process, which ends with ctx
	tick := time.NewTicker(max(shortestLook, duration/1000))
	defer tick.Stop()
	var w watch
	for interrupted, running := false, true; running; {
		w.look()
		select {
		case err = <-ended:
			running = false
			if interrupted && cmd.ProcessState.ExitCode() == exitFailed {
				err = nil // what it had measured by then is printed
			}
		case <-end:
			end, interrupted = nil, true
			_ = cmd.Process.Signal(os.Interrupt) // it fails only for one that has ended
		case <-tick.C:
		}
	}
	if err != nil {
		return r, errors.Join(fmt.Errorf("the load: %w: %s", err, said.Bytes()), context.Cause(ctx), c.lab.lastWords())
	}
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		return r, fmt.Errorf("what the load printed: %w", err)
	}
	w.look()
	r.busy = w.last(time.Duration(r.Seconds * float64(time.Second)))
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
