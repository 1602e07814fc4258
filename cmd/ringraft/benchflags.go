package main

import (
	"context"
	"math"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/ringraft/ringraft/bench"
	"github.com/ringraft/ringraft/client"
)

const (
	opSet   = "set"
	opGet   = "get"
	opMixed = "mixed"

	maxRate     = 10_000_000 // requests/s
	maxBacklog  = 10_000_000 // requests
	maxRequests = math.MaxInt64 / 2
	longestRun  = 24 * time.Hour
	defaultRun  = 10 * time.Second // that no flag bounds
)

func benchFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "op", Usage: "`OPERATION`: set, get or mixed", Value: opSet},
		&cli.StringFlag{Name: "reads", Usage: "`PERCENT` of the operations that read, such as 90%; it means --op mixed", DefaultText: "50% of mixed"},
		&cli.IntFlag{Name: "clients", Usage: "`NUMBER` of clients, 1 to 65536", Value: 64},
		&cli.IntFlag{Name: "pipeline", Usage: "`NUMBER` of requests that each client has under way, 1 to 1024", Value: 1},
		&cli.IntFlag{Name: "connections", Usage: "`NUMBER` of connections to each node that all clients share, 1 to 64", Value: 2},
		&cli.Float64Flag{Name: "rate", Usage: "`REQUESTS` per second that are due, in an open loop", DefaultText: "a closed loop"},
		&cli.IntFlag{Name: "backlog", Usage: "`REQUESTS` of an open loop that may be due and wait for a client", DefaultText: "a second's"},
		&cli.IntFlag{Name: "keys", Usage: "`NUMBER` of keys, 1 to 100000000", Value: 100_000},
		&cli.BoolFlag{Name: "no-fill", Usage: "do not put the keys before reading them"},
		&cli.Float64Flag{Name: "zipf", Usage: "`EXPONENT` of the distribution of keys, 0 to 5: 0 for all alike, 0.99 as caches often see"},
		&cli.StringFlag{Name: "value-size", Usage: "`BYTES` of a value: a length, a range as 64-1024, or a list with weights as 100:9,4096:1", Value: "128"},
		&cli.StringFlag{Name: "ttl", Usage: "`TIME` to live of what is written, at least 1ms", DefaultText: "for ever"},
		&cli.DurationFlag{Name: "duration", Usage: "`TIME` to measure for", Value: defaultRun},
		&cli.Int64Flag{Name: "requests", Usage: "`NUMBER` of requests to end after; without --duration, only then", DefaultText: "no limit"},
		&cli.DurationFlag{Name: "warmup", Usage: "`TIME` to run for before measuring", Value: 2 * time.Second},
		&cli.BoolFlag{Name: "wire", Usage: "speak the native protocol over a connection per client"},
		&cli.StringFlag{Name: "resp", Usage: "measure the RESP server at `HOST:PORT,…`, such as Redis, in place of the cluster"},
		&cli.IntFlag{Name: "resp-wait", Usage: "`NUMBER` of replicas that WAIT is to see before a write counts as answered, 0 to 64"},
		&cli.StringFlag{Name: "report", Usage: "write a page of HTML with throughput and latency over time to `FILE`"},
	}
}

// The names of what a load is put on, as the result tells them.
const (
	onCluster = "cluster"
	onWire    = "wire"
	onRESP    = "resp"
)

// benchRun is what the flags describe.
type benchRun struct {
	load      bench.Load // its Store is set by connect
	warmup    time.Duration
	described bench.Description
	level     client.Level
	ttl       time.Duration
	fill      bool        // put the keys first
	filler    bench.Store // that they are put to; set by connect
}

// newBenchRun reads the flags.
func newBenchRun(c *cli.Context) (*benchRun, error) {
	b := &benchRun{warmup: c.Duration("warmup")}
	for _, err := range []error{
		within("clients", c.Int("clients"), 1, bench.MaxCallers),
		within("pipeline", c.Int("pipeline"), 1, bench.MaxBatch),
		within("connections", c.Int("connections"), 1, 64),
		within("keys", c.Int("keys"), 1, bench.MaxKeys),
		within("duration", c.Duration("duration"), 10*time.Millisecond, longestRun),
		within("warmup", b.warmup, 0, time.Hour),
		within("resp-wait", c.Int("resp-wait"), 0, 64),
		within("timeout", c.Duration("timeout"), minTimeout, maxTimeout),
		b.readTarget(c), b.readWork(c), b.readPace(c),
	} {
		if err != nil {
			return nil, err
		}
	}
	return b, nil
}

// readTarget reads what the load is put on, and refuses what does not fit to it.
func (b *benchRun) readTarget(c *cli.Context) error {
	d := &b.described
	d.Target, d.Clients, d.Pipeline, d.Wait = onCluster, c.Int("clients"), c.Int("pipeline"), c.Int("resp-wait")
	b.load.Callers, b.load.Batch = d.Clients, d.Pipeline
	switch {
	case c.Bool("wire") && c.IsSet("resp"):
		return usagef("--wire and --resp exclude each other")
	case c.Bool("wire"):
		d.Target = onWire
	case c.IsSet("resp"):
		d.Target = onRESP
	default:
		b.load.Callers, b.load.Batch = d.Clients*d.Pipeline, 1
	}
	switch {
	case b.load.Callers > bench.MaxCallers:
		return usagef("--clients times --pipeline is %d; it must be at most %d", b.load.Callers, bench.MaxCallers)
	case d.Target != onCluster && c.IsSet("connections"):
		return usagef("--connections is for the cluster's client; with --wire and --resp each client has a connection")
	case d.Target != onRESP && c.IsSet("resp-wait"):
		return usagef("--resp-wait is for --resp")
	case d.Target == onRESP && c.IsSet("read"):
		return usagef("--read is for a cluster; a RESP server has no read levels")
	}
	return nil
}

// readWork reads what is asked.
func (b *benchRun) readWork(c *cli.Context) error {
	reads, err := readShare(c)
	if err != nil {
		return err
	}
	keys, err := bench.NewKeys(c.Int("keys"), c.Float64("zipf"))
	if err != nil {
		return usagef("--zipf: %w", err)
	}
	sizes, err := bench.ParseSizes(c.String("value-size"))
	if err != nil {
		return usagef("--value-size %w", err)
	}
	if c.IsSet("ttl") {
		if b.ttl, err = ttlOf("--ttl", c.String("ttl")); err != nil {
			return err
		}
	}
	if b.level, err = client.ParseLevel(c.String("read")); err != nil {
		return usagef("--%w", err)
	}
	d := &b.described
	if d.Target == onWire && (reads < 1 || b.level == client.Linearizable || b.level == client.Session) {
		return usagef("--wire is for --op get at --read local or bounded=AGE, which any node answers")
	}
	if reads == 0 && c.IsSet("no-fill") {
		return usagef("--no-fill is for reads")
	}
	b.fill = reads > 0 && !c.Bool("no-fill")
	b.load.Work = bench.NewWorkload(reads, keys, sizes)
	d.Reads, d.Keys, d.Zipf, d.ValueSize, d.TTL = reads, keys.Len(), c.Float64("zipf"), sizes.String(), b.ttl.Seconds()
	if reads > 0 && d.Target != onRESP {
		d.Level = b.level.String()
	}
	return nil
}

// readShare returns the share of operations that read, 0 to 1.
func readShare(c *cli.Context) (float64, error) {
	name := c.String("op")
	if err := oneOf("op", name, opSet, opGet, opMixed); err != nil {
		return 0, err
	}
	if !c.IsSet("reads") {
		return map[string]float64{opSet: 0, opGet: 1, opMixed: 0.5}[name], nil
	}
	if c.IsSet("op") && name != opMixed {
		return 0, usagef("--reads is for --op mixed, not for %s", name)
	}
	text := c.String("reads")
	percent, err := strconv.ParseFloat(strings.TrimSuffix(text, "%"), 64)
	if err != nil || !(percent >= 0 && percent <= 100) {
		return 0, usagef("--reads is %q; it is a number between 0%% and 100%%", text)
	}
	return percent / 100, nil
}

// readPace reads how fast, and how long.
func (b *benchRun) readPace(c *cli.Context) error {
	rate, backlog, requests := c.Float64("rate"), c.Int("backlog"), c.Int64("requests")
	switch {
	case !(rate >= 0 && rate <= maxRate) || rate > 0 && rate < 0.1:
		return usagef("--rate is %v; it must lie between 0.1 and %d, or be 0", rate, maxRate)
	case rate == 0 && c.IsSet("backlog"):
		return usagef("--backlog is for --rate")
	case c.IsSet("requests") && (requests < 1 || requests > maxRequests):
		return usagef("--requests is %d; it must lie between 1 and %d", requests, int64(maxRequests))
	}
	if !c.IsSet("backlog") {
		backlog = max(1, int(rate))
	}
	if err := within("backlog", backlog, 1, maxBacklog); err != nil {
		return err
	}
	b.load.Rate, b.load.Backlog, b.load.Requests = rate, backlog, requests
	b.load.Duration = c.Duration("duration")
	if c.IsSet("requests") && !c.IsSet("duration") {
		b.load.Duration = longestRun
	}
	b.described.Rate = rate
	return nil
}

// connect joins the load with its store. The session closes what it opens.
func (b *benchRun) connect(ctx context.Context, s *session) error {
	timeout := s.c.Duration("timeout")
	if b.described.Target == onRESP {
		nodes, err := addresses("resp", s.c.String("resp"))
		b.load.Store = bench.NewRESP(bench.RESP{Nodes: nodes, TTL: b.ttl, Wait: b.described.Wait, Timeout: timeout})
		b.filler = b.load.Store
		return err
	}
	nodes, err := addresses("endpoints", s.c.String("endpoints"))
	if err != nil {
		return err
	}
	if b.described.Target == onWire {
		if b.load.Store, err = bench.NewWire(nodes, b.level, timeout); err != nil || !b.fill {
			return err
		}
	}
	cl, err := s.connect()
	if err != nil {
		return err
	}
	m, err := cl.Map(ctx)
	if err != nil {
		return err
	}
	b.filler, err = bench.NewCluster(cl, b.level, b.ttl, m.Slots)
	if b.described.Target == onCluster {
		b.load.Store = b.filler
	}
	return err
}

// addresses returns the list HOST:PORT,HOST:PORT,… that the flag gives.
func addresses(flag, text string) ([]string, error) {
	var list []string
	for a := range strings.SplitSeq(text, ",") {
		a = strings.TrimSpace(a)
		if host, port, err := net.SplitHostPort(a); err != nil || host == "" || port == "" {
			return nil, usagef("--%s has %q; it is a list HOST:PORT,HOST:PORT,…", flag, a)
		}
		list = append(list, a)
	}
	return list, nil
}
