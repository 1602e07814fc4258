package main

import (
	"context"
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/ringraft/ringraft/op"
)

const (
	opSet   = "set"
	opGet   = "get"
	opMixed = "mixed"
)

func (con *console) benchCommand() *cli.Command {
	return &cli.Command{
		Name:  "bench",
		Usage: "measure how fast the cluster is",
		Description: "Every client sends its next request when the one before is answered, and has --pipeline of\n" +
			"them under way. The keys are bench:0, bench:1, … in random order; they stay in the cluster.\n" +
			"mixed is one set for each get; get and mixed put all keys first. A get that finds nothing counts\n" +
			"as answered.\n\n" +
			"JSON, unless -o text asks otherwise, is {\"ops_per_s\",\"p50_ms\",\"p99_ms\",\"p999_ms\",\"max_gap_ms\",\n" +
			"\"ok\",\"errors\",\"unknown\"}; max_gap_ms is the longest time without an answer to any client. Exit\n" +
			"code 5: the cluster did not answer for 10 s.\n\n" +
			"ringraft bench --op set --clients 256\nringraft bench --op get --read local --pipeline 16 --duration 30s",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "op", Usage: "`OPERATION`: set, get or mixed", Value: opSet},
			&cli.IntFlag{Name: "clients", Usage: "`NUMBER` of clients, 1 to 65536", Value: 64},
			&cli.IntFlag{Name: "pipeline", Usage: "`NUMBER` of requests that each client has under way, 1 to 1024", Value: 1},
			&cli.IntFlag{Name: "keys", Usage: "`NUMBER` of keys, 1 to 100000000", Value: 100_000},
			&cli.IntFlag{Name: "value-size", Usage: "`BYTES` of a value", Value: 128},
			&cli.DurationFlag{Name: "duration", Usage: "`TIME` to measure for", Value: 10 * time.Second},
			&cli.DurationFlag{Name: "warmup", Usage: "`TIME` to run for before measuring", Value: 2 * time.Second},
			readFlag(), endpointsFlag(), timeoutFlag(), outputFlag("json"),
		},
		Action: con.session(0, 0, bench),
	}
}

func bench(ctx context.Context, s *session, _ []string) error {
	l, err := newLoad(s)
	if err != nil {
		return err
	}
	if l.to, err = s.connect(); err != nil {
		return err
	}
	if l.op != opSet {
		if err := l.fill(ctx, s.newProgress(int64(l.keys), "putting keys", false)); err != nil {
			return err
		}
	}
	if l.warmup > 0 {
		if _, err := l.run(ctx, l.warmup, s.newProgress(l.warmup.Milliseconds(), "warming up, ms", false)); err != nil {
			return err
		}
	}
	result, failure := l.run(ctx, l.duration, s.newProgress(l.duration.Milliseconds(), "measuring, ms", false))
	if result.firstError != nil {
		s.note("%d requests failed; the first: %v", result.Errors+result.Unknown, result.firstError)
	}
	if err := s.printBench(result); err != nil {
		return err
	}
	if failure == nil && result.OK == 0 {
		return op.Unavailable("no request was answered within %v", l.duration)
	}
	return failure
}

func (s *session) printBench(r benchResult) error {
	if s.inJSON {
		return s.printJSON(r)
	}
	t := newTable(s.out)
	fmt.Fprintf(t, "operations/s\t%.0f\n", r.OpsPerS)
	fmt.Fprintf(t, "latency p50 / p99 / p99.9\t%.3f / %.3f / %.3f ms\n", r.P50, r.P99, r.P999)
	fmt.Fprintf(t, "longest gap\t%.3f ms\n", r.MaxGap)
	fmt.Fprintf(t, "answered / failed / unknown\t%d / %d / %d\n", r.OK, r.Errors, r.Unknown)
	return t.Flush()
}

// newLoad returns the load that the flags describe.
func newLoad(s *session) (*load, error) {
	c := s.c
	l := &load{
		op: c.String("op"), keys: c.Int("keys"),
		duration: c.Duration("duration"), warmup: c.Duration("warmup"),
	}
	clients, pipeline, size := c.Int("clients"), c.Int("pipeline"), c.Int("value-size")
	for _, err := range []error{
		oneOf("op", l.op, opSet, opGet, opMixed),
		within("clients", clients, 1, maxCallers),
		within("pipeline", pipeline, 1, 1024),
		within("keys", l.keys, 1, 100_000_000),
		within("value-size", size, 0, op.MaxValueLimit),
		within("duration", l.duration, 10*time.Millisecond, 24*time.Hour),
		within("warmup", l.warmup, 0, time.Hour),
	} {
		if err != nil {
			return nil, err
		}
	}
	if l.callers = clients * pipeline; l.callers > maxCallers {
		return nil, usagef("--clients times --pipeline is %d; it must be at most %d", l.callers, maxCallers)
	}
	var err error
	if l.level, err = s.level(); err != nil {
		return nil, err
	}
	l.value = randomBytes(size)
	return l, nil
}
