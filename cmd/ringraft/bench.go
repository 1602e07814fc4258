package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/ringraft/ringraft/bench"
	"github.com/ringraft/ringraft/op"
)

const benchName = "bench"

func (con *console) benchCommand() *cli.Command {
	return &cli.Command{
		Name:  benchName,
		Usage: "measure how fast the cluster is",
		Description: "Every client sends its next request when the one before is answered, and has --pipeline of\n" +
			"them under way. With --rate requests are due at that rate instead, whether or not earlier ones\n" +
			"have been answered, and latency counts from when a request was due: the clients share what is\n" +
			"due, and what more than --backlog wait for is given up and counted as unsent.\n\n" +
			"The keys are bench:0, bench:1, …; they stay there. Where there are reads, all keys are put\n" +
			"first, unless --no-fill; a read that finds nothing counts as answered. An interrupt ends the\n" +
			"measurement, and what was measured until then is printed. --wire and --resp give each client a\n" +
			"connection of its own, and send --pipeline requests in one write, the next ones when all are\n" +
			"answered: --wire to the nodes --endpoints in turn, for reads that any node answers.\n\n" +
			"JSON, unless -o text asks otherwise, is {\"ops_per_s\",\"p50_ms\",\"p99_ms\",\"p999_ms\",\"max_ms\",\n" +
			"\"max_gap_ms\",\"max_group_gap_ms\",\"ok\",\"errors\",\"unknown\",\"unsent\",\"seconds\",\"load\",\"series\"}, as\n" +
			"docs/benchmarks.md explains; max_gap_ms is the longest time without an answer to any client,\n" +
			"max_group_gap_ms without one from the group for which that is longest. Exit code 5: nothing was\n" +
			"answered for 10 s.\n\n" +
			"ringraft bench --op set --clients 256\nringraft bench --reads 90% --rate 50000 --zipf 0.99 --report report.html\n" +
			"ringraft bench --op get --read local --wire --clients 50 --pipeline 16\n" +
			"ringraft bench --resp 127.0.0.1:6379 --resp-wait 1 --clients 64 > redis.json\nringraft bench compare redis.json ringraft.json",
		Flags:       append(benchFlags(), readFlag(), endpointsFlag(), timeoutFlag(), outputFlag("json")),
		Subcommands: []*cli.Command{con.benchCompareCommand()},
		Action:      con.session(0, 0, runBench),
	}
}

// runBench puts the load on that the flags describe, and prints what came of it.
func runBench(ctx context.Context, s *session, _ []string) error {
	b, err := newBenchRun(s.c)
	if err != nil {
		return err
	}
	if err := b.connect(ctx, s); err != nil {
		return err
	}
	if b.fill {
		bar := s.newProgress(int64(b.described.Keys), "putting keys", false)
		fill := b.load
		fill.Store = b.filler
		err := fill.Fill(ctx, func(keys int) { _ = bar.Add(keys) }) // a bar that cannot be drawn is no reason to stop
		_ = bar.Finish()
		if err != nil {
			return err
		}
	}
	if _, err := b.run(ctx, s, b.warmup, "warming up, ms"); err != nil {
		return err
	}
	result, failure := b.run(ctx, s, b.load.Duration, "measuring, ms")
	if result.FirstError != nil {
		s.note("%d requests failed; the first: %v", result.Errors+result.Unknown, result.FirstError)
	}
	if err := s.printBench(result); err != nil {
		return err
	}
	if err := writeReport(s.c.String("report"), result); err != nil {
		return err
	}
	if failure == nil && result.OK == 0 {
		return op.Unavailable("no request was answered within %v", b.load.Duration)
	}
	return failure
}

// run puts the load on for so long, not at all for 0.
func (b *benchRun) run(ctx context.Context, s *session, duration time.Duration, what string) (bench.Result, error) {
	if duration == 0 {
		return bench.Result{}, nil
	}
	bar := s.newProgress(duration.Milliseconds(), what, false)
	load := b.load
	load.Duration = duration
	load.Progress = func(elapsed time.Duration) { _ = bar.Set64(elapsed.Milliseconds()) }
	b.described.Started = time.Now()
	result, err := load.Run(ctx)
	_ = bar.Finish()
	result.Load = b.described
	return result, err
}

func (s *session) printBench(r bench.Result) error {
	if s.inJSON {
		return s.printJSON(r)
	}
	t := newTable(s.out)
	fmt.Fprintf(t, "operations/s\t%.0f\n", r.OpsPerS)
	fmt.Fprintf(t, "latency p50 / p99 / p99.9 / max\t%.3f / %.3f / %.3f / %.3f ms\n", r.P50, r.P99, r.P999, r.Max)
	fmt.Fprintf(t, "longest gap, of all / of a group\t%.3f / %.3f ms\n", r.MaxGap, r.MaxGroupGap)
	fmt.Fprintf(t, "answered / failed / unknown / not sent\t%d / %d / %d / %d\n", r.OK, r.Errors, r.Unknown, r.Unsent)
	return t.Flush()
}

// writeReport writes the report to the file path, unless that is "".
func writeReport(path string, r bench.Result) (err error) {
	if path == "" {
		return nil
	}
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("--report: %w", err)
	}
	if err := bench.WriteReport(f, r); err != nil {
		f.Close()
		return fmt.Errorf("--report %s: %w", path, err)
	}
	return f.Close()
}
